"""Host names and addresses."""

from ipaddress import ip_address


def is_loopback(host: str | None) -> bool:
    """Return whether a host name or address always means this machine."""
    try:
        return host == "localhost" or ip_address(host or "").is_loopback
    except ValueError:
        return False
