"""The page's files from a folder, with the headers that a relay sends with its own."""

import pathlib

TYPES = {
    ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".png": "image/png",
    ".webmanifest": "application/manifest+json",
}


def policy(host):
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        f"connect-src 'self' ws://{host} wss://{host}; manifest-src 'self'; worker-src 'self'; "
        f"base-uri 'none'; form-action 'none'; frame-ancestors 'none'")


def file_at(folder, path):
    """Returns body and content type of a file of the page; None if there is no such file."""
    file = pathlib.Path(folder) / path.split("?")[0].lstrip("/")
    if file.is_dir():
        file /= "index.html"
    if not file.is_file():
        return None
    return file.read_bytes(), TYPES.get(file.suffix, "application/octet-stream")
