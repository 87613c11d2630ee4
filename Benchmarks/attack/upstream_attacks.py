"""Attacks of sources and hooks on a server that calls them, and of clients on both."""

import asyncio
import gzip
import json
import os
import socket
import struct
import time
import zlib

from attacks import ALL, attack
from upstream import PRIVATE
from wire import answer, asked, connected, held, idle_until, read_until, request

__all__ = ["ALL"]


def source(name, behave, count=200, **how):
    """An attack by the source of this many lists, each of which somebody waits for."""
    def read(server, until):
        stream = {"Accept": "text/event-stream"}
        kept = held(server, count, until, lambda number: request("GET", f"/v1/sessions/bad:{number}/changes", **stream))
        idle_until(until)
        return kept
    attack(name, upstream=behave, **{"memory": 64, **how})(read)


def hook(name, behave, sessions=100, each=5):
    """An attack by the hook of this many sessions, with this many edits of each waiting for it, again and again."""
    def setup(server):
        for number in range(sessions):
            asked(server, "PUT", f"/v1/sessions/asked:{number}", {"state": [1]})

    def edit(server, until):
        edits = {"edits": [{"op": "update", "items": [{"id": 1, "content": "x" * 10_000}]}]}
        while time.monotonic() < until:
            kept = held(server, sessions * each, until, lambda number: request(
                "POST", f"/v1/sessions/asked:{number % sessions}/changes", edits))
            last = min(until, time.monotonic() + 1)
            for connection in kept:
                try:
                    connection.settimeout(max(0.001, last - time.monotonic()))
                    answer(connection)
                except OSError:
                    pass
                connection.close()
    attack(name, upstream=behave, memory=64, setup=setup)(edit)


# Sources


async def drip(caller):
    await caller.chunks(b"[", pause=1)


async def endless(caller):
    await caller.chunks(b" " * 65536)


def empty_blocks(count):
    """A gzip of a gzip of nothing, in this many blocks of 5 bytes."""
    packer = zlib.compressobj(9, wbits=31)
    packed = [packer.compress(b"\x1f\x8b\x08\0\0\0\0\0\0\xff")]
    packed += [packer.compress(b"\0\0\0\xff\xff" * 200_000) for _ in range(count // 200_000)]
    packed += [packer.compress(b"\x01\0\0\xff\xff" + b"\0" * 8), packer.flush()]
    return b"".join(packed)


BOMB = gzip.compress(b" " * (32 << 20))
# A KB that is 40 MB in between, and nothing in the end: no limit of a body counts that.
NOTHING = gzip.compress(empty_blocks(8_000_000), 9)


async def bomb(caller):
    await caller.answer(BOMB, "Content-Encoding: gzip")


async def nothing_inside(caller):
    await caller.answer(NOTHING, "Content-Encoding: gzip, gzip, gzip")


async def redirect(caller):
    """A chain on the origin that ends elsewhere, or nowhere."""
    elsewhere = [caller.elsewhere, "http://169.254.169.254/latest/meta-data", "https://127.0.0.1/", "//127.0.0.1:22/",
                 "file:///etc/passwd", "http://user:secret@127.0.0.1:1/"]
    target = f"/next/{caller.number}" if caller.number % 4 else elsewhere[caller.number // 4 % len(elsewhere)]
    await caller.answer(b"", f"Location: {target}", status=302)


async def endless_head(caller):
    """Half of them for one answer, half for ever new ones before that."""
    await caller.send(b"HTTP/1.1 200 X\r\n" if caller.number % 2 else b"")
    while True:
        if caller.number % 2:
            await caller.send(b"".join(b"X-%d: %b\r\n" % (number, b"x" * 1000) for number in range(60)))
        else:
            await caller.send(b"HTTP/1.1 100 Continue\r\nX: y\r\n\r\n" * 1000)


async def many_fields(caller):
    fields = ["age:1", "etag:x", "cache-control:x", "last-modified:x"] * 1200
    await caller.answer(b"[]", *fields)


NUMBERS = (-(2**63), 2**63 - 1, 2**64, -1, "nan", "1e400", "0x7f", "", "+1")


async def absurd_fields(caller):
    """Numbers that do not fit, and values that would start a new field if echoed in a request."""
    number = NUMBERS[caller.number % len(NUMBERS)]
    other = NUMBERS[caller.number // len(NUMBERS) % len(NUMBERS)]
    await caller.answer(
        b"[%d]" % caller.number, f"Cache-Control: max-age={number}", f"Age: {other}", f"Retry-After: {number}",
        f'ETag: "a"\rX-Smuggled: {number}', "Last-Modified: \x0bSmuggled\x85",
        status=503 if caller.number % 5 == 0 else 200)


TOO_LONG = b"[" + b" " * (16 << 20) + b"]"


async def one_byte_more(caller):
    await caller.answer(TOO_LONG[:(16 << 20) + 1])


async def unusable(caller):
    # The log names ids and members, and no value.
    rows = [{"id": 1, "content": PRIVATE}, {"id": 1, "content": PRIVATE}, {"id": 2, "title": PRIVATE}, {"id": [PRIVATE]}]
    await caller.answer(json.dumps(rows).encode())


async def always_new(caller):
    rows = [{"id": row, "content": caller.number} for row in range(200)]
    await caller.answer(json.dumps(rows).encode(), f'ETag: "{caller.number}"')


source("a source that drips a byte a second, of 200 lists", drip)
source("a source of endless chunks, of 200 lists", endless)
source("a source of gzip bombs, of 200 lists", bomb)
source("a source that is gzip in gzip in gzip, of 20 lists", nothing_inside, count=20)
source("a source that redirects, in a loop and elsewhere, of 200 lists", redirect)
source("a source of heads that never end, of 200 lists", endless_head)
source("a source of 4,800 fields that count, of 200 lists", many_fields)
source("a source of absurd fields, of 200 lists", absurd_fields)
source("a source of one byte too many, of 200 lists", one_byte_more)
source("a source of lists that are none, of 200 lists", unusable)


@attack("a source that always changes, and 500 readers", upstream=always_new, memory=64)
def many_readers(server, until):
    stream = request("GET", "/v1/sessions/bad:0/changes", Accept="text/event-stream")
    kept = held(server, 500, until, lambda _: stream)
    read_until(until, kept)


async def silent(caller):
    await asyncio.sleep(3600)


@attack("a source that is silent, and readers of ever new lists", upstream=silent, memory=64, processes=2)
def new_lists(server, until):
    """Each starts a fetch by one request, and has gone before it could be answered."""
    process, number = os.getpid(), 0
    while time.monotonic() < until:
        try:
            with connected(server) as connection:
                connection.sendall(request("GET", f"/v1/sessions/bad:{process}-{number}"))
                # Closed by a reset: otherwise it would be answered first.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            time.sleep(0.001)
        number += 1


# Hooks


async def odd_answers(caller):
    if caller.number % 2:
        await caller.chunks(b'{"detail": "' + b"x" * 65536)
    await caller.send(b"HTTP/1.1 200 X\r\nContent-Length: 1000\r\n\r\n{")
    caller.writer.close()


hook("a hook that never answers, 500 edits of 100 sessions", silent)
hook("a hook of endless and half answers, 500 edits of 100 sessions", odd_answers)
