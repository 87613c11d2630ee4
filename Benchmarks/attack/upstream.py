"""Foreign servers: the sources of lists and the hooks that a server under attack calls.

Each is a separate process. A behaviour is a coroutine of a `Caller`; when it returns, the connection waits for the
next request, unless it has closed it.
"""

import asyncio
import base64
import json
import multiprocessing
import re
import socket

fork = multiprocessing.get_context("fork")

# What a lists file holds by reference, and what only bodies hold: no line of a log may show either.
SECRET = "secret-of-the-source"
HOOK_SECRET = "whsec_" + base64.b64encode(SECRET.encode() + b"-and-hook").decode()
PRIVATE = "private-part-of-a-body"
# The requests that the file specifies: none may hold anything else, whatever readers and upstreams send.
LINE = re.compile(rb"(GET|POST) /(list|next|hook|calm)(/[A-Za-z0-9._~-]+)? HTTP/1\.1")
FIELD = re.compile(
    rb"(Host|User-Agent|Accept|Accept-Encoding|Authorization|If-None-Match|If-Modified-Since|Content-Type"
    rb"|Content-Length|webhook-(id|timestamp|signature)): [\x20-\x7E]*", re.IGNORECASE)


class Caller:
    """A caller, and its request."""

    def __init__(self, writer, number, elsewhere):
        self.writer, self.number, self.elsewhere = writer, number, elsewhere

    async def send(self, data):
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self, body=b"[]", *fields, status=200):
        lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", *fields, "", ""]
        await self.send("\r\n".join(lines).encode("latin-1") + body)

    async def chunks(self, chunk, pause=0):
        """A body without an end."""
        await self.send(b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            await self.send(b"%x\r\n%b\r\n" % (len(chunk), chunk))
            await asyncio.sleep(pause)


class Upstream:
    """Answers by `behave` while it is open; `strange` counts requests that are not what the lists file says."""

    def __init__(self, behave, elsewhere=None):
        """`elsewhere`: a URL that nobody should ask for."""
        self.behave, self.elsewhere = behave, elsewhere
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.strange, self.count = fork.Value("i", 0), 0
        self.process = fork.Process(target=lambda: asyncio.run(self._serve()), daemon=True)
        self.process.start()
        self.listener.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.join()

    async def _serve(self):
        async with await asyncio.start_server(self._take, sock=self.listener, limit=1 << 20) as server:
            await server.serve_forever()

    async def _take(self, reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                line, *fields = head[:-4].split(b"\r\n")
                if not LINE.fullmatch(line) or not all(FIELD.fullmatch(field) for field in fields):
                    self.strange.value += 1
                lengths = [field.split(b":")[1] for field in fields if field.lower().startswith(b"content-length:")]
                await reader.readexactly(int(lengths[0]) if lengths else 0)
                self.count += 1
                await self.behave(Caller(writer, self.count, self.elsewhere))
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()


async def calm(caller):
    """A good upstream: a list of 20 rows, one of them new each time, and a hook that agrees."""
    rows = [{"id": row, "content": caller.number if row == caller.number % 20 else row} for row in range(20)]
    await caller.answer(json.dumps(rows).encode())


def lists(bad, good):
    """A lists file: `bad:…` and `asked:…` are an attacker's, the others an innocent client's."""
    secret = {"secret": "env:ATTACK_HOOK_SECRET"}
    return {
        "bad:{n}": {"source": {
            "url": f"{bad}/list/{{n}}", "every": 0.1, "headers": {"Authorization": "env:ATTACK_SECRET"}}},
        "asked:{n}": {"hook": {"url": f"{bad}/hook", **secret}},
        "calm": {"source": {"url": f"{good}/calm", "every": 0.5}},
        "calm:{n}": {"source": {"url": f"{good}/calm/{{n}}", "every": 0.5}},
        "agreed": {"hook": {"url": f"{good}/hook", **secret}},
    }


VARIABLES = {"ATTACK_SECRET": SECRET, "ATTACK_HOOK_SECRET": HOOK_SECRET}
