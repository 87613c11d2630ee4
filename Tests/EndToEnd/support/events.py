"""Server-sent events, read like a browser does, but without losing anything."""

import itertools
import json
import socket
import time
import zlib
from http.client import parse_headers

from . import jsontext
from .client import RawConnection, target
from .description import check


class Event:
    """One block of the stream: its fields and comments, in order."""

    def __init__(self, lines):
        self.lines = lines
        self.fields = {}
        self.comments = []
        for line in lines:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name:
                assert name not in self.fields, f"{name} is there twice: {lines}"
                self.fields[name] = value
            else:
                self.comments.append(value)

    def __getattr__(self, name):
        return self.fields.get(name)

    @property
    def changeset(self):
        return jsontext.exact(self.fields["data"])

    @property
    def json(self):
        return json.loads(self.fields["data"])

    def __repr__(self):
        return f"Event({self.lines})"


class Stream:
    """An open stream of changes; every other one asks for gzip, as browsers do."""

    _turns = itertools.count()

    def __init__(self, server, path, query=None, headers=None, timeout=20):
        self.connection = RawConnection(server, timeout)
        named = {"Host": "localhost", "Accept": "text/event-stream",
                 "Accept-Encoding": "gzip" if next(self._turns) % 2 else None,
                 **{name.replace("_", "-"): value for name, value in (headers or {}).items()}}
        fields = "".join(f"{name}: {value}\r\n" for name, value in named.items() if value is not None)
        self.target = target(path, query)
        self.connection.send(f"GET {self.target} HTTP/1.1\r\n{fields}\r\n")
        self.buffer = b""
        self.ended = False
        self._read_head()

    def _read_head(self):
        file = self.connection.file
        status_line = file.readline()
        self.status = int(status_line.split()[1])
        self.headers = parse_headers(file)
        self.chunked = self.headers.get("Transfer-Encoding", "").lower() == "chunked"
        # The check covers what is read, not what was sent.
        self.checked = [pair for pair in self.headers.items() if pair[0] != "Content-Encoding"]
        self.octets = 0
        self.inflater = zlib.decompressobj(31) if self.headers.get("Content-Encoding") == "gzip" else None
        self.body = b""
        if self.status != 200:
            self.body = file.read(int(self.headers.get("Content-Length", 0)))
        check("GET", self.target, self.status, self.checked, self.body)

    @property
    def problem(self):
        return json.loads(self.body)

    def _more(self):
        file = self.connection.file
        if self.chunked:
            line = file.readline()
            if not line:
                self.ended = True
                return
            size = int(line.split(b";")[0], 16)
            data = file.read(size)
            file.readline()
            self.ended = size == 0
        else:
            data = file.read1(65536)
            self.ended = not data
        self.octets += len(data)
        self.buffer += self.inflater.decompress(data) if self.inflater else data
        if self.ended and self.inflater:
            assert self.inflater.eof and not self.inflater.unused_data, "a gzip stream ends with its sum"

    def next(self, seconds=20):
        """The next block; None at the end of the stream. Raises TimeoutError when nothing comes."""
        self.connection.socket.settimeout(seconds)
        while b"\n\n" not in self.buffer:
            if self.ended:
                return None
            self._more()
        block, self.buffer = self.buffer.split(b"\n\n", 1)
        check("GET", self.target, self.status, self.checked, block + b"\n\n")
        return Event(block.decode("utf-8").split("\n"))

    def next_event(self, seconds=20):
        """The next block that is neither a mere comment nor the primer."""
        deadline = time.monotonic() + seconds
        while True:
            # Comments come for ever.
            event = self.next(max(0.01, deadline - time.monotonic()))
            if event is None or event.event:
                return event

    def is_quiet(self, seconds):
        """Whether nothing comes for this long. After a True the stream cannot be read any further."""
        try:
            self.next(seconds)
            return False
        except (TimeoutError, socket.timeout):
            return True

    def close(self):
        self.connection.close()
