"""What the log says of requests, what it never says, and that docs/operations.md quotes it."""

import hashlib
import json
import pathlib
import re
import subprocess
import tempfile
import time
import unittest

from support.case import ServiceCase
from support.client import Client, RawConnection, session_path
from support.server import ROOT, Server, binary, environment
from support.store import names_its_stores
from support.tokens import SECRET, token

KEY = "a-key-that-nobody-may-read"
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class LogCase(ServiceCase):
    form = "text"

    @classmethod
    def setUpClass(cls):
        cls.options = ("--max-connections", "100", "--log", cls.form, "--log-requests", "--token-secret", SECRET,
                       "--key", f"w:{hashlib.sha256(KEY.encode()).hexdigest()}")
        super().setUpClass()

    def send(self, path, *fields):
        """Raw fields, as no client would write them."""
        connection = self.raw()
        connection.send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n".encode()
                        + b"".join(field if isinstance(field, bytes) else field.encode() for field in fields) + b"\r\n")
        return connection.answer()

    def line(self, path):
        """The one line of the log that holds the path."""
        self.server.wait_for_line(path)
        lines = [each for each in self.server.lines if path in each]
        self.assertEqual(len(lines), 1, lines)
        return lines[0]


class Text(LogCase):
    def test_a_line_says_what_became_of_a_request(self):
        self.assertStatus(self.send("/v1/sessions/first?sinse=1"), 401)
        self.assertRegex(self.line("/first"), r"^request method=GET path=/v1/sessions/first status=401 bytesIn=[0-9]+ bytesOut=[0-9]+ "
                         r"microseconds=[0-9]+ peer=127\.0\.0\.1 requestId=[0-9a-f]{16}$")

    def test_a_request_that_was_refused_before_it_had_a_path_is_a_line_too(self):
        connection = self.raw()
        connection.send("NONSENSE\r\n\r\n")
        self.assertEqual(connection.answer().status, 400)
        self.server.wait_for_line(r"^request method=- path=- status=400 ")

    def test_the_clients_ids_are_kept_and_only_one_is_echoed(self):
        answer = self.send("/traced", "X-Request-Id: abc-7\r\n", f"traceparent: {TRACE}\r\n")
        self.assertEqual(answer.headers.get_all("X-Request-Id"), ["abc-7"])
        self.assertIsNone(answer.headers["traceparent"])
        self.assertTrue(self.line("/traced").endswith(f" requestId=abc-7 traceparent={TRACE}"))

    def test_nothing_that_a_client_makes_up_gets_into_a_line(self):
        for number, value in enumerate((b"a status=200", b"\xc3\xa9", b"\xff\xfe", b"a\tb", b"x" * 129, b"")):
            with self.subTest(value):
                answer = self.send(f"/made-up-{number}", b"X-Request-Id: " + value + b"\r\n", b"traceparent: " + value + b"\r\n")
                made = answer.headers["X-Request-Id"]
                self.assertRegex(made, "^[0-9a-f]{16}$")
                self.assertTrue(self.line(f"/made-up-{number} ").endswith(f" peer=127.0.0.1 requestId={made}"))
        self.send("/quoted", 'X-Request-Id: "a",status=200\r\n')
        self.assertTrue(self.line("/quoted ").endswith(r' requestId="\"a\",status=200"'))
        self.assertRegex(self.send("/twice", "X-Request-Id: a\r\n", "X-Request-Id: a\r\n").headers["X-Request-Id"], "^[0-9a-f]{16}$")
        for number, value in enumerate((b"a\r\n\rwarning: b", b"a\x00b", b"a\nb")):
            self.assertEqual(self.send(f"/refused-{number}", b"X-Request-Id: " + value + b"\r\n").status, 400)
        self.assertTrue(all(line.isascii() for line in self.server.lines))
        self.assertFalse([line for line in self.server.lines if not line.startswith(("request ", "diffserver "))])


