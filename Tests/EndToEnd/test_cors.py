"""CORS is off until origins are named: CONTRACT §9."""

from http.client import parse_headers

from support.case import ServiceCase
from support.client import session_path

NAMED, OTHER = "https://app.example.org", "https://evil.example"
PREFLIGHT = {"Access_Control_Request_Method": "PUT", "Access_Control_Request_Headers": "authorization, if-match, content-type"}


def cross_origin(headers):
    return [name for name in headers.keys() if name.lower().startswith("access-control-")]


class Off(ServiceCase):
    def test_no_answer_names_an_origin(self):
        session, _ = self.made(["a"])
        for headers in ({}, {"Origin": OTHER}, {"Origin": OTHER, **PREFLIGHT}):
            for method in ("GET", "OPTIONS"):
                with self.subTest(method, headers=headers):
                    answer = self.request(method, session_path(session), None, None, **headers)
                    self.assertEqual(cross_origin(answer.headers), [])


    def test_the_client_may_be_loaded_from_everywhere_and_nothing_else(self):
        for path in ("/client.js", "/apply.js", "/bind.js", "/edits.js", "/updates.js", "/live-list.js"):
            answer = self.get(path, Origin=OTHER)
            self.assertEqual(answer.headers.get_all("Access-Control-Allow-Origin"), ["*"], path)
            self.assertEqual(self.get(path, Origin=OTHER, If_None_Match=answer.headers["ETag"]).headers["Access-Control-Allow-Origin"], "*")
        for path in ("/", "/playground/main.js", "/openapi.json", "/livez"):
            self.assertEqual(cross_origin(self.get(path, Origin=OTHER).headers), [], path)

    def test_the_log_names_a_refused_origin_once(self):
        session, _ = self.made(["a"])
        for _ in range(3):
            self.assertStatus(self.request("GET", session_path(session), None, None, Origin="https://page.example"), 403)
            self.request("OPTIONS", session_path(session), None, None, Origin="https://page.example", **PREFLIGHT)
        self.server.wait_for_line("^warning: a page of https://page.example was refused: allow it with --origin https://page.example$")
        for origin in ("null", "https://page.example\twarning:", "https://page.example/path", "x" * 100):
            self.request("GET", session_path(session), None, None, Origin=origin)
        self.request("GET", session_path(session), None, None, Origin="https://last.example")
        self.server.wait_for_line("a page of https://last.example was refused")
        self.assertEqual([line for line in self.server.lines if "page.example" in line and "--origin" in line], [
            "warning: a page of https://page.example was refused: allow it with --origin https://page.example"])


