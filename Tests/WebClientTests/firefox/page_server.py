"""A web client under test before a real relay: it serves the page's files from a folder, and passes
all else to the relay."""

import http.server
import socket
import sys
import threading

from page_files import file_at, policy


class QuietServer(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """Says nothing of a connection that a browser has reset."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class PageServer:
    """`url`: the address of the page, which stays while the relay is restarted."""

    def __init__(self, folder, relay):
        host, _, port = relay.url.removeprefix("http://").partition(":")

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                if self.path.startswith("/v1/") or not relay.is_running:
                    self.passes_on()
                    return
                body, kind = file_at(folder, self.path) or (b"", None)
                self.send_response(200 if kind else 404)
                if kind:
                    self.send_header("Content-Type", kind)
                    self.send_header("Content-Security-Policy", policy(self.headers["Host"]))
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def passes_on(self):
                """Connects the browser to the relay, for this one request."""
                self.close_connection = True
                try:
                    relays = socket.create_connection((host, int(port)))
                except ConnectionError:
                    return
                if "Upgrade" not in self.headers:
                    self.headers.replace_header("Connection", "close")
                head = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                relays.sendall(f"{self.requestline}\r\n{head}\r\n".encode("latin-1") + body)
                back = threading.Thread(target=pump, args=(relays, self.connection), daemon=True)
                back.start()
                pump(self.connection, relays)
                back.join()
                relays.close()

            do_HEAD = do_POST = do_PUT = do_DELETE = passes_on

            def log_message(self, *_):
                pass

        self.server = QuietServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def pump(source, target):
    """Copies all that comes from one socket to another, and then its end."""
    try:
        while data := source.recv(65_536):
            target.sendall(data)
    except OSError:
        pass
    try:
        target.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
