"""What is done to the server. Each attack is a function of the server and of when to stop, in one process or more."""

import dataclasses
import gzip
import http.client
import json
import multiprocessing
import socket
import sys
import time
import typing
import urllib.parse

from server import ROOT
from wire import asked, connected, held, idle_until, read_until, repeated, request

sys.path.append(str(ROOT / "Tests/EndToEnd"))
from support import tokens  # noqa: E402, since it is found by the path above

ALL = []
ROWS = 100_000
BIG = "/v1/sessions/big"


@dataclasses.dataclass
class Attack:
    """An attack, and the server under attack. With an `upstream` that server fetches lists and calls hooks."""

    name: str
    act: typing.Callable
    setup: typing.Callable = None
    upstream: typing.Callable = None
    processes: int = 1
    memory: int = 256
    server: dict = dataclasses.field(default_factory=dict)
    # How often the attacker was told what it must not learn.
    told: typing.Any = None


def attack(name, **how):
    def listed(act):
        ALL.append(Attack(name, act, **how))
        return act
    return listed


def rows(server):
    """A session of many small rows."""
    made(server, [{"id": row, "content": row} for row in range(ROWS)])


def megabytes(server):
    """A session of 10 MB in few rows."""
    made(server, [{"id": row, "content": "x" * 10_000} for row in range(1000)])


def made(server, state):
    status = asked(server, "PUT", BIG, {"state": state})
    if status != 201:
        raise SystemExit(f"the session that is attacked was not made: {status}")


@attack("none, for comparison")
def nothing(server, until):
    idle_until(until)


@attack("1,500 idle connections, 1,024 descriptors", server={"descriptors": 1024})
def idle_connections(server, until):
    kept = held(server, 1500, until, lambda _: b"")
    idle_until(until)
    return kept


@attack("2,000 heads of 8 KB that never end", memory=64)
def slow_heads(server, until):
    part = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 8000
    kept = held(server, 2000, until, lambda _: part)
    while time.monotonic() < until:
        for connection in kept:
            try:
                connection.send(b"x")
            except OSError:
                pass
        time.sleep(0.5)


@attack("64 chunked bodies of 15 MB that never end", memory=64)
def slow_bodies(server, until):
    head = b"POST /v1/diff HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = head + b"%x\r\n" % (15 << 20) + b" " * (15 << 20)
    kept = held(server, 64, until, lambda _: body)
    idle_until(until)
    return kept


@attack("150 GETs of 10 MB, not read", memory=64, setup=megabytes)
def unread_answers(server, until):
    kept = held(server, 150, until, lambda _: request("GET", BIG), receive_bytes=4096)
    idle_until(until)
    return kept


@attack("150 resets of 10 MB, not read", memory=64, setup=megabytes)
def unread_resets(server, until):
    kept = held(server, 150, until, lambda _: request("GET", f"{BIG}/changes"), receive_bytes=4096)
    idle_until(until)
    return kept


@attack("150 streams of 10 MB, not read, and commits", memory=64, setup=megabytes)
def unread_streams(server, until):
    stream = request("GET", f"{BIG}/changes", Accept="text/event-stream")
    kept = held(server, 150, until, lambda _: stream, receive_bytes=4096)
    repeated(server, until, lambda number: request("POST", f"{BIG}/changes", {
        "edits": [{"op": "update", "items": [{"id": row, "content": f"{number}" * 5000} for row in range(100)]}]}))
    return kept


@attack("50 readers of 10 MB at 2 KB/s", memory=64, setup=megabytes)
def dripping_readers(server, until):
    kept = held(server, 50, until, lambda _: request("GET", BIG), receive_bytes=4096)
    while time.monotonic() < until:
        for connection in kept:
            try:
                connection.setblocking(False)
                connection.recv(400)
            except OSError:
                pass
        time.sleep(0.2)


@attack("gzip bodies, 16 KB that inflate to 16 MB, by 32 clients", memory=64)
def inflating_bodies(server, until):
    body = gzip.compress(b" " * ((16 << 20) - 2) + b"[]", 9)
    one = request("POST", "/v1/diff", body, Content_Encoding="gzip")
    while time.monotonic() < until:
        kept = held(server, 32, until, lambda _: one)
        for connection in kept:
            try:
                connection.settimeout(max(0.1, until - time.monotonic()))
                connection.recv(65536)
            except OSError:
                pass
            connection.close()


def nested(depth, last):
    value = '{"x":1}'
    for _ in range(depth):
        value = f'{{"x":{value},{last}}}'
    return json.loads(value)


@attack("three edits of contents 50 deep, names reordered")
def deep_contents(server, until):
    made(server, [{"id": "a", "content": 0}])
    for number, last in enumerate(('"a":1,"b":2', '"b":2,"a":1', '"a":1,"b":2')):
        edit = {"edits": [{"op": "update", "items": [{"id": "a", "content": nested(50, last)}]}]}
        with connected(server) as connection:
            connection.sendall(request("POST", f"{BIG}/changes", edit))
            connection.settimeout(max(0.1, min(0.5, until - time.monotonic())))
            try:
                connection.recv(65536)
            except OSError:
                pass
    idle_until(until)


