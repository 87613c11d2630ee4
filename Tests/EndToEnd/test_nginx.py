"""Behind a real nginx, by the configurations of Examples: one node, and two that share sessions by their names."""

import http.server
import ssl
import tempfile
import threading
import unittest
from urllib.request import urlopen

from support.client import Client, RawConnection, session_path, target
from support.clock import let_pass, pause, wait_for
from support.events import Stream
from support.nginx import IS_INSTALLED, MISSING, Nginx
from support.node import Node
from support.replica import Replica
from support.states import canonical
from support.tokens import SECRET, bearer, token
from test_tokens_and_keys import KEY, hashed

OPTIONS = ("--key", f"writer:{hashed(KEY)}", "--token-secret", SECRET, "--digest-key", "the same on all")
AUTHORIZATION = bearer(KEY)


class Behind(unittest.TestCase):
    """Requests through `self.nginx`, each on a connection of its own."""

    def request(self, method, path, body=None, at=None, **headers):
        client = Client(at or self.nginx, 70)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            return client.request(method, path, body, {**AUTHORIZATION, **named})
        finally:
            client.close()

    def post(self, session, body, **headers):
        return self.request("POST", session_path(session, "changes"), body, **headers)

    def wrote(self, session, body):
        answer = self.post(session, body)
        self.assertIn(answer.status, (200, 201), answer)
        return answer.json["to"]

    def stream(self, session, since=None, headers=None):
        query = {"since": since} if since else None
        stream = Stream(self.nginx, session_path(session, "changes"), query, {**AUTHORIZATION, **(headers or {})})
        self.addCleanup(stream.close)
        self.assertEqual(stream.status, 200, stream.body)
        return stream


class PassesOn:
    """Holds for both configurations, which include the same file."""

    def test_it_reads_its_configuration_without_a_warning(self):
        self.assertEqual(self.nginx.warnings(), [])

    def test_events_come_when_they_happen(self):
        first = self.wrote("events", ["a"])
        stream = self.stream("events", first)
        for number in range(5):
            head = self.wrote("events", ["a", str(number)])
            # If held back, such a small event would never come.
            self.assertEqual(stream.next_event().id, head)

    def test_a_held_poll_is_answered_when_something_happens(self):
        first = self.wrote("poll", ["a"])
        path = target(session_path("poll", "changes"), {"since": first, "wait": 20})
        answers = []
        poll = threading.Thread(target=lambda: answers.append(self.request("GET", path)))
        poll.start()
        wait_for(lambda: self.total("diffserver_held_requests") == 1, "a node holds it")
        self.assertEqual(answers, [])
        head = self.wrote("poll", ["b"])
        poll.join(30)
        self.assertEqual([each.json["to"] for each in answers], [head])

    def test_a_stream_ends_for_the_node_when_its_reader_has_gone(self):
        first = self.wrote("gone", ["a"])
        before = self.streams()
        streams = [self.stream("gone", first) for _ in range(20)]
        wait_for(lambda: self.streams() == before + 20, "all streams are the nodes'")
        for stream in streams:
            stream.close()
        wait_for(lambda: self.streams() == before, lambda: f"{self.streams()} streams are {before}", 30)

    def streams(self):
        return self.total("diffserver_streams")

    def total(self, name):
        """The sum of the nodes' figures."""
        total = 0
        for node in self.nodes:
            with urlopen(f"http://127.0.0.1:{node.port}/metrics") as answer:
                total += sum(int(line.split()[-1]) for line in answer.read().decode().splitlines()
                             if line.startswith(f"{name} "))
        return total

    def test_figures_are_not_for_the_world(self):
        for path in ("/metrics", "/metrics?x=1", "/%6detrics", "//metrics", "/./metrics", "/x/../metrics"):
            with self.subTest(path):
                connection = RawConnection(self.nginx)
                connection.send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\n"
                                "Connection: close\r\n\r\n")
                answer = connection.answer()
                connection.close()
                self.assertEqual(answer.status, 404, answer)
                self.assertNotIn(b"diffserver_", answer.body)

    def test_without_a_key_nothing_is_open(self):
        client = Client(self.nginx)
        self.addCleanup(client.close)
        self.assertEqual(client.request("GET", "/v1/sessions/events").status, 401)
        self.assertEqual(client.request("GET", "/livez").status, 200)

    def test_a_token_is_good_here(self):
        self.wrote("tokens", ["a"])
        client = Client(self.nginx)
        self.addCleanup(client.close)
        answer = client.request("GET", session_path("tokens"), None, bearer(token("tokens")))
        self.assertEqual(answer.status, 200, answer)

    def test_a_large_body_goes_through_and_one_that_is_too_large_is_refused_as_a_problem(self):
        large = [{"id": str(number), "content": "x" * 1000} for number in range(8000)]
        self.assertEqual(self.post("large", large).status, 201)
        for headers in ({}, {"Expect": "100-continue"}):
            answer = self.request("POST", session_path("large", "changes"), b" " * (17 << 20), **headers)
            self.assertEqual((answer.status, answer.media_type), (413, "application/problem+json"), answer)
            self.assertEqual(answer.json["type"], "/problems/content-too-large")

    def test_what_is_compressed_stays_so_and_a_stream_comes_event_by_event(self):
        state = [{"id": str(number), "content": "the same again " * 4} for number in range(100)]
        self.post("compressed", state)
        answer = self.request("GET", session_path("compressed"), Accept_Encoding="gzip")
        self.assertEqual(answer.headers["Content-Encoding"], "gzip")
        stream = self.stream("compressed", headers={"Accept-Encoding": "gzip"})
        self.assertEqual(stream.headers["Content-Encoding"], "gzip")
        self.assertEqual(stream.next_event().json["reset"], "initial")
        for number in range(3):
            self.post("compressed", state[number + 1:])
            self.assertEqual(len(stream.next_event().json["changes"]), 1)


