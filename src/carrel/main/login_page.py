"""Files in the data directory that only their owner can read: the owner's token, and the page that signs in with it."""

import os
from html import escape
from pathlib import Path

LOGIN_PAGE = "open.html"
RENEW = (
    "The owner's token in the data directory is not valid any more. Use another one, or stop the server, run "
    "`carrel token renew` and start it again."
)


def signed_in(url: str, token: str) -> str:
    """Return the dashboard's address, which signs in with the token if there is one."""
    return f"{url}/#token={token}" if token else f"{url}/"


def keep_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, from the first byte on."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)


def keep_login_page(data_dir: Path, address: str) -> Path:
    """Write a page that takes a browser to an address with a token: other users can see the browser's arguments."""
    page = data_dir / LOGIN_PAGE
    keep_private(page, f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(address)}">\n')
    return page