@attack("idAt of 3,900 segments, 10,000 elements without it, by 4 clients", processes=4)
def long_pointers(server, until):
    body = [1] * 10_000
    one = request("POST", "/v1/sessions/x/changes?idAt=" + "/a" * 3900, body)
    repeated(server, until, lambda _: one)


@attack("Accept of 30 KB, by 4 clients", processes=4)
def header_lists(server, until):
    accept = ",".join(f"a/b;q=0.{number % 999:03}" for number in range(2500))[:30_000]
    one = request("GET", "/livez", Accept=accept)
    repeated(server, until, lambda _: one)


@attack("one row moved in 100,000, by 4 clients", processes=4, setup=rows)
def small_edits(server, until):
    def moved(number):
        edit = {"op": "move", "items": [number % ROWS], "at": "start" if number % 3 else "end"}
        return request("POST", f"{BIG}/changes", {"edits": [edit]}, Prefer="return=minimal")
    repeated(server, until, moved)


@attack("GET of 100,000 rows, by 4 clients", processes=4, setup=rows)
def large_gets(server, until):
    repeated(server, until, lambda _: request("GET", BIG))


@attack("HEAD of 100,000 rows, by 4 clients", processes=4, setup=rows)
def large_heads(server, until):
    repeated(server, until, lambda _: request("HEAD", BIG), is_head=True)


@attack("9,500 held requests and commits of 250 KB", setup=rows)
def herd(server, until):
    path = "/v1/sessions/herd"
    asked(server, "PUT", path, {"state": []})
    with connected(server) as connection:
        connection.sendall(request("GET", path))
        revision = connection.recv(65536).split(b'"revision":"')[1].split(b'"')[0].decode()
    poll = request("GET", f"{path}/changes?since={revision}&wait=60")
    half = (time.monotonic() + until) / 2
    kept = held(server, 9500, half, lambda _: poll)
    idle_until(half)
    asked(server, "POST", f"{path}/changes", [{"id": row, "content": "x" * 240} for row in range(1000)],
          Prefer="return=minimal")
    read_until(until, kept)


@attack("a log that nobody reads, --log-requests", server={"options": ["--log-requests"], "reads_log": False})
def full_log(server, until):
    one = request("GET", "/livez")
    repeated(server, until, lambda _: one)


@attack("3,000 TLS connections that say half a hello", server={"uses_tls": True})
def half_open_tls(server, until):
    hello = bytes.fromhex("160301020001") + b"\0" * 100
    kept = held(server, 3000, until, lambda _: hello)
    idle_until(until)
    return kept


@attack("new TLS handshakes by 4 clients", processes=4, server={"uses_tls": True})
def handshakes(server, until):
    while time.monotonic() < until:
        try:
            with socket.create_connection(("127.0.0.1", server.port), 10) as plain:
                server.tls.wrap_socket(plain, server_hostname="localhost").close()
        except OSError:
            time.sleep(0.01)


TOLD = multiprocessing.get_context("fork").Value("i", 0)


def salaries(server):
    """A session of rows with a number that only some may know."""
    made(server, [{"id": f"r{row}", "kind": "k" * (row % 3 + 1), "content": {"salary": 10_000 + 37 * row}} for row in range(1000)])


def questions(number):
    """What is asked about one number, once where the answer is yes and once where it is no."""
    for bound in (0, 10 ** 9):
        test = {"at": "/content/salary", "above": bound}
        views = ({"where": [test]}, {"where": [test, {"at": "/id", "is": f"r{number % 1000}"}]}, {"where": [test], "limit": 1},
                 {"where": [test], "order": [{"at": "/content/salary"}]})
        view = {"view": json.dumps(views[number % len(views)])}
        windows = ({}, {"at": "start", "after": 1000}, {"at": "end", "before": 1000}, {"around": f"r{number % 1000}", "before": 0, "after": 0})
        yield {**view, **windows[number // len(views) % len(windows)]}


@attack("questions of a token that may only edit", setup=salaries, server={"options": ["--token-secret", tokens.SECRET]}, told=TOLD)
def oracle(server, until):
    """Asks, with edits that change nothing, what a view would show. Answers that differ between yes and no leak."""
    bearer = tokens.bearer(tokens.token("big", "edit:move", 600))
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("POST", f"{BIG}/changes", b'{"edits":[]}', bearer)
    if (taken := connection.getresponse()).status != 200:
        TOLD.value += 1  # Without an accepted token nothing is learnt, whatever the server says.
    taken.read()
    number = 0
    while time.monotonic() < until:
        answers = set()
        for query in questions(number):
            connection.request("POST", f"{BIG}/changes?{urllib.parse.urlencode(query)}", b'{"edits":[]}', bearer)
            answer = connection.getresponse()
            answers.add((answer.status, answer.read()))
        if len(answers) > 1:
            with TOLD.get_lock():
                TOLD.value += 1
        number += 1