@unittest.skipUnless(IS_INSTALLED, MISSING)
class OneNode(PassesOn, Behind):
    @classmethod
    def setUpClass(cls):
        cls.nodes = [Node(*OPTIONS)]
        cls.nginx = Nginx("nginx.conf", [node.port for node in cls.nodes], tls=True)

    @classmethod
    def tearDownClass(cls):
        cls.nginx.close()
        cls.nodes[0].stop()

    def test_a_stream_over_tls(self):
        first = self.wrote("tls", ["a"])
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["http/1.1"])
        secured = context.wrap_socket(RawConnection(_Port(self.nginx.tls_port)).socket)
        connection = RawConnection.to(secured)
        self.addCleanup(connection.close)
        connection.send(f"GET {session_path('tls', 'changes')}?since={first} HTTP/1.1\r\nHost: localhost\r\n"
                        f"Accept: text/event-stream\r\nAuthorization: Bearer {KEY}\r\n\r\n")
        secured.settimeout(20)
        head = self.wrote("tls", ["b"])
        while f"id: {head}\n".encode() not in connection.file.readline():
            pass

    def test_while_the_node_is_away_readers_are_told_to_come_back(self):
        node = Node(*OPTIONS)
        nginx = Nginx("nginx.conf", [node.port])
        self.addCleanup(nginx.close)
        self.assertEqual(self.request("GET", "/readyz", at=nginx).status, 200)
        node.kill()
        answer = self.request("GET", "/readyz", at=nginx)
        self.assertEqual((answer.status, answer.media_type, answer.headers["Retry-After"]), (503, "application/problem+json", "1"))
        self.assertEqual(answer.json["status"], 503)
        node.start()
        self.addCleanup(node.stop)
        wait_for(lambda: self.request("GET", "/readyz", at=nginx).status == 200, "it is ready", 30, not_yet=())


