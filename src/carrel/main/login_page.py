"""The page in the data directory that signs its owner in to the dashboard; only they can read it."""

from html import escape
from pathlib import Path

from carrel.main.replace_file import replace_file

LOGIN_PAGE = "open.html"
RENEW = (
    "The owner's token in the data directory is not valid any more. Use another one, or stop the server, run "
    "`carrel token renew` and start it again."
)


def signed_in(url: str, token: str) -> str:
    """Return the dashboard's address, which signs in with the token if there is one."""
    return f"{url}/#token={token}" if token else f"{url}/"


def keep_login_page(data_dir: Path, address: str) -> Path:
    """Write a page that takes a browser to an address with a token: other users can see the browser's arguments."""
    page = data_dir / LOGIN_PAGE
    text = f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(address)}">\n'
    replace_file(page, text, mode=0o600)
    return page
