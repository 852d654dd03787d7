"""A web server for the files of a folder: an origin other than the relay's."""

import functools
import http.server
import threading


class Files(http.server.SimpleHTTPRequestHandler):
    """`entry` returns the entry page."""

    def __init__(self, *request, entry, **options):
        self.entry = entry
        super().__init__(*request, **options)

    def do_GET(self):
        if self.path != "/":
            super().do_GET()
            return
        body = self.entry().encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


def serve(story, folder, entry):
    """Serves a folder until the story ends. Returns the origin."""
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Files, entry=entry, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    story.addCleanup(server.server_close)
    story.addCleanup(server.shutdown)
    return f"http://127.0.0.1:{server.server_port}"
