"""Host names and addresses."""

from ipaddress import ip_address


def is_address(host: str) -> bool:
    """Return whether a host is given by its IP address."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def is_loopback(host: str | None) -> bool:
    """Return whether a host name or address always means this machine."""
    return host == "localhost" or (host is not None and is_address(host) and ip_address(host).is_loopback)