@unittest.skipUnless(IS_INSTALLED, MISSING)
class TwoNodes(PassesOn, Behind):
    @classmethod
    def setUpClass(cls):
        cls.nodes = [Node(*OPTIONS) for _ in range(2)]
        cls.nginx = Nginx("nginx-consistent-hash.conf", [node.port for node in cls.nodes])

    @classmethod
    def tearDownClass(cls):
        cls.nginx.close()
        for node in cls.nodes:
            node.stop()

    def test_a_session_always_reaches_the_same_node(self):
        names = [f"s{number}:~_." for number in range(40)]
        for round in range(3):
            for name in names:
                self.assertEqual(self.post(name, [str(round)]).status, 200 if round else 201)
        for path in (session_path(names[0], "items", "2"), session_path(names[0]), "/v1/sessions/%730:%7E_.", "//v1/sessions/s0:~_."):
            self.assertEqual(self.request("GET", path).status, 404 if path.startswith("//") else 200, path)
        places = [[self.request("GET", session_path(name), at=node).status for node in self.nodes] for name in names]
        self.assertEqual({tuple(each) for each in places}, {(200, 404), (404, 200)})


@unittest.skipUnless(IS_INSTALLED, MISSING)
class AwayAndBack(Behind):
    """A node goes, and comes back empty."""

    OPTIONS = (*OPTIONS, "--stream-life", "4s")

    def setUp(self):
        self.nodes = [Node(*self.OPTIONS) for _ in range(2)]
        self.nginx = Nginx("nginx-consistent-hash.conf", [node.port for node in self.nodes])
        self.addCleanup(lambda: [node.stop() for node in self.nodes])
        self.addCleanup(self.nginx.close)

    def test_readers_and_writers_go_on(self):
        names = [f"s{number}" for number in range(16)]
        readers = {name: Follower(self.nginx, name) for name in names}
        for name in names:
            self.wrote(name, ["a", "b"])
        home = {name: [self.request("GET", session_path(name), at=node).status for node in self.nodes].index(200) for name in names}
        away = [name for name in names if home[name] == 0]
        self.assertTrue(0 < len(away) < len(names), home)
        for reader in readers.values():
            reader.start()
        self.wait_until_all_show(readers, ["a", "b"])

        self.nodes[0].kill()
        for name in names:  # The same list again, and so no reset.
            self.wrote(name, ["a", "b"])
        for name in names:
            self.wrote(name, ["b", "a"])
        self.wait_until_all_show(readers, ["b", "a"])

        self.nodes[0].start()
        there = session_path(away[0])
        wait_for(lambda: self.request("GET", there).status == 404, "its sessions come back to it", 30, not_yet=())
        # Each of nginx's workers finds that out by itself: after `fail_timeout` it tries one request, which may be a
        # stream of 4 s, and until that is over all others go elsewhere.
        let_pass(12, "fail_timeout of nginx, and a stream's life")
        wait_for(lambda: all(self.request("GET", there).status == 404 for _ in range(20)), "all requests go to it", 30, not_yet=())
        for name in names:
            self.wrote(name, ["b", "a"])
        for name in names:
            self.wrote(name, ["c"])
        self.wait_until_all_show(readers, ["c"])
        for name in names:
            self.assertEqual(self.request("GET", session_path(name), at=self.nodes[home[name]]).status, 200)
        for reader in readers.values():
            reader.is_over = True
        for reader in readers.values():
            reader.join(20)
            self.assertIsNone(reader.problem)
            self.assertLessEqual(reader.resets, 1, "the same list on another node was a reset")

    def wait_until_all_show(self, readers, state):
        def others():
            return [(name, reader.problem, reader.replica.revision, [self.request("GET", session_path(name), at=node).text for node in self.nodes])
                    for name, reader in readers.items() if not reader.shows(canonical(state))]
        wait_for(lambda: all(reader.shows(canonical(state)) for reader in readers.values()), lambda: f"all show {state}: {others()}", 30)


