"""What the log says of requests, their ids on both sides, what it never says, and that docs/operations.md quotes it."""

import hashlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from support.case import ServiceCase
from support.client import Client, RawConnection, once, session_path, target
from support.clock import wait_for
from support.outside import figure, wait_until_held
from support.server import ROOT, Server, binary, environment
from support.store import names_its_stores
from support.tokens import SECRET, token

KEY = "a-key-that-nobody-may-read"
TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z"
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class LogCase(ServiceCase):
    form = "text"
    more = ()

    @classmethod
    def setUpClass(cls):
        cls.options = ("--max-connections", "100", "--log", cls.form, "--log-requests", "--token-secret", SECRET,
                       "--key", f"w:{hashlib.sha256(KEY.encode()).hexdigest()}", *cls.more)
        super().setUpClass()

    def send(self, path, *fields):
        """Raw fields, as no client would write them."""
        connection = self.raw()
        connection.send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n".encode()
                        + b"".join(field if isinstance(field, bytes) else field.encode() for field in fields) + b"\r\n")
        return connection.answer()

    def line(self, path):
        """The one line of the log that contains the path."""
        self.server.wait_for_line(path)
        lines = [each for each in self.server.lines if path in each]
        self.assertEqual(len(lines), 1, lines)
        return lines[0]


class Text(LogCase):
    def test_a_line_says_what_became_of_a_request(self):
        self.assertStatus(self.send("/v1/sessions/first?sinse=1"), 401)
        self.assertRegex(self.line("/first"), r"^request method=GET path=/v1/sessions/first status=401 problem=unauthenticated "
                         rf"session=first bytesIn=[0-9]+ bytesOut=[0-9]+ "
                         r"microseconds=[0-9]+ peer=127\.0\.0\.1 requestId=[0-9a-f]{16}$")

    def test_a_request_that_was_refused_before_it_had_a_path_is_a_line_too(self):
        connection = self.raw()
        connection.send("NONSENSE\r\n\r\n")
        self.assertEqual(connection.answer().status, 400)
        self.server.wait_for_line(r"^request method=- path=- status=400 problem=malformed-request bytesIn=")

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


class Beginning(unittest.TestCase):
    def test_each_line_of_a_start_begins_with_its_time(self):
        server = Server("--memory", "1MiB", variables={"DIFFSERVER_LOGG": "x"})
        self.addCleanup(server.stop)
        server.wait_for_line("^connections capped at ")
        self.assertGreaterEqual(len(server.log), 4, server.log)
        refused = subprocess.run([binary(), "serve", "--listen", f"127.0.0.1:{server.port}"], capture_output=True, text=True,
                                 env=environment(), check=False)
        for line in [*server.log, *refused.stderr.splitlines()]:
            self.assertRegex(line, f"^{TIME} ")
        self.assertRegex(refused.stderr, f"(?m)^{TIME} diffserver: 127.0.0.1:{server.port}")


