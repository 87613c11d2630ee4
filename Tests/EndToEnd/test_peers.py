"""The limits of one address: connections at once, and requests a second. 127.0.0.1 and 127.0.0.2 are two peers."""

import socket

from support.case import ServiceCase
from support.client import RawConnection, session_path
from support.clock import let_pass, wait_for
from support.tokens import bearer
from test_tokens_and_keys import KEY, hashed

ONE, OTHER, THIRD = "127.0.0.1", "127.0.0.2", "127.0.0.3"


class Peers(ServiceCase):
    """Speaks from a chosen address."""

    def connection(self, source):
        connected = socket.create_connection((self.server.host, self.server.port), 20, (source, 0))
        connection = RawConnection.to(connected)
        self.addCleanup(connection.close)
        return connection

    def asked(self, connection, path="/livez", credentials=None, method="GET"):
        fields = "".join(f"{name}: {value}\r\n" for name, value in (credentials or {}).items())
        connection.send(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n")
        return connection.answer(method)

    def ask(self, source, *arguments, **named):
        """One request on a new connection."""
        with self.connection(source) as connection:
            return self.asked(connection, *arguments, **named)

    def refused(self, source, *arguments):
        """The first 429; the rate is used up then, for a part of a second."""
        for _ in range(100):
            answer = self.ask(source, *arguments)
            if answer.status == 429:
                return answer
        self.fail("nothing was ever refused")


class ConnectionsOfOne(Peers):
    options = ("--peer-connections", "3")

    def setUp(self):
        """Waits until another test's connections are gone, including those not yet accepted."""
        watcher = self.connection(THIRD)
        alone = 0

        def is_alone():
            nonlocal alone
            alone = alone + 1 if "\ndiffserver_connections 1\n" in self.asked(watcher, "/metrics").text else 0
            return alone == 4
        wait_for(is_alone, "all others are gone", not_yet=(), every=0.1)
        watcher.close()

    def assertServed(self, source, count):
        """Opens this many connections, all of which are served."""
        connections = [self.connection(source) for _ in range(count)]
        for each in connections:
            self.assertStatus(self.asked(each), 200)
        return connections

    def assertRefused(self, source):
        """One more is answered before it has sent anything, and so without an `instance`."""
        connection = self.connection(source)
        answer = connection.answer()
        self.assertEqual((answer.status, answer.media_type), (503, "application/problem+json"), answer)
        self.assertEqual(answer.json, {
            "type": "/problems/capacity", "title": "The server is full", "status": 503,
            "detail": "more than 3 connections from one address", "limit": 3})
        self.assertRegex(answer.headers["Retry-After"], "^[0-9]+$")
        self.assertEqual(answer.headers["Connection"], "close")
        self.assertTrue(connection.is_closed())

    def test_one_connection_more_of_an_address_is_503_and_close_and_another_address_is_served(self):
        open_ones = self.assertServed(ONE, 3)
        self.assertRefused(ONE)
        others = self.assertServed(OTHER, 3)
        self.assertRefused(OTHER)
        for each in open_ones + others:
            self.assertStatus(self.asked(each, "/readyz"), 200)
        figures = self.asked(open_ones[0], "/metrics").text
        self.assertRegex(figures, "\ndiffserver_peer_connections_refused_total [1-9]")
        self.assertIn("\ndiffserver_connections_refused_total 0\n", figures)

    def test_what_is_closed_makes_room_however_often(self):
        for _ in range(30):
            for number in range(40):
                connection = socket.create_connection((self.server.host, self.server.port), 20, (ONE, 0))
                if number % 3 == 0:
                    connection.send(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
                connection.close()
        self.setUp()
        open_ones = self.assertServed(ONE, 3)
        self.assertRefused(ONE)
        open_ones[0].close()
        wait_for(lambda: self.ask(ONE).status == 200, "there is room for one more")


class RateOfOne(Peers):
    options = ("--peer-rate", "1")

    def test_more_than_the_rate_is_429_with_retry_after_for_that_address_alone(self):
        path = session_path("none")
        answer = self.refused(ONE, path)
        problem = self.assertProblem(answer, 429, "too-many-requests")
        self.assertEqual(problem["detail"], "more than 1 requests a second from one address")
        self.assertEqual(answer.headers["Retry-After"], "1")
        self.assertProblem(self.ask(OTHER, path), 404, "session-not-found")
        let_pass(1.1, "second of a rate")
        self.assertProblem(self.ask(ONE, path), 404, "session-not-found")

    def test_the_rate_comes_before_404_and_405_and_counts_pages(self):
        for method, path in (("GET", "/nothing"), ("PATCH", session_path("s")), ("GET", "/"),
                             ("GET", "/problems/forbidden"), ("DELETE", "/livez")):
            with self.subTest(path):
                self.refused(ONE, "/client.js")
                self.assertProblem(self.ask(ONE, path, method=method), 429, "too-many-requests")

    def test_probes_and_preflights_are_not_counted(self):
        self.refused(ONE, "/")
        for path in ("/livez", "/readyz") * 10:
            self.assertStatus(self.ask(ONE, path), 200)
        self.assertStatus(self.ask(ONE, "/v1/diff", method="OPTIONS"), 204)


class RateOfOneWithKeys(Peers):
    options = ("--key", f"writer:{hashed(KEY)}", "--peer-rate", "1", "--rate", "1000")

    def test_the_rate_comes_after_401_and_403(self):
        self.refused(ONE, session_path("none"), bearer(KEY))
        self.assertProblem(self.ask(ONE, session_path("none"), bearer("wrong")), 401, "unauthenticated")
        self.assertProblem(self.ask(ONE, "/nothing"), 401, "unauthenticated")
        # Whether a session is public is looked up.
        self.refused(ONE, session_path("none"))
        self.assertProblem(self.ask(OTHER, session_path("none"), bearer(KEY)), 404, "session-not-found")
