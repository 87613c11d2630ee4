"""Requests as bytes and sockets, for clients that break the rules."""

import json
import socket
import time


def connected(server, receive_bytes=None):
    """A connection; `receive_bytes` makes the window small, so that unread answers wait in the server."""
    connection = socket.socket()
    if receive_bytes:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    connection.settimeout(10)
    connection.connect(("127.0.0.1", server.port))
    return connection


def request(method, path, body=None, **fields):
    """A request; names of fields are keywords with _ for -."""
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body, separators=(",", ":")).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")


def answer(connection, is_head=False):
    """The status of the next answer, whose body is discarded."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            raise ConnectionError("closed")
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    length = int(lengths[0]) if lengths else 0
    left = 0 if is_head else length - len(body)
    while left > 0:
        more = connection.recv(min(left, 1 << 20))
        if not more:
            raise ConnectionError("closed")
        left -= len(more)
    return int(head[9:12])


def asked(server, *parts, **fields):
    """One request on a new connection."""
    with connected(server) as connection:
        connection.settimeout(60)
        connection.sendall(request(*parts, **fields))
        return answer(connection)


def repeated(server, until, make, is_head=False):
    """Requests one behind the other on one connection, until then; `make` gives the next one by its number."""
    number = 0
    connection = None
    while time.monotonic() < until:
        try:
            connection = connection or connected(server)
            connection.settimeout(max(0.1, until - time.monotonic()))
            connection.sendall(make(number))
            answer(connection, is_head)
        except OSError:
            connection = None
            time.sleep(0.05)
        number += 1


def held(server, count, until, first, receive_bytes=None):
    """Connections that all stay open, each with `first` sent: as many as possible until then."""
    connections = []
    for number in range(count):
        if time.monotonic() >= until:
            break
        try:
            connection = connected(server, receive_bytes)
            connection.sendall(first(number))
            connections.append(connection)
        except OSError:
            time.sleep(0.001)
    return connections


def read_until(until, connections):
    """Discards what comes on all of them."""
    while time.monotonic() < until:
        for connection in connections:
            try:
                connection.setblocking(False)
                connection.recv(1 << 20)
            except OSError:
                pass
        time.sleep(0.05)


def idle_until(until):
    time.sleep(max(0, until - time.monotonic()))