class Requests(LogCase):
    form = "json"
    # From a server with most limits within reach, so that each kind of answer occurs.
    more = ("--head-timeout", "1s", "--max-body", "1KiB", "--origin", "https://named.example")

    def logged(self, answer, status):
        """The log line of the request with this answer, by the id that the client was told."""
        self.assertStatus(answer, status)
        ids = answer.headers.get_all("X-Request-Id")
        self.assertEqual(len(ids), 1, answer)
        self.server.wait_for_line(f'"requestId":"{ids[0]}"')
        lines = [json.loads(line) for line in self.server.lines if f'"requestId":"{ids[0]}"' in line]
        self.assertEqual([line["status"] for line in lines], [status])
        self.assertRegex(lines[0]["time"], f"^{TIME}$")
        return lines[0]

    def test_every_answer_has_the_id_of_its_line(self):
        key, cross = f"Host: a\r\nAuthorization: Bearer {KEY}\r\n", "Host: a\r\nOrigin: https://named.example\r\n"
        for text, status in (
                ("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n", 200), ("HEAD /readyz HTTP/1.1\r\nHost: a\r\n\r\n", 200),
                ("GET /livez HTTP/1.0\r\n\r\n", 200), ("GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n", 200),
                ("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 204), ("DELETE /livez HTTP/1.1\r\nHost: a\r\n\r\n", 405),
                (f"OPTIONS /v1/diff HTTP/1.1\r\n{cross}Access-Control-Request-Method: POST\r\n\r\n", 204),
                ("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n", 401), (f"GET /nowhere HTTP/1.1\r\n{key}\r\n", 404),
                (f"GET /v1/sessions/none HTTP/1.1\r\n{key}\r\n", 404), (f"GET /metrics HTTP/1.1\r\n{key}\r\n", 200),
                (f"POST /v1/diff HTTP/1.1\r\n{key}Content-Length: 1\r\n\r\n[", 400),
                (f"POST /v1/diff HTTP/1.1\r\n{key}Content-Length: 2000\r\n\r\n", 413),
                (f"POST /v1/diff HTTP/1.1\r\n{key}Transfer-Encoding: chunked\r\n\r\nx\r\n", 400),
                ("GET / HTTP/1.1\r\nHost: a\r\nExpect: more\r\n\r\n", 417), ("NONSENSE\r\n\r\n", 400), ("GET / HTTP/1.1\r\n\r\n", 400),
                ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505), (f"GET /{'x' * 17_000} HTTP/1.1\r\n", 414),
                (f"GET / HTTP/1.1\r\nHost: a\r\nX: {'x' * 33_000}\r\n", 431),
                ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501), ("GET / HT", 408)):
            with self.subTest(text[:60], status=status), self.raw() as connection:
                connection.send(text)
                self.logged(connection.answer("HEAD" if text.startswith("HEAD") else "GET"), status)
        made = [json.loads(line)["requestId"] for line in self.server.lines if '"requestId"' in line]
        self.assertEqual(len(set(made)), len(made))

    def test_one_connection_has_an_id_a_request(self):
        with self.raw() as connection:
            connection.send("".join(f"GET /livez HTTP/1.1\r\nHost: a\r\n{own}\r\n" for own in ("", "x-request-id: mine-1\r\n", "")))
            first, own, last = (self.logged(connection.answer(), 200)["requestId"] for _ in range(3))
        self.assertEqual(own, "mine-1")
        self.assertNotEqual(first, last)

    def test_a_304_has_an_id_and_what_its_200_has(self):
        for path in ("/openapi.json", "/", "/client.js"):
            for packed in ("gzip", "identity"):
                with self.subTest(path, packed=packed):
                    whole = self.get(path, Accept_Encoding=packed, Origin="https://named.example")
                    self.assertStatus(whole, 200)
                    same = self.get(path, Accept_Encoding=packed, Origin="https://named.example", If_None_Match=whole.headers["ETag"])
                    self.logged(same, 304)
                    for name in ("ETag", "Vary", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers"):
                        self.assertEqual(same.headers.get_all(name), whole.headers.get_all(name), name)

    def test_a_line_says_who_asked_for_what_and_what_was_wrong(self):
        bearer = {"Authorization": f"Bearer {KEY}"}
        changes = session_path("a:b", "changes")

        def line(method, path, status, body=None, query=None, **headers):
            found = self.logged(self.request(method, path, body, query, **headers), status)
            return found.get("who"), found.get("session"), found.get("problem")

        self.assertEqual(line("POST", changes, 201, ["a"], **bearer), ("key:w", "a:b", None))
        self.assertEqual(line("POST", changes, 422, [1, 1], **bearer), ("key:w", "a:b", "invalid-state"))
        self.assertEqual(line("GET", "/v1/sessions/a%3Ab", 200, **bearer), ("key:w", "a:b", None))
        self.assertEqual(line("DELETE", "/v1/sessions/%0A", 400, **bearer), ("key:w", None, "malformed-request"))
        self.assertEqual(line("PATCH", session_path("a:b", "items", "a"), 415, "1", **bearer), ("key:w", "a:b", "unsupported-media-type"))
        self.assertEqual(line("PUT", changes, 405, "1", **bearer), ("key:w", "a:b", "method-not-allowed"))
        reader = {"Authorization": f"Bearer {token('a:b', 'read', client_id='phone of é')}"}
        self.assertEqual(line("GET", changes, 200, **reader), ("token:phone of é", "a:b", None))
        self.assertEqual(line("POST", changes, 403, ["a"], **reader), ("token:phone of é", "a:b", "forbidden"))
        self.assertEqual(line("GET", session_path("c"), 403, **reader), ("token:phone of é", "c", "forbidden"))
        nameless = {"Authorization": f"Bearer {token('a:b', 'read')}"}
        self.assertEqual(line("GET", session_path("a:b"), 400, query={"sinse": 1}, **nameless), ("token", "a:b", "unknown-parameter"))
        self.assertEqual(line("GET", session_path("a:b"), 401, Authorization="Bearer of-nothing"), (None, "a:b", "unauthenticated"))
        self.assertEqual(line("GET", target("/v1/changes", {"session": "a:b"}), 200, **bearer), ("key:w", None, None))
        self.assertEqual(line("GET", "/livez", 200, **bearer), ("key:w", None, None))
        self.assertEqual(line("GET", "/livez", 200, Authorization="Bearer of-nothing"), (None, None, None))

    def test_a_minted_token_is_named_with_who_has_it(self):
        bearer = {"Authorization": f"Bearer {KEY}"}
        for path, body, sessions, client in (
                (session_path("minted", "tokens"), {"client_id": "phone"}, "minted", "phone"), (session_path("minted", "tokens"), {}, "minted", None),
                ("/v1/tokens", {"sessions": ["minted", "other"], "client_id": "tab of é"}, "minted,other", "tab of é")):
            with self.subTest(path, body=body):
                answer = self.request("POST", path, body, **bearer)
                self.logged(answer, 201)
                lines = [json.loads(line) for line in self.server.lines if f'"jti":"{answer.json["jti"]}"' in line]
                self.assertEqual([{name: line.get(name) for name in ("level", "message", "who", "sessions", "client_id")} for line in lines],
                                 [{"level": "info", "message": "token minted", "who": "key:w", "sessions": sessions, "client_id": client}])

    def test_a_stream_is_its_readers_although_the_token_has_expired_since(self):
        self.post_changes("s", ["a"], Authorization=f"Bearer {KEY}")
        short = token("s", "read", client_id="short", exp=time.time() + 2.5)
        with self.raw() as connection:
            connection.send(f"GET /v1/sessions/s/changes HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {short}\r\n"
                            "Accept: text/event-stream\r\n\r\n")
            line = self.logged(connection.answer(), 200)
        self.assertEqual((line["who"], line["session"]), ("token:short", "s"))
        self.assertGreater(line["microseconds"], 400_000)


class WhoItWas(unittest.TestCase):
    """The log names who was admitted, whatever happens to the credentials later."""

    def test_a_withdrawal_that_ends_a_reader_leaves_its_name(self):
        folder = tempfile.TemporaryDirectory(prefix="diffserver-who-")
        self.addCleanup(folder.cleanup)
        files = {name: pathlib.Path(folder.name, name) for name in ("key", "metrics-key", "token-secret")}

        def write(**contents):
            for name, text in contents.items():
                file = files[name.replace("_", "-")]
                file.write_text(f"{text}\n")
                file.chmod(0o600)

        def hashed(name, key):
            return f"{name}:{hashlib.sha256(key.encode()).hexdigest()}"

        write(key=hashed("w", KEY), metrics_key=hashed("scraper", "scrape"), token_secret=SECRET)
        options = [word for name, file in files.items() for word in (f"--{name}-file", str(file))]
        server = Server("--log", "json", "--log-requests", *options)
        self.addCleanup(server.stop)
        asked = [("/v1/sessions/s/changes?wait=60", KEY, "event-stream"), ("/v1/sessions/s/changes?wait=60", KEY, "json"),
                 ("/v1/changes?session=s", token("s", client_id="phone"), "event-stream"), ("/metrics", "scrape", "plain")]
        ids = []
        for number, (path, credentials, kind) in enumerate(asked):
            connection = RawConnection(server)
            self.addCleanup(connection.close)
            ids.append(f"request-{number}")
            connection.send(f"GET {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {credentials}\r\n"
                            f"Accept: text/{kind}, application/{kind}\r\nTraceparent: {TRACE}\r\nX-Request-Id: {ids[-1]}\r\n\r\n")
        wait_until_held(server, 1, "scrape")
        wait_for(lambda: figure(server, "diffserver_streams", "scrape") == 2, "two streams are open")
        write(key=hashed("w", "another"), token_secret="another" + SECRET)
        server.signal(signal.SIGHUP)
        lines = [json.loads(server.wait_for_line(f'.*"{each}".*').group()) for each in ids]
        self.assertEqual([line.get("who") for line in lines], ["key:w", "key:w", "token:phone", "key:scraper"])
        self.assertEqual([line["status"] for line in lines], [200, 401, 200, 200])
        self.assertEqual([(line["path"], line["traceparent"]) for line in lines], [(path.split("?")[0], TRACE) for path, *_ in asked])
        self.assertEqual([line.get("session") for line in lines], ["s", "s", None, None])

    def test_a_minted_token_is_named_although_no_request_is(self):
        server = Server("--token-secret", SECRET, "--key", f"w:{hashlib.sha256(KEY.encode()).hexdigest()}")
        self.addCleanup(server.stop)
        answer = once(server, "POST", session_path("s", "tokens"), {"client_id": "phone"}, {"Authorization": f"Bearer {KEY}"})
        line = server.wait_for_line(f".*{answer.json['jti']}.*").group()
        self.assertTrue(line.endswith(f"token minted who=key:w sessions=s client_id=phone jti={answer.json['jti']}"), line)
        self.assertFalse([each for each in server.lines if "POST" in each])


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
class AllOfItIsJSON(unittest.TestCase):
    """Whatever happens, from the first line after the options to the last."""

    def lines(self, *options, status, before=(), while_it_runs=lambda process: b"", **popen):
        """A server's output until it ended, each line parsed; `while_it_runs` returns what it has read of it."""
        with subprocess.Popen([*before, binary(), "serve", "--log", "json", *options], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), **popen) as process:
            try:
                said = while_it_runs(process)
                out, err = process.communicate(timeout=20)
            finally:
                process.kill()
        self.assertEqual((process.returncode, out), (status, b""), err)
        lines = [json.loads(line) for line in (said + err).splitlines()]
        self.assertTrue(all({"time", "level", "message"} <= set(line) for line in lines), lines)
        return lines

    def test_why_it_cannot_start(self):
        with socket.create_server(("127.0.0.1", 0)) as taken, tempfile.TemporaryDirectory() as folder:
            port = taken.getsockname()[1]
            for options, reason in ((("--listen", f"127.0.0.1:{port}"), "already in use"),
                                    (("--listen", "127.0.0.1:0", "--store", f"sqlite:{folder}/no/such.db"), "/no/such.db")):
                with self.subTest(options=options):
                    last = self.lines(*options, status=1)[-1]
                    self.assertEqual(last["level"], "error")
                    self.assertIn(reason, last["message"])

    def test_a_key_that_it_made_and_what_a_signal_brings(self):
        with socket.create_server(("127.0.0.1", 0)) as inherited, tempfile.NamedTemporaryFile("w") as secrets:
            secrets.write("a secret of tokens that is long enough for it\n")
            secrets.flush()

            def use(process):
                # Its first lines come before it listens.
                with socket.create_connection(inherited.getsockname(), 20) as connection:
                    connection.sendall(b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
                    connection.recv(1000)
                secrets.truncate(0)
                # What is read here is not read again at the end.
                said, log = [], process.stderr.fileno()
                os.set_blocking(log, False)

                def is_told():
                    said.append(os.read(log, 65536))
                    return b"token secrets not reloaded" in b"".join(said)
                process.send_signal(signal.SIGHUP)
                wait_for(is_told, "the secrets are not reloaded")
                process.terminate()
                return b"".join(said)

            # An inherited address is not known to be the loopback's.
            given = f'LISTEN_FDS=1 LISTEN_PID=$$ exec "$@" 3<&{inherited.fileno()}'
            lines = self.lines("--log-requests", "--token-secret-file", secrets.name, status=0, while_it_runs=use,
                               before=("bash", "-c", given, "bash"), pass_fds=(inherited.fileno(),))
        said = [(line["level"], line["message"]) for line in lines]
        self.assertTrue(any(level == "warning" and re.search("use this one: dsk_[A-Za-z0-9_-]{43}$", message) for level, message in said), said)
        self.assertTrue(any("token secrets not reloaded" in message for _, message in said), said)
        self.assertIn(("info", "draining"), said)


@names_its_stores
class Stalled(unittest.TestCase):
    """A log that nobody reads."""

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
                self.wait_for_text(path, "listens on")
                path.rename(path.with_suffix(".1"))
                self.wait_for_text(path, "log file reopened")
                path.unlink()
                self.wait_for_text(path, "log file reopened")
                server.terminate()
                self.wait_for_text(path, "draining")
            finally:
                server.kill()
                server.wait()

    def wait_for_text(self, path, text):
        wait_for(lambda: text in path.read_text(), f"{path} says {text!r}", not_yet=FileNotFoundError)


class Documented(unittest.TestCase):
    def test_the_lines_of_the_page_are_those_of_the_server(self):
        """Literally, except for `…`, which stands for a value."""
        code = "\n".join(path.read_text() for path in (ROOT / "Sources").rglob("*.swift"))
        table = re.search(r"^\| line \| what to do \|\n\|.*\n((?:\|.*\n)+)", (ROOT / "docs/operations.md").read_text(), re.MULTILINE)[1]
        lines = re.findall(r"`([^`]+)`", table)
        self.assertGreater(len(lines), 15)
        for line in lines:
            for words in line.split("…"):
                self.assertIn(words.strip(), code, line)