class On(ServiceCase):
    options = ("--origin", NAMED, "--origin", "http://localhost:5173")

    def preflight(self, origin, path="/v1/sessions/s"):
        return self.request("OPTIONS", path, None, None, Origin=origin, **PREFLIGHT)

    def test_a_preflight_of_a_named_origin_is_granted(self):
        for origin in (NAMED, "http://localhost:5173"):
            with self.subTest(origin):
                answer = self.preflight(origin)
                self.assertStatus(answer, 204)
                # Browsers refuse an answer that says it twice.
                self.assertEqual(answer.headers.get_all("Access-Control-Allow-Origin"), [origin])
                self.assertIn("PUT", answer.headers["Access-Control-Allow-Methods"])
                answer = self.request("OPTIONS", "/v1/sessions/s/items/i", None, None, Origin=origin, **PREFLIGHT)
                self.assertIn("PATCH", answer.headers["Access-Control-Allow-Methods"])
                allowed = answer.headers["Access-Control-Allow-Headers"].lower()
                for name in ("authorization", "if-match", "content-type", "idempotency-key", "last-event-id", "prefer",
                             "if-none-match", "x-request-id"):
                    self.assertIn(name, allowed)
                self.assertIn("origin", answer.headers["Vary"].lower())

    def test_a_private_network_is_allowed_to_whom_asks(self):
        asked = {**PREFLIGHT, "Access_Control_Request_Private_Network": "true"}
        for origin, headers, allowed in ((NAMED, asked, "true"), (NAMED, PREFLIGHT, None), ("https://other.example", asked, None)):
            with self.subTest(origin, headers=headers):
                answer = self.request("OPTIONS", "/v1/sessions/s", None, None, Origin=origin, **headers)
                self.assertEqual(answer.headers["Access-Control-Allow-Private-Network"], allowed)

    def test_a_file_of_the_client_says_once_who_may_load_it(self):
        for origin in (NAMED, OTHER):
            self.assertEqual(self.get("/client.js", Origin=origin).headers.get_all("Access-Control-Allow-Origin"), ["*"])

    def test_answers_to_a_named_origin_may_be_read(self):
        session = self.new_name()
        answer = self.post_changes(session, ["a"], Origin=NAMED)
        self.assertStatus(answer, 201)
        self.assertEqual(answer.headers["Access-Control-Allow-Origin"], NAMED)
        self.assertIn("origin", answer.headers["Vary"].lower())
        exposed = answer.headers["Access-Control-Expose-Headers"].lower()
        for name in ("etag", "location", "diffserver-expires", "retry-after", "preference-applied", "delta-base", "x-request-id"):
            self.assertIn(name, exposed)

    def test_problems_to_a_named_origin_may_be_read_too(self):
        for answer in (self.get("/v1/sessions/none", Origin=NAMED), self.get("/nothing", Origin=NAMED),
                       self.request("POST", "/v1/diff", "[", Origin=NAMED)):
            with self.subTest(answer.status):
                self.assertGreaterEqual(answer.status, 400)
                self.assertEqual(answer.headers["Access-Control-Allow-Origin"], NAMED)

    def test_an_event_stream_may_be_read(self):
        session, _ = self.made(["a"])
        connection = self.raw()
        connection.send(f"GET {session_path(session, 'changes')} HTTP/1.1\r\nHost: localhost\r\nOrigin: {NAMED}\r\n"
                        "Accept: text/event-stream\r\n\r\n")
        connection.file.readline()
        self.assertEqual(parse_headers(connection.file)["Access-Control-Allow-Origin"], NAMED)

    def test_another_origin_gets_nothing(self):
        session, _ = self.made(["a"])
        for origin in (OTHER, NAMED + ".evil.example", NAMED.replace("https", "http"), "null", NAMED + ":444", "*"):
            with self.subTest(origin):
                for answer in (self.preflight(origin), self.get_session(session, Origin=origin)):
                    self.assertNotIn("Access-Control-Allow-Origin", answer.headers)

    def test_credentials_are_never_allowed_by_cookie(self):
        self.assertNotIn("Access-Control-Allow-Credentials", self.preflight(NAMED).headers)

    def test_without_an_origin_nothing_is_said(self):
        session, _ = self.made(["a"])
        self.assertNotIn("Access-Control-Allow-Origin", self.get_session(session).headers)


class OnWithKeys(ServiceCase):
    """The preflight, which cannot carry credentials, comes before 401; and a page may read why it was refused."""

    options = ("--origin", NAMED, "--key", "k:" + "0" * 64)

    def test_a_preflight_needs_no_credentials(self):
        for path in ("/v1/sessions/s", "/v1/diff", "/v1/sessions/s/changes"):
            with self.subTest(path):
                answer = self.request("OPTIONS", path, None, None, Origin=NAMED, **PREFLIGHT)
                self.assertStatus(answer, 204)
                self.assertEqual(answer.headers["Access-Control-Allow-Origin"], NAMED)

    def test_a_401_may_be_read(self):
        # A session that is not there might be public.
        for path, allowed in (("/v1/sessions/s", "*"), ("/v1/sessions/s/settings", NAMED)):
            answer = self.get(path, Origin=NAMED)
            self.assertProblem(answer, 401, "unauthenticated")
            self.assertEqual(answer.headers["Access-Control-Allow-Origin"], allowed)
