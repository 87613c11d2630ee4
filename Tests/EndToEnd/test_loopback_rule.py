"""Without keys everything is open on the loopback, and only there: CONTRACT §9."""

import re
import socket
import tempfile

from support.case import ServiceCase
from support.client import Client, RawConnection
from support.server import Server


def outside_address():
    """An address of this machine other than the loopback's; asking for a route sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(("198.51.100.1", 9))
        except OSError:
            return None
        found = asking.getsockname()[0]
        return None if found.startswith("127.") else found


def metrics_from_outside(test):
    """The answer to a request for the metrics that comes over an address that is not the loopback."""
    outside = outside_address()
    if outside is None:
        test.skipTest("this machine has no outside address")
    connection = RawConnection.to(socket.create_connection((outside, test.server.port), 10))
    test.addCleanup(connection.close)
    connection.send(f"GET /metrics HTTP/1.1\r\nHost: {outside}\r\n\r\n")
    return connection.answer()



class Loopback(ServiceCase):
    options = ("--origin", "https://named.example")

    def status(self, *fields, path="/v1/sessions/none"):
        connection = self.raw()
        connection.send(f"GET {path} HTTP/1.1\r\n" + "".join(f"{each}\r\n" for each in fields) + "Connection: close\r\n\r\n")
        return connection.answer()

    def test_it_warns_that_all_is_open_and_that_a_proxy_wants_a_key(self):
        warnings = [line for line in self.server.lines if line.startswith("warning: no key")]
        self.assertEqual(len(warnings), 1, self.server.lines)
        for word in ("open", "proxy", "--key"):
            self.assertIn(word, warnings[0])

    def test_the_page_says_that_a_proxy_wants_a_key(self):
        self.assertRegex(self.get("/").text, "behind a proxy it needs one")

    def test_a_loopback_host_is_served(self):
        port = self.server.port
        for host in ("localhost", f"localhost:{port}", "127.0.0.1", f"127.0.0.1:{port}", "[::1]", f"[::1]:{port}", "LOCALHOST", "1st.localhost",
                     "127.1.2.3"):
            with self.subTest(host):
                self.assertProblem(self.status(f"Host: {host}"), 404, "session-not-found")

    def test_another_host_is_403(self):
        for host in ("example.org", "localhost.evil.example", "127.0.0.1.nip.io", "10.0.0.1", "rebind.example:8080", "[::2]",
                     "localhos", "0.0.0.0"):
            with self.subTest(host):
                self.assertProblem(self.status(f"Host: {host}"), 403, "forbidden")

    def test_a_foreign_origin_is_403(self):
        for origin in ("https://evil.example", "null", "http://localhost.evil.example", "https://named.example.evil.example"):
            with self.subTest(origin):
                self.assertProblem(self.status("Host: localhost", f"Origin: {origin}"), 403, "forbidden")

    def test_a_named_origin_and_the_pages_own_are_served(self):
        own = f"http://127.0.0.1:{self.server.port}"
        self.assertProblem(self.status("Host: localhost", "Origin: https://named.example"), 404, "session-not-found")
        self.assertProblem(self.status(f"Host: {own[7:]}", f"Origin: {own}"), 404, "session-not-found")

    def test_what_came_through_a_proxy_is_403(self):
        for field in ("Forwarded: for=192.0.2.1", "X-Forwarded-For: 127.0.0.1", "Forwarded: for=127.0.0.1",
                      "X-Forwarded-For: ", "X-Forwarded-Proto: https", "X-Forwarded-Host: example.org",
                      "Via: 1.1 proxy", "X-Real-IP: 127.0.0.1", "CF-Connecting-IP: 192.0.2.1"):
            with self.subTest(field):
                self.assertProblem(self.status("Host: localhost", field), 403, "forbidden")

    def test_a_page_of_another_site_is_403_unless_its_origin_is_named(self):
        self.assertProblem(self.status("Host: localhost", "Sec-Fetch-Site: cross-site"), 403, "forbidden")
        self.assertProblem(self.status("Host: localhost", "Sec-Fetch-Site: same-origin"), 404, "session-not-found")
        named = self.status("Host: localhost", "Sec-Fetch-Site: cross-site", "Origin: https://named.example")
        self.assertProblem(named, 404, "session-not-found")

    def test_public_paths_stay_public(self):
        for path in ("/livez", "/readyz"):
            with self.subTest(path):
                self.assertStatus(self.status("Host: example.org", path=path), 200)
                self.assertStatus(self.status("Host: localhost", "X-Forwarded-For: 1.2.3.4", path=path), 200)

    def test_an_unknown_path_counts_as_protected(self):
        self.assertProblem(self.status("Host: example.org", path="/nothing"), 403, "forbidden")


class OffTheLoopback(ServiceCase):
    """On any other address one key is made and printed once at the start."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server(listen="0.0.0.0:0")
        cls.server.host = "127.0.0.1"
        cls.client = Client(cls.server)

    def test_nothing_is_open_by_accident(self):
        self.assertProblem(self.get("/v1/sessions/none"), 401, "unauthenticated")
        self.assertProblem(self.diff([], []), 401, "unauthenticated")
        self.assertProblem(self.get("/nothing"), 401, "unauthenticated")
        self.assertStatus(self.get("/livez"), 200)

    def test_metrics_need_a_key_whatever_the_request_says_of_itself(self):
        for header in ({"X-Forwarded-For": "192.0.2.1"}, {"Host": "example.org"}, {"Origin": "https://evil.example"}):
            with self.subTest(header):
                answer = self.client.request("GET", "/metrics", None, header)
                self.assertIn(answer.status, (401, 403), answer)

    def test_metrics_need_a_key_over_an_outside_address(self):
        self.assertProblem(metrics_from_outside(self), 401, "unauthenticated")

    def test_the_key_that_is_printed_opens(self):
        log = "\n".join(self.server.lines)
        keys = re.findall(r"dsk_[A-Za-z0-9_-]{20,}", log)
        self.assertEqual(len(keys), 1, log)
        bearer = f"Bearer {keys[0]}"
        self.assertStatus(self.diff([], [], None, Authorization=bearer), 200)
        self.assertProblem(self.get("/v1/sessions/none", Host="example.org", Authorization=bearer), 404, "session-not-found")
        self.assertProblem(self.get("/v1/sessions/none", X_Forwarded_For="192.0.2.1", Authorization=bearer), 404, "session-not-found")


