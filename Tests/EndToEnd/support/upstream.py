"""A foreign server on the loopback: it counts its requests, and answers each path as a test says, however badly.

A behaviour is a function of an `Exchange`. Nothing is added to what it sends: when it returns, the connection waits for the
next request, unless the exchange closed it.
"""

import email.utils
import json
import socket
import struct
import threading
import time

from . import jsontext
from .clock import pause


class Request:
    """The request, and when it came."""

    def __init__(self, time, method, path, headers, body):
        self.time, self.method, self.path, self.headers, self.body = time, method, path, headers, body

    def __getitem__(self, name):
        """A header field's value; None where there is none."""
        return next((value for each, value in self.headers if each.lower() == name.lower()), None)

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.method} {self.path} at {self.time:.3f}"


class Exchange:
    """One request, and the connection that waits for its answer."""

    def __init__(self, upstream, request, connection):
        self.upstream, self.request, self.connection = upstream, request, connection
        self.is_over = False

    def send(self, data):
        self.connection.sendall(data if isinstance(data, bytes) else data.encode())

    def head(self, status=200, **headers):
        """The head of an answer; a header whose value is None is left out."""
        lines = [f"HTTP/1.1 {status} X"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items() if value is not None]
        self.send("\r\n".join(lines) + "\r\n\r\n")

    def answer(self, body=b"", status=200, **headers):
        """A whole answer; its body is bytes, or a value to write as JSON."""
        data = body if isinstance(body, bytes) else jsontext.text(body).encode()
        headers = {"Content_Type": "application/json", "Content_Length": len(data), **headers}
        if status in (204, 304):
            headers["Content_Length"] = None
        self.head(status, **headers)
        self.send(data if status not in (204, 304) else b"")

    def close(self):
        """Ends the connection."""
        self.is_over = True
        self.connection.close()

    def reset(self):
        """Ends it like a machine that has lost it (RST)."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def is_left(self, seconds=0):
        """Whether the caller has gone."""
        self.connection.settimeout(max(seconds, 0.001))
        try:
            return self.connection.recv(1) == b""
        except (TimeoutError, BlockingIOError):
            return False
        except OSError:
            return True
        finally:
            if self.connection.fileno() >= 0:
                self.connection.settimeout(None)


class Upstream:
    """A server whose every path does what it was last told; 404 by default."""

    def __init__(self, tls=None, port=0):
        """`tls`: an `ssl.SSLContext`."""
        self.tls = tls
        self.listener = socket.create_server(("127.0.0.1", port), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self._behaviours, self._requests = {}, []
        self._changed = threading.Condition()
        self._connections = set()
        threading.Thread(target=self._accept, daemon=True).start()

    # What it does

    def set(self, path, behaviour):
        """From now on: a function of an exchange, or a state to answer."""
        with self._changed:
            self._behaviours[path] = behaviour if callable(behaviour) else says(behaviour)
        return behaviour

    def _behaviour(self, path):
        with self._changed:
            whole = self._behaviours.get(path)
            return whole or self._behaviours.get(path.split("?")[0]) or self._behaviours.get("*") or says({}, status=404)

    # What it was asked

    def requests(self, path):
        """In the order of arrival; a path without a query matches every query."""
        with self._changed:
            return [each for each in self._requests if path in (each.path, each.path.split("?")[0])]

    def count(self, path):
        return len(self.requests(path))

    @property
    def total(self):
        with self._changed:
            return len(self._requests)

    def wait_for(self, path, count, seconds=20):
        """The requests of a path, once there are that many."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while True:
                found = [each for each in self._requests if path in (each.path, each.path.split("?")[0])]
                if len(found) >= count:
                    return found
                left = deadline - time.monotonic()
                if left <= 0:
                    raise AssertionError(f"{path} was asked for {len(found)} times, not {count} times, in {seconds} s")
                self._changed.wait(left)

    def next(self, path, seconds=20):
        """The next request of a path from now on."""
        return self.wait_for(path, self.count(path) + 1, seconds)[-1]

    def gaps(self, path):
        """Seconds between the requests of a path."""
        times = [each.time for each in self.requests(path)]
        return [after - before for before, after in zip(times, times[1:])]

    # Connections

    @property
    def connections(self):
        """How many are open."""
        with self._changed:
            return len(self._connections)

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, plain):
        connection = plain
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.tls:
                connection = self.tls.wrap_socket(plain, server_side=True)
            with self._changed:
                self._connections.add(connection)
            buffer = b""
            while True:
                request, buffer = self._read(connection, buffer)
                if request is None:
                    break
                with self._changed:
                    self._requests.append(request)
                    self._changed.notify_all()
                exchange = Exchange(self, request, connection)
                self._behaviour(request.path)(exchange)
                if exchange.is_over:
                    break
        except OSError:  # The caller has gone.
            pass
        finally:
            with self._changed:
                self._connections.discard(connection)
            connection.close()

    @staticmethod
    def _read(connection, buffer):
        """The next request, and the bytes after it; None at the end of the connection."""
        while b"\r\n\r\n" not in buffer:
            data = connection.recv(65536)
            if not data:
                return None, b""
            buffer += data
        # The body of a request may be on its way.
        head, rest = buffer.split(b"\r\n\r\n", 1)
        line, *fields = head.decode("latin-1").split("\r\n")
        method, path, _ = line.split(" ")
        headers = [tuple(part.strip() for part in field.split(":", 1)) for field in fields]
        length = int(next((value for name, value in headers if name.lower() == "content-length"), 0))
        while len(rest) < length:
            data = connection.recv(65536)
            if not data:
                return None, b""
            rest += data
        return Request(time.monotonic(), method, path, headers, rest[:length]), rest[length:]

    def hang_up(self):
        """Ends all connections that are open."""
        with self._changed:
            connections = list(self._connections)
        for each in connections:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def stop_listening(self):
        """Refuses connections from now on."""
        # A thread in `accept` would accept one more.
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()

    def listen_again(self):
        self.listener = socket.create_server(("127.0.0.1", self.port), backlog=512)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.stop_listening()
        self.hang_up()