class JSON(LogCase):
    form = "json"

    def test_no_secret_is_ever_logged(self):
        bearer = {"Authorization": f"Bearer {KEY}"}
        minted = self.request("POST", session_path("s", "tokens"), {"scope": ["read", "edit"]}, **bearer).json["token"]
        offline = token("s", "read edit")
        body = [{"id": "id-of-an-item", "content": "content-of-an-item"}]
        self.assertStatus(self.post_changes("s", body, Idempotency_Key="key-of-a-request", **bearer), 201)
        for credentials in (minted, offline, "wrong-credentials"):
            for path in ("", "/changes", "/items?id=id-of-an-item", f"?access_token={credentials}", f"/changes?token={credentials}"):
                self.get(session_path("s") + path, Authorization=f"Bearer {credentials}")
            self.request("POST", session_path("s", "changes"), "{not json, but content-of-an-item",
                         Authorization=f"Bearer {credentials}")
            self.request("POST", session_path("s", "changes"), {"edits": [{"op": "delete", "items": ["id-of-an-item"]}]},
                         Authorization=f"Bearer {credentials}", Cookie="a-cookie", Referer="http://a-page/?a-query")
        self.get("/livez")
        self.server.wait_for_line("livez")
        log = "\n".join(self.server.lines)
        for secret in (KEY, SECRET, minted, offline, minted.split(".")[2], "credentials", "id-of-an-item", "content-of-an-item",
                       "key-of-a-request", "cookie", "a-query", "Bearer"):
            self.assertNotIn(secret, log)
        lines = [json.loads(line) for line in self.server.lines]
        self.assertTrue(all(each["level"] in ("info", "warning") for each in lines))
        requests = [each for each in lines if each["message"] == "request"]
        self.assertEqual(len({each["requestId"] for each in requests}), len(requests))


@names_its_stores
class Stalled(unittest.TestCase):
    """A log that nobody takes away."""

    REQUESTS, TIMES = 500, 40

    def test_requests_go_on_and_what_is_missing_is_told(self):
        server = Server("--log-requests", "--max-connections", "100")
        self.addCleanup(server.stop)
        client = Client(server)
        self.addCleanup(client.close)
        server.reads_log.clear()
        request = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for _ in range(self.TIMES):
            with RawConnection(server) as connection:
                connection.send(request * self.REQUESTS)
                for _ in range(self.REQUESTS):
                    self.assertEqual(connection.answer().status, 200)
        dropped = int(re.search(r"^diffserver_log_lines_dropped_total ([0-9]+)$", client.request("GET", "/metrics").text, re.M)[1])
        self.assertGreater(dropped, 0)
        server.reads_log.set()
        missing = int(server.wait_for_line("^warning: ([0-9]+) log lines were dropped here$")[1])
        server.wait_for_line("^warning: dropping log lines: the log is not read fast enough$")
        client.request("GET", "/problems/last")
        server.wait_for_line("path=/problems/last")
        lines = [each for each in server.lines if each.startswith("request ") and "path=/livez" in each]
        self.assertIn(len(lines) + missing - self.REQUESTS * self.TIMES, (0, 1), "the line of /metrics may be missing too")
        self.assertIn(missing - dropped, (0, 1))


@names_its_stores
class ToAFile(unittest.TestCase):
    def test_the_log_stays_at_its_path(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "log"
            with open(path, "wb") as log:
                server = subprocess.Popen(
                    [binary(), "serve", "--listen", "127.0.0.1:0"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log,
                    env=environment())
            try:
                self.wait_for(path, "listens on")
                path.rename(path.with_suffix(".1"))
                self.wait_for(path, "log file reopened")
                path.unlink()
                self.wait_for(path, "log file reopened")
                server.terminate()
                self.wait_for(path, "draining")
            finally:
                server.kill()
                server.wait()

    def wait_for(self, path, text):
        deadline = time.monotonic() + 20
        while not (path.exists() and text in path.read_text()):
            self.assertLess(time.monotonic(), deadline, f"{path} never said {text!r}")
            time.sleep(0.02)


class Documented(unittest.TestCase):
    def test_the_lines_of_the_page_are_those_of_the_server(self):
        """Literally, but for what stands for a value, `…`."""
        code = "\n".join(path.read_text() for path in (ROOT / "Sources").rglob("*.swift"))
        table = re.search(r"^\| line \| what to do \|\n\|.*\n((?:\|.*\n)+)", (ROOT / "docs/operations.md").read_text(), re.MULTILINE)[1]
        lines = re.findall(r"`([^`]+)`", table)
        self.assertGreater(len(lines), 15)
        for line in lines:
            for words in line.split("…"):
                self.assertIn(words.strip(), code, line)
