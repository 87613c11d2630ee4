"""Requests as sent, answers as compared, and connections that wait without blocking."""

import base64
import gzip
import json
import re
import select
import socket
import time
import zlib
from dataclasses import dataclass, field, replace
from urllib.parse import quote, urlencode

from support.client import Answer, RawConnection

REVISION = re.compile(r"(?<![0-9A-Za-z])(\d+)-([0-9a-f]{16})(?![0-9a-f])")
CURSOR = re.compile(REVISION.pattern + r"(?:~\d+\.\d+\.\d+)?")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
# A session's memory in this process, which depends on its allocator.
JTI = re.compile(r'"jti":"[\w-]+"')
MEMORY = re.compile(r'"bytes":\d+')
TOKEN = re.compile(r"eyJ[\w-]+\.([\w-]+)\.[\w-]+")
# In a request, the revision with this number that the caller was told; each world has its own.
PLACE = re.compile("\x01(\\d+)\x02")
UNCOMPARED = ("date", "x-request-id")


def told(number):
    return f"\x01{number}\x02"


@dataclass
class Request:
    """One request for both worlds."""

    endpoint: str
    method: str
    path: str
    query: list = field(default_factory=list)
    headers: list = field(default_factory=list)
    body: str | None = None

    def octets(self, authorization, revisions):
        """The bytes for a world where the caller was told these revisions."""
        def its(text):
            return PLACE.sub(lambda match: revisions[int(match[1])], str(text))

        query = urlencode([(name, its(value)) for name, value in self.query], quote_via=quote, safe="~:,@/")
        lines = [f"{self.method} {self.path}{'?' if query else ''}{query} HTTP/1.1", "Host: localhost"]
        lines += [f"Authorization: {authorization}"] if authorization else []
        lines += [f"{name}: {its(value)}" for name, value in self.headers]
        body = its(self.body).encode() if self.body is not None else b""
        if self.body is not None or self.method in ("POST", "PUT", "PATCH"):
            lines.append(f"Content-Length: {len(body)}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode() + body

    def smaller(self):
        """The same without one parameter or header."""
        for name in ("query", "headers"):
            parts = getattr(self, name)
            for index in range(len(parts)):
                yield replace(self, **{name: parts[:index] + parts[index + 1:]})

    def __str__(self):
        query = "&".join(f"{name}={value}" for name, value in self.query)
        text = f"{self.method} {self.path}{'?' if query else ''}{query}"
        text += "".join(f"\n      {name}: {value}" for name, value in self.headers)
        text += f"\n      {self.body}" if self.body is not None else ""
        return PLACE.sub(lambda match: f"<revision {match[1]}>", text)


class Names:
    """Fixed names for the revisions of one world, in the order in which they appear.

    How much of a revision is its name says what else must be equal. `exact`: who sees all of the session must be told the same
    revisions. `hash`: a view's are keyed by their sequence, so no two sequences may share one. `whole`: the digests of a plain
    revision say which states of the session are equal, which whoever may edit is told with every answer.
    """

    def __init__(self, kind):
        self.kind = kind
        self.known = {}
        # Revisions that did not come from answers to this caller.
        self.foreign = set()

    def fixed(self, text):
        text = MEMORY.sub('"bytes":(memory)', JTI.sub('"jti":"(id)"', TIME.sub("(time)", TOKEN.sub(self._claims, text))))
        return text if self.kind == "exact" else REVISION.sub(self._named, text)

    def _named(self, match):
        key = match[2] if self.kind == "hash" and match[0] not in self.foreign else match[0]
        return f"{match[1]}-#{self.known.setdefault(key, len(self.known))}"

    @staticmethod
    def _claims(match):
        claims = json.loads(base64.urlsafe_b64decode(match[1] + "=="))
        return str({name: value for name, value in claims.items() if name not in ("iat", "exp", "jti")})


def inflated(answer):
    if answer.headers.get("Content-Encoding") == "gzip" and answer.body:
        return gzip.decompress(answer.body)
    return answer.body


def compared(answer, names, is_measure=False, is_listing=False):
    """Everything of an answer that must be equal: its status, its headers, its text.

    `is_measure`: the text tells of the whole server, to whoever is on this machine. `is_listing`: the length depends on how many
    digits the memory of a session has.
    """
    is_packed = answer.headers.get("Content-Encoding") == "gzip"
    left_out = UNCOMPARED + (("content-length",) if is_packed or is_measure or is_listing else ())
    headers = [(name, names.fixed(value)) for name, value in answer.headers.items() if name.lower() not in left_out]
    text = "" if is_measure else names.fixed(inflated(answer).decode("utf-8", "surrogateescape"))
    return [str(answer.status), *(f"{name}: {value}" for name, value in headers), text]


def cursors(answer):
    """The revisions in an answer, places of windows included."""
    text = "\n".join(answer.headers.values()) + inflated(answer).decode("utf-8", "surrogateescape")
    return [match[0] for match in CURSOR.finditer(text)]


def difference(one, other, around=60):
    """Where two lists of texts last differ, and both values there: a length says less than a text."""
    if len(one) != len(other):
        mine, theirs = set(one), set(other)
        return [each for each in one if each not in theirs], [each for each in other if each not in mine]
    mine, theirs = [pair for pair in zip(one, other) if pair[0] != pair[1]][-1]
    at = next((at for at, pair in enumerate(zip(mine, theirs)) if pair[0] != pair[1]), min(len(mine), len(theirs)))
    first = max(0, at - around)
    return mine[first:at + around], theirs[first:at + around]


class Line:
    """A connection for requests that are answered at once; reopened when it was closed."""

    def __init__(self, server):
        self.server = server
        self.connection = None

    def send(self, octets):
        if self.connection is None:
            self.connection = RawConnection(self.server)
        self.connection.send(octets)

    def answer(self, method):
        found = self.connection.answer(method)
        if found.headers.get("Connection", "").lower() == "close":
            self.close()
        return found

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None


class Listener:
    """A connection on which something may come later: a stream's events, or the answer to a held request."""

    def __init__(self, server, octets):
        self.socket = socket.create_connection((server.host, server.port), 20)
        self.socket.sendall(octets)
        self.socket.setblocking(False)
        self.raw, self.body, self.text = b"", b"", b""
        self.status = self.headers = self.inflater = self.length = None
        self.is_whole = False

    def pump(self):
        """Takes what has come."""
        while True:
            try:
                data = self.socket.recv(1 << 16)
            except BlockingIOError:
                break
            except ConnectionResetError:
                data = b""
            if not data:
                self.is_whole = True
                break
            self.raw += data
        if self.status is None and b"\r\n\r\n" in self.raw:
            self._read_head()
        if self.status is not None:
            self._read_body()

    def _read_head(self):
        head, self.raw = self.raw.split(b"\r\n\r\n", 1)
        first, *lines = head.decode("latin-1").split("\r\n")
        self.status = int(first.split()[1])
        self.headers = dict(line.split(": ", 1) if ": " in line else (line.rstrip(":"), "") for line in lines)
        self.length = int(self.headers["Content-Length"]) if "Content-Length" in self.headers else None
        self.inflater = zlib.decompressobj(31) if self.headers.get("Content-Encoding") == "gzip" else None

    def _read_body(self):
        if self.length is not None:
            self.body, self.is_whole = self.raw, self.is_whole or len(self.raw) >= self.length
            return
        while b"\r\n" in self.raw:
            size, rest = self.raw.split(b"\r\n", 1)
            count = int(size.split(b";")[0], 16)
            if len(rest) < count + 2:
                return
            data, self.raw = rest[:count], rest[count + 2:]
            self.is_whole = self.is_whole or count == 0
            self.text += self.inflater.decompress(data) if self.inflater else data

    @property
    def answer(self):
        """The whole answer, headers in the order in which they came."""
        body = self.body
        if self.length is None:
            body = gzip.compress(self.text) if self.inflater else self.text
        return Answer(self.status, self.headers, body)

    def events(self):
        """The blocks that came since the last call, without comments."""
        *blocks, self.text = self.text.split(b"\n\n")
        lines = [[line for line in block.decode().split("\n") if not line.startswith(":")] for block in blocks]
        return ["\n".join(each) for each in lines if each]

    def wait(self, seconds, condition):
        """Whether the condition holds within the time."""
        deadline = time.monotonic() + seconds
        while not condition():
            left = deadline - time.monotonic()
            if left <= 0 or self.is_whole:
                return condition()
            select.select([self.socket], [], [], left)
            self.pump()
        return True

    def close(self):
        self.socket.close()