# Behaviours


def says(body, status=200, **headers):
    """Answers this, always."""
    return lambda exchange: exchange.answer(body, status, **headers)


def tagged(body, etag, **headers):
    """Answers this, or 304 if the tag is the same."""
    def behaviour(exchange):
        is_same = exchange.request["If-None-Match"] == etag
        exchange.answer(b"" if is_same else body, 304 if is_same else 200, ETag=etag, **headers)
    return behaviour


def dated(body, seconds):
    """The same by the time of its last change."""
    date = email.utils.formatdate(seconds, usegmt=True)

    def behaviour(exchange):
        is_same = exchange.request["If-Modified-Since"] == date
        exchange.answer(b"" if is_same else body, 304 if is_same else 200, Last_Modified=date)
    return behaviour


class Held:
    """Answers only when told to."""

    def __init__(self, answer):
        self.answer = answer if callable(answer) else says(answer)
        self.released = threading.Event()

    def __call__(self, exchange):
        if self.released.wait(30):
            self.answer(exchange)

    def release(self):
        self.released.set()


def refuses_by_reset(exchange):
    exchange.reset()


def never_answers(exchange):
    """Until the caller has gone."""
    while not exchange.is_left(0.5):
        pass


def without_end(piece, begin):
    """What `begin` writes, and then one more piece, again and again."""
    def behaviour(exchange):
        begin(exchange)
        while True:
            exchange.send(piece)
    return behaviour


def trickling(piece, begin, gap=0.05):
    """The same, so slowly that each byte is progress."""
    def behaviour(exchange):
        begin(exchange)
        while True:
            exchange.send(piece)
            pause(gap, "a slow source")
    return behaviour


def brotli(data):
    """Data as a Brotli stream of one block that is not compressed (RFC 7932 §9.2)."""
    assert 0 < len(data) <= 65536
    return ((len(data) - 1) << 4 | 1 << 20).to_bytes(3, "little") + data + b"\x03"
