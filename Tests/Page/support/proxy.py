"""The page before a diffserver: its files from the sources, everything else passed on. Faults can be requested."""

import http.client
import http.server
import pathlib
import socket
import threading

from support.clock import pause

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "Sources/DiffServer/Page"
CLIENT = ROOT / "Clients/js"
SCRIPT = "text/javascript; charset=utf-8"
# What the server serves: the page, and the client's package.
FILES = {"index.html": ("text/html; charset=utf-8", PAGE / "index.html"), "page": ("text/html; charset=utf-8", PAGE / "page.html"),
         **{name: (SCRIPT, CLIENT / name) for name in ("client.js", "apply.js", "bind.js", "edits.js", "updates.js", "live-list.js")},
         "client.d.ts": ("text/plain; charset=utf-8", CLIENT / "client.d.ts"),
         **{f"playground/{path.name}": (SCRIPT, path) for path in sorted((PAGE / "playground").glob("*.js"))}}


class Site(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, upstream):
        super().__init__(("127.0.0.1", 0), Handler)
        self.upstream = upstream
        self.files = {}  # more paths: (type, bytes), and more headers, if any
        self.headers = {}  # more for the server behind
        self.refusals = []  # (status, headers) for the next requests to /v1, and the seconds until then, if any
        self.streams = set()
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def drop_streams(self):
        """Breaks the current answers, as a network does."""
        with self.lock:
            for stream in self.streams:
                try:
                    stream.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def handle_error(self, request, client_address):
        pass


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def answer(self, status, kind, body, headers=()):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def handle_any(self):
        name = self.path.split("?")[0].lstrip("/") or "index.html"
        if name in self.server.files:
            return self.answer(200, *self.server.files[name])
        if name in FILES:
            kind, path = FILES[name]
            return self.answer(200, kind, path.read_bytes(), [("Cache-Control", "no-store")])
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else None
        if self.server.refusals and self.path.startswith("/v1"):
            status, headers, *after = self.server.refusals.pop(0)
            pause(sum(after), "a slow server")
            return self.answer(status, "application/problem+json", b'{"title":"Refused for a test","status":%d}' % status, headers)
        self.forward(body)

    def forward(self, body):
        upstream = http.client.HTTPConnection("127.0.0.1", self.server.upstream, timeout=60)
        # To the server behind, the page is its own.
        headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "origin", "connection", "accept-encoding")}
        headers.update(self.server.headers)
        try:
            upstream.request(self.command, self.path, body, headers)
            reply = upstream.getresponse()
        except OSError:
            return self.answer(502, "text/html", b"<h1>Bad gateway</h1>")
        with self.server.lock:
            self.server.streams.add(self.connection)
        try:
            self.send_response(reply.status)
            for name, value in reply.getheaders():
                if name.lower() not in ("transfer-encoding", "connection", "content-length", "date", "server"):
                    self.send_header(name, value)
            if reply.getheader("Content-Length"):
                self.send_header("Content-Length", reply.getheader("Content-Length"))
                self.end_headers()
                self.wfile.write(reply.read())
                return
            self.send_header("Connection", "close")
            self.end_headers()
            while piece := reply.read1(65536):
                self.wfile.write(piece)
            self.close_connection = True
        except (OSError, http.client.HTTPException):
            self.close_connection = True
        finally:
            upstream.close()
            with self.server.lock:
                self.server.streams.discard(self.connection)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = handle_any
