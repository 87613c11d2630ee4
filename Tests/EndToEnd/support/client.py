"""HTTP as a plain client speaks it, and raw bytes where a client should not."""

import http.client
import socket
from urllib.parse import quote, urlencode

from . import jsontext
from .description import check


class Answer:
    """One answer, read completely."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def text(self):
        return self.body.decode("utf-8")

    @property
    def json(self):
        return jsontext.value(self.text)

    @property
    def exact(self):
        return jsontext.exact(self.text)

    @property
    def media_type(self):
        return (self.headers.get("Content-Type") or "").split(";")[0].strip()

    def __repr__(self):
        return f"{self.status} {dict(self.headers.items())} {self.body[:600]!r}"


class Client:
    """One keep-alive connection to a server; reopened when it was closed."""

    def __init__(self, server, timeout=20):
        self.server = server
        self.timeout = timeout
        self._connection = None

    def request(self, method, target, body=None, headers=None):
        """Sends one request; `body` is text, bytes, or a value to write as JSON."""
        if body is not None and not isinstance(body, (str, bytes)):
            body = jsontext.text(body)
        if isinstance(body, str):
            body = body.encode("utf-8")
        for attempt in (1, 2):
            if self._connection is None:
                self._connection = http.client.HTTPConnection(
                    self.server.host, self.server.port, timeout=self.timeout)
            try:
                self._connection.request(method, target, body, headers or {})
                answer = self._connection.getresponse()
                break
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                self.close()
                if attempt == 2:
                    raise
        read = Answer(answer.status, answer.headers, answer.read())
        if answer.will_close:
            self.close()
        # Pages and probes ignore their query; only the other paths are described with one.
        described = target if target.startswith("/v1/") else target.split("?")[0]
        check(method, described, read.status, list(read.headers.items()), read.body, headers or {}, body)
        if read.body and read.media_type.endswith("json") and read.headers.get("Content-Encoding") is None:
            assert read.body.endswith(b"\n"), f"a terminal's prompt would follow {read.body[-100:]!r}"
        return read

    def close(self):
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def once(server, *request):
    """One request on a new connection."""
    client = Client(server)
    try:
        return client.request(*request)
    finally:
        client.close()


class RawConnection:
    """A socket on which the test writes its own bytes."""

    def __init__(self, server, timeout=20, connected=None):
        self.socket = connected or socket.create_connection((server.host, server.port), timeout)
        self.file = self.socket.makefile("rb")

    @classmethod
    def to(cls, connected):
        """On an already connected socket."""
        return cls(None, connected=connected)

    def send(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode("utf-8"))

    def answer(self, method="GET"):
        """Reads the next answer, interim ones included."""
        status_line = self.file.readline()
        if not status_line:
            raise ConnectionError("the server closed the connection")
        status = int(status_line.split()[1])
        headers = http.client.parse_headers(self.file)
        if method == "HEAD" or status < 200 or status in (204, 304):
            return Answer(status, headers, b"")
        if headers.get("Transfer-Encoding", "").lower() == "chunked":
            return Answer(status, headers, self._chunks())
        if "Content-Length" in headers:
            return Answer(status, headers, self.file.read(int(headers["Content-Length"])))
        return Answer(status, headers, self.file.read())

    def _chunks(self):
        body = b""
        while True:
            size = int(self.file.readline().split(b";")[0], 16)
            body += self.file.read(size)
            self.file.readline()
            if size == 0:
                return body

    def is_closed(self, seconds=5):
        """Whether the server ends the connection within the time, whatever it sends before."""
        self.socket.settimeout(seconds)
        try:
            while self.file.read1(65536):
                pass
            return True
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False

    def close(self):
        self.file.close()
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def target(path, query=None):
    """A path with its query; a value that is a list is repeated."""
    if not query:
        return path
    if isinstance(query, str):
        return f"{path}?{query}"
    return f"{path}?{urlencode(query, doseq=True, quote_via=quote)}"


def session_path(name, *rest):
    return "/".join(["/v1/sessions", quote(name, safe="~:")] + [quote(each, safe="") for each in rest])
