"""HTTP on one connection: as little as a fast reader needs, and a stream of events that can be polled."""

import gzip
import select
import socket
import time
import zlib

from support import jsontext
from support.events import Event
from support.sources import KEY
from support.tokens import bearer


class Answer:
    """One answer, with its body inflated."""

    def __init__(self, status, headers, body):
        self.status, self.headers = status, headers
        self.is_packed = headers.get("content-encoding") == "gzip"
        self.body = gzip.decompress(body) if self.is_packed else body

    @property
    def exact(self):
        return jsontext.exact(self.body.decode())

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body[:3000]!r}"


class Connection:
    """A keep-alive connection. `send` and `receive` are separate, so that a request can be held meanwhile."""

    def __init__(self, server):
        self.server, self.socket = server, None

    def send(self, method, target, headers, body=None):
        if self.socket is None:
            self.socket = socket.create_connection((self.server.host, self.server.port), 30)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.file = self.socket.makefile("rb")
        fields = {"Host": "localhost", **headers}
        if body is not None:
            fields["Content-Length"] = len(body)
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self.socket.sendall(f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode() + (body or b""))

    def receive(self):
        status, headers = head_of(self.file)
        length = int(headers.get("content-length", 0))
        body = self.file.read(length) if status not in (204, 304) else b""
        if headers.get("connection") == "close":
            self.close()
        return Answer(status, headers, body)

    def is_answered(self):
        return bool(select.select([self.socket], [], [], 0)[0])

    def request(self, method, target, headers, body=None):
        self.send(method, target, headers, body)
        return self.receive()

    def close(self):
        if self.socket is not None:
            self.file.close()
            self.socket.close()
            self.socket = None


def head_of(file):
    line = file.readline()
    if not line:
        raise ConnectionError("the server closed the connection")
    headers = {}
    while (field := file.readline().rstrip(b"\r\n")):
        name, _, value = field.decode().partition(":")
        headers[name.lower()] = value.strip()
    return int(line.split()[1]), headers


class Stream:
    """Events as they come."""

    def __init__(self, server, target, headers):
        self.socket = socket.create_connection((server.host, server.port), 30)
        fields = {"Host": "localhost", "Accept": "text/event-stream", **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self.socket.sendall(f"GET {target} HTTP/1.1\r\n{head}\r\n".encode())
        self.raw = b""
        while b"\r\n\r\n" not in self.raw:
            self.read(30)
        head, self.raw = self.raw.split(b"\r\n\r\n", 1)
        self.status = int(head.split()[1])
        self.is_packed = b"content-encoding: gzip" in head.lower()
        self.inflater = zlib.decompressobj(31) if self.is_packed else None
        self.text = b""
        if self.status != 200:
            raise AssertionError(f"the stream is refused: {head} {self.raw}")

    def read(self, seconds):
        """Whether anything came in the time."""
        if not select.select([self.socket], [], [], max(0, seconds))[0]:
            return False
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError("the server closed the stream")
        self.raw += data
        return True

    def unpack(self):
        """Whole chunks become text."""
        while b"\r\n" in self.raw:
            line, rest = self.raw.split(b"\r\n", 1)
            size = int(line, 16)
            if len(rest) < size + 2:
                return
            data, self.raw = rest[:size], rest[size + 2:]
            self.text += self.inflater.decompress(data) if self.inflater else data

    def next(self, seconds=0):
        """The next block that has an id; None if none came in the time."""
        end = time.monotonic() + seconds
        while True:
            self.unpack()
            while b"\n\n" in self.text:
                block, self.text = self.text.split(b"\n\n", 1)
                event = Event(block.decode().split("\n"))
                if event.fields.keys() - {"retry"}:
                    return event
            if not self.read(end - time.monotonic()):
                return None

    def close(self):
        self.socket.close()


class Credential:
    """Credentials: a key, or a token with these claims, for all boards of the session or for one."""

    def __init__(self, text, features=(), view=None, edits=True, boards=None):
        self.headers, self.features, self.view, self.edits, self.boards = bearer(text), set(features), view, edits, boards

    def may_read(self, board):
        return self.boards is None or board in self.boards


KEYHOLDER = Credential(KEY)
