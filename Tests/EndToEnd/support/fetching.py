"""HTTP/1.1 for hundreds of clients on one thread: requests one after another on a connection that is kept, and streams of events."""

import asyncio


class Answer:
    """One answer, read completely; `closes`: it is the connection's last."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body
        self.closes = headers.get("connection", "").lower() == "close"

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body[:300]!r}"


class Connection:
    """A connection to a server, made when needed and given up when an answer says so."""

    def __init__(self, server, headers=None):
        self.server, self.headers = server, headers or {}
        self.reader = self.writer = None

    async def _send(self, method, path, body, headers):
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection(self.server.host, self.server.port)
        named = {"Host": "localhost", **self.headers, **(headers or {})}
        if body is not None:
            named["Content-Length"] = len(body)
        fields = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        self.writer.write(f"{method} {path} HTTP/1.1\r\n{fields}\r\n".encode() + (body or b""))
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (line.split(":", 1) for line in lines[1:] if line)
        return int(lines[0].split()[1]), {name.lower(): value.strip() for name, value in pairs}

    async def _pieces(self, headers):
        """The body as it comes. A connection that breaks raises."""
        if headers.get("transfer-encoding", "").lower() != "chunked":
            yield await self.reader.readexactly(int(headers.get("content-length", 0)))
            return
        while size := int((await self.reader.readuntil(b"\n")).split(b";")[0], 16):
            yield await self.reader.readexactly(size)
            await self.reader.readexactly(2)
        await self.reader.readexactly(2)

    async def request(self, method, path, body=None, headers=None):
        status, fields = await self._send(method, path, body, headers)
        answer = Answer(status, fields, b"".join([piece async for piece in self._pieces(fields)]))
        if answer.closes:
            self.close()
        return answer

    async def events(self, path):
        """The blocks of a stream as they come, each a dictionary of its fields; any other answer comes as it is."""
        status, fields = await self._send("GET", path, None, {"Accept": "text/event-stream"})
        if status != 200:
            yield Answer(status, fields, b"".join([piece async for piece in self._pieces(fields)]))
            return
        rest = b""
        async for piece in self._pieces(fields):
            *blocks, rest = (rest + piece).split(b"\n\n")
            for block in blocks:
                pairs = (line.split(b": ", 1) for line in block.split(b"\n") if not line.startswith(b":"))
                yield {name.decode(): value.decode() for name, value in pairs}
        assert not rest, f"a stream ended within an event: {rest}"

    def close(self):
        if self.writer:
            self.writer.close()
        self.reader = self.writer = None
