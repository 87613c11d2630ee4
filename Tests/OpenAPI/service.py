"""A server for the checks, and a client that compares every answer with the description."""

import gzip
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading

import validator

# How tests wait, and look at a server from outside: `support`.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "EndToEnd"))


class Answer:
    """One answer, read completely."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def media_type(self):
        return (self.headers.get("Content-Type") or "").split(";")[0].strip()

    @property
    def json(self):
        return validator.parsed(self.body)

    def __repr__(self):
        return f"{self.status} {dict(self.headers.items())} {self.body[:600]!r}"


class Service:
    """A server process on a free port of the loopback, and everything it answered."""

    host = "127.0.0.1"

    def __init__(self, *options, memory=None):
        self.seen = memory if memory is not None else []
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DIFFSERVER_")}
        self.process = subprocess.Popen(
            [os.environ["DIFFSERVER_BINARY"], "serve", "--listen", "127.0.0.1:0", *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment, text=True)
        self.port = self._port()
        # The log continues; nobody reads it, but the pipe must not fill up.
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def _port(self):
        told = []
        for line in self.process.stderr:
            told.append(line)
            if match := re.search(r"listens on http://127\.0\.0\.1:(\d+)", line):
                return int(match.group(1))
        raise RuntimeError("the server did not start:\n" + "".join(told))

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self):
        return self.process.pid

    def stop(self):
        """Ends the process and returns its status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    # Requests

    def ask(self, method, target, body=None, **headers):
        """Sends one request and checks the answer. A body that is no text is written as JSON; header names have _ for -."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body, separators=(",", ":"))
        body = body.encode("utf-8") if isinstance(body, str) else body
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, target, body, sent)
            got = connection.getresponse()
            return self.note(method, target, Answer(got.status, got.headers, got.read()), sent, body)
        finally:
            connection.close()

    def say(self, text, method="GET", target="/livez"):
        """Sends bytes that are no proper request, and checks the answer as one to `method` and `target`."""
        with self.connection() as connection:
            connection.sendall(text if isinstance(text, bytes) else text.encode("utf-8"))
            return self.note(method, target, read(connection, method))

    def stream(self, target, until, **headers):
        """Reads an event stream until a text has come, or the server ends it, and checks what came."""
        sent = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        with self.connection() as connection:
            connection.sendall(
                f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n{sent}\r\n".encode())
            return self.note("GET", target, read(connection, "GET", until.encode()))

    def connection(self):
        return socket.create_connection(("127.0.0.1", self.port), 30)

    def note(self, method, target, answer, request_headers=None, request_body=None):
        """Checks an answer and remembers it."""
        validator.check(
            method, target, answer.status, dict(answer.headers.items()), answer.body, request_headers, request_body)
        if answer.headers.get("Content-Encoding") == "gzip" and answer.body:
            answer.body = gzip.decompress(answer.body)
        self.seen.append((method, target, answer))
        return answer


def read(connection, method, until=None):
    """Reads one answer from a socket; of a chunked one, chunks until it ends or `until` has come."""
    file = connection.makefile("rb")
    line = file.readline()
    if not line:
        raise ConnectionError("the server closed the connection without an answer")
    status, headers = int(line.split()[1]), http.client.parse_headers(file)
    if method == "HEAD" or status in (204, 304):
        return Answer(status, headers, b"")
    if "chunked" not in headers.get("Transfer-Encoding", ""):
        return Answer(status, headers, file.read(int(headers.get("Content-Length", 0))))
    body = b""
    while size := int(file.readline().split(b";")[0] or b"0", 16):
        body += file.read(size)
        file.readline()
        if until is not None and until in body:
            break
    return Answer(status, headers, body)