class Open(ServiceCase):
    """--open: no authentication is required, on any address."""

    options = ("--open",)

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.options, listen="0.0.0.0:0")
        cls.server.host = "127.0.0.1"
        cls.client = Client(cls.server)

    def test_it_warns_and_makes_no_key(self):
        log = "\n".join(self.server.lines)
        self.assertRegex(log, "warning: --open")
        self.assertNotIn("dsk_", log)

    def test_whoever_comes_may_do_everything(self):
        for headers in ({}, {"Host": "public.example.com"}, {"X-Forwarded-For": "192.0.2.1", "Via": "1.1 proxy"},
                        {"Origin": "https://page.example", "Sec-Fetch-Site": "cross-site"},
                        {"Authorization": "Basic eDp5"}):
            with self.subTest(headers):
                made = self.client.request("PUT", "/v1/sessions/s", {"state": ["a"]}, headers)
                self.assertStatus(made, 200 if headers else 201)
                self.assertStatus(self.client.request("GET", "/v1/sessions/s", None, headers), 200)
                self.assertStatus(self.client.request("GET", "/metrics", None, headers), 200)
                self.assertStatus(self.client.request("POST", "/v1/diff", {"old": [], "new": []}, headers), 200)

    def test_over_an_outside_address_too(self):
        self.assertStatus(metrics_from_outside(self), 200)


class UnixSocket(ServiceCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = f"{cls.folder.name}/socket"
        cls.server = Server(listen=f"unix:{cls.path}")
        cls.client = Client(cls.server)

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.folder.cleanup()

    def connection(self):
        connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connected.settimeout(10)
        connected.connect(self.path)
        connection = RawConnection.to(connected)
        self.addCleanup(connection.close)
        return connection

    def test_all_is_open_on_a_unix_socket(self):
        connection = self.connection()
        connection.send("GET /v1/sessions/none HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertProblem(connection.answer(), 404, "session-not-found")

    def test_but_not_for_a_web_page_or_a_proxy(self):
        for field in ("Origin: https://evil.example", "X-Forwarded-For: 1.2.3.4", "Forwarded: for=x"):
            with self.subTest(field):
                connection = self.connection()
                connection.send(f"GET /v1/sessions/none HTTP/1.1\r\nHost: localhost\r\n{field}\r\n\r\n")
                self.assertProblem(connection.answer(), 403, "forbidden")