@unittest.skipUnless(IS_INSTALLED, MISSING)
class DurableNodes(Behind):
    """Two nodes with SQLite, as the configuration says for them: a session waits for its own node."""

    def test_a_session_is_away_with_its_node_and_comes_back_as_it_was(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        nodes = [Node(*OPTIONS, "--store", f"sqlite:{folder.name}/{number}.db") for number in range(2)]
        self.addCleanup(lambda: [node.stop() for node in nodes])
        changes = (("max_fails=1", "max_fails=0"), ("proxy_next_upstream error timeout", "proxy_next_upstream off"))
        self.nginx = Nginx("nginx-consistent-hash.conf", [node.port for node in nodes], changes=changes)
        self.addCleanup(self.nginx.close)
        heads = {name: self.wrote(name, ["a", name]) for name in (f"s{number}" for number in range(16))}
        away = {name for name in heads if self.request("GET", session_path(name), at=nodes[0]).status == 200}
        self.assertTrue(0 < len(away) < len(heads), away)
        nodes[0].kill()
        for name in heads:
            answer = self.request("GET", session_path(name))
            self.assertEqual((answer.status, answer.headers["Retry-After"]), (503, "1") if name in away else (200, None), answer)
            self.assertEqual(self.post(name, ["b"], If_Match='"1-0123456789abcdef"').status, 503 if name in away else 412)
        nodes[0].start()
        for name, head in heads.items():
            self.assertEqual(self.request("GET", session_path(name)).json["revision"], head)


class Follower(threading.Thread):
    """A reader that follows the rule over streams until told to end."""

    def __init__(self, server, session):
        super().__init__(daemon=True)
        self.server, self.path, self.replica = server, session_path(session, "changes"), Replica("keyed")
        self.resets, self.problem, self.is_over = 0, None, False

    def shows(self, document):
        return self.replica.model is not None and self.replica.shows(document)

    def run(self):
        while not self.is_over:
            try:
                self.step()
            except (OSError, ValueError, IndexError):
                pass  # The node has just gone.
            except Exception as problem:  # told in the test's own thread
                self.problem = repr(problem)
                return
            pause(0.05, "a reader before it comes again")

    def step(self):
        since = {"since": self.replica.revision} if self.replica.revision else {}
        stream = Stream(self.server, self.path, since, AUTHORIZATION)
        try:
            if stream.status != 200:
                assert stream.status in (404, 503), stream.problem
                return
            while not self.is_over:
                event = stream.next_event(20)
                if event is None or event.event == "end":
                    return
                self.resets += "reset" in event.json
                assert self.replica.receive(event.changeset) != "ask", event
        finally:
            stream.close()


@unittest.skipUnless(IS_INSTALLED, MISSING)
class NginxHeartbeat(Behind):
    def test_a_comment_comes_through_every_fifteen_seconds(self):
        node = Node(*OPTIONS)
        self.addCleanup(node.stop)
        self.nginx = Nginx("nginx.conf", [node.port])
        self.addCleanup(self.nginx.close)
        first = self.wrote("quiet", ["a"])
        stream = self.stream("quiet", first)
        while not stream.next().id:
            pass
        block = stream.next(25)
        self.assertTrue(block.comments and not block.fields, block)


class _Port:
    """An address of this machine, as a server."""

    host = "127.0.0.1"

    def __init__(self, port):
        self.port = port


class _Echo(http.server.BaseHTTPRequestHandler):
    """Answers with the request head it received."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = f"{self.request_version}\n{self.headers}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@unittest.skipUnless(IS_INSTALLED, MISSING)
class WhatNginxSays(Behind):
    """Of a request, to the node."""

    @classmethod
    def setUpClass(cls):
        cls.echo = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Echo)
        threading.Thread(target=cls.echo.serve_forever, daemon=True).start()
        cls.nginx = Nginx("nginx.conf", [cls.echo.server_address[1]], tls=True)

    @classmethod
    def tearDownClass(cls):
        cls.nginx.close()
        cls.echo.shutdown()
        cls.echo.server_close()

    def test_who_asked_and_how(self):
        said = self.request("GET", "/", Host="lists.example", X_Forwarded_For="192.0.2.7", Connection="close").text.lower()
        for line in ("http/1.1", "host: lists.example", "x-forwarded-for: 192.0.2.7, 127.0.0.1", "x-forwarded-proto: http"):
            self.assertIn(line, said.splitlines())
        self.assertNotIn("connection:", said)

    def test_that_it_came_by_tls(self):
        context = ssl.create_default_context(cafile=str(self.nginx.directory / "certificate.pem"))
        context.check_hostname = False
        with urlopen(f"https://127.0.0.1:{self.nginx.tls_port}/", context=context, timeout=10) as answer:
            self.assertIn("x-forwarded-proto: https", answer.read().decode().lower().splitlines())
