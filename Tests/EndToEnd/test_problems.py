"""Every problem type, its page, and the order of checks: CONTRACT §7."""

import json
import re

from support.case import ServiceCase
from support.client import session_path

TYPES = {
    400: ["malformed-request", "malformed-json", "malformed-revision", "unknown-parameter"],
    401: ["unauthenticated"], 403: ["forbidden"],
    404: ["session-not-found", "item-not-found", "section-not-found", "route-not-found"],
    405: ["method-not-allowed"], 406: ["not-acceptable"], 408: ["request-timeout"], 410: ["revision-gone"],
    412: ["revision-mismatch", "session-exists"], 413: ["content-too-large"], 414: ["uri-too-long"],
    415: ["unsupported-media-type", "unsupported-encoding"], 417: ["expectation-failed"],
    422: ["invalid-state", "invalid-edit", "wrong-shape", "limit-exceeded", "idempotency-key-reused"],
    428: ["precondition-required"], 429: ["too-many-requests", "too-many-streams"], 431: ["headers-too-large"],
    500: ["internal"], 501: ["unsupported-transfer-coding"], 505: ["http-version-not-supported"],
    503: ["draining", "capacity", "store-unavailable"],
}

ENDPOINTS = {
    "/v1/diff": {"POST"},
    "/v1/sessions/s": {"GET", "HEAD", "PUT", "DELETE"},
    "/v1/sessions/s/changes": {"GET", "HEAD", "POST"},
    "/v1/sessions/s/items": {"GET", "HEAD"},
    "/v1/sessions/s/items/i": {"GET", "HEAD", "PATCH"},
    "/v1/sessions/s/sections": {"GET", "HEAD"},
    "/v1/sessions/s/sections/i": {"GET", "HEAD", "PATCH"}, "/v1/sessions/s/sections/i/changes": {"POST"},
    "/v1/sessions/s/tokens": {"DELETE", "POST"},
    "/v1/sessions": {"GET", "HEAD"},
    "/v1/tokens": {"POST"},
    "/livez": {"GET", "HEAD"}, "/readyz": {"GET", "HEAD"}, "/metrics": {"GET", "HEAD"}, "/debug/hot": {"GET", "HEAD"},
    "/openapi.json": {"GET", "HEAD"}, "/": {"GET", "HEAD"}, "/client.js": {"GET", "HEAD"}, "/edits.js": {"GET", "HEAD"},
    "/apply.js": {"GET", "HEAD"}, "/bind.js": {"GET", "HEAD"}, "/updates.js": {"GET", "HEAD"},
    "/problems/internal": {"GET", "HEAD"}, "/page": {"GET", "HEAD"}, "/playground/main.js": {"GET", "HEAD"},
}


class Pages(ServiceCase):
    def test_each_type_answers_with_its_page(self):
        for status, names in TYPES.items():
            for name in names:
                with self.subTest(name):
                    answer = self.get(f"/problems/{name}")
                    self.assertStatus(answer, 200)
                    self.assertIn(name, answer.text)
                    self.assertIn(str(status), answer.text)

    def test_another_name_is_404(self):
        for path in ("/problems/nothing", "/problems/", "/problems/internal/more", "/playground/nothing.js", "/playground/"):
            with self.subTest(path):
                self.assertProblem(self.get(path), 404, "route-not-found")

    def test_the_instance_is_the_path_of_the_request(self):
        self.assertEqual(self.get("/v1/sessions/none?x=1").json["instance"].split("?")[0], "/v1/sessions/none")


class Routes(ServiceCase):
    def test_options_answers_204_with_allow(self):
        for path, methods in ENDPOINTS.items():
            with self.subTest(path):
                answer = self.request("OPTIONS", path)
                self.assertEqual((answer.status, answer.body), (204, b""), answer)
                allowed = set(re.split(r",\s*", answer.headers["Allow"]))
                self.assertEqual(allowed, methods | {"OPTIONS"})

    def test_another_method_is_405_with_allow(self):
        for path, methods in ENDPOINTS.items():
            for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"} - methods:
                with self.subTest(path, method=method):
                    answer = self.request(method, path)
                    self.assertProblem(answer, 405, "method-not-allowed")
                    self.assertEqual(set(re.split(r",\s*", answer.headers["Allow"])), methods | {"OPTIONS"})

    def test_an_unknown_path_is_404(self):
        for path in ("/v1", "/v1/", "/v2/diff", "/v1/diff/", "/v1/sessions/", "/v1/sessions/s/", "/v1/sessions/s/other",
                     "/v1/sessions/s/changes/1", "/livez/", "//livez", "/V1/diff", "/v1/sessions/s/items/i/x", "/favicon"):
            for method in ("GET", "POST"):
                with self.subTest(path, method=method):
                    self.assertProblem(self.request(method, path), 404, "route-not-found")

    def test_the_operational_pages_answer(self):
        expected = {"/livez": None, "/readyz": None, "/metrics": "text/plain", "/openapi.json": "application/json",
                    "/": "text/html", "/client.js": "text/javascript", "/playground/main.js": "text/javascript"}
        for path, kind in expected.items():
            with self.subTest(path):
                answer = self.get(path)
                self.assertStatus(answer, 200)
                if kind:
                    self.assertEqual(answer.media_type, kind)

    def test_the_description_is_openapi_3_1_with_every_path(self):
        answer = self.get("/openapi.json")
        self.assertStatus(answer, 200)
        description = answer.json
        self.assertTrue(description["openapi"].startswith("3.1"))
        paths = {re.sub(r"\{[^}]*\}", "x", path) for path in description["paths"]}
        for path in ENDPOINTS:
            plain = re.sub(r"sessions/s", "sessions/x", path).replace("/i", "/x") if "/sessions" in path else path
            plain = plain.replace("/xtems", "/items").replace("/problems/internal", "/problems/x")
            plain = plain.replace("/playground/main.js", "/playground/x")
            if path not in ("/", "/client.js"):
                self.assertIn(plain, paths)

    def test_each_parameter_that_is_known_is_described(self):
        description = self.get("/openapi.json").json
        parameters = description["components"]["parameters"]

        def named(operation):
            found = [parameters[each["$ref"].split("/")[-1]] if "$ref" in each else each for each in operation.get("parameters", [])]
            return {each["name"] for each in found if each["in"] == "query"}

        tried = 0
        for path, operations in description["paths"].items():
            for method in {"get", "post", "put", "patch", "delete"} & set(operations):
                asked = re.sub(r"\{[^}]*\}", "x", path) + "?not-a-parameter=1"
                answer = self.request(method.upper(), asked, b"[]" if method.startswith("p") else None)
                known = re.search(r"known parameters: (.*)", answer.json["detail"]) if answer.status == 400 else None
                if known:
                    tried += 1
                    with self.subTest(path, method=method):
                        self.assertEqual(set(known[1].split(", ")), named(operations) | named(operations[method]))
        self.assertGreater(tried, 15)

    def test_metrics_count_without_naming_sessions(self):
        self.post_changes("a-very-private-name", ["a"])
        self.get_changes("a-very-private-name", {"since": ""})
        metrics = self.get("/metrics")
        self.assertStatus(metrics, 200)
        self.assertNotIn("a-very-private-name", metrics.text)
        for line in metrics.text.splitlines():
            self.assertRegex(line, r'^(# (HELP|TYPE) [a-z_:0-9]+ .+|[a-z_:0-9]+(\{.*\})? [-+0-9.eInfNa]+|)$')
        typed = re.findall(r"^# TYPE (\S+)", metrics.text, re.M)
        self.assertEqual(len(typed), len(set(typed)))
        for word in ("request", "session", "connection", "evict", "commit", "reset", "stream", "operation", "bytes"):
            self.assertTrue(any(word in name for name in typed), f"nothing about {word} in {typed}")


class Queries(ServiceCase):
    SHAPE = ["idAt", "itemsAt", "sectionsAt", "sectionIdAt", "kindAt", "childrenAt", "expandedAt", "map", "rest", "duplicates", "shape"]
    SIGHT = ["view", "at", "around", "before", "after"]
    KNOWN = {
        ("POST", "/v1/diff"): ["dialect", "staging", "content", "maxChanges", "view", *SHAPE],
        ("PUT", "/v1/sessions/{}"): SHAPE,
        ("GET", "/v1/sessions/{}"): ["view"],
        ("DELETE", "/v1/sessions/{}"): [],
        ("POST", "/v1/sessions/{}/changes"): ["since", "dialect", "staging", "content", "maxChanges", *SHAPE, *SIGHT],
        ("GET", "/v1/sessions/{}/changes"): ["since", "wait", "dialect", "staging", "content", "maxChanges", *SIGHT],
        ("GET", "/v1/sessions/{}/items"): ["at", "id", "revision", "view"],
        ("GET", "/v1/sessions/{}/items/a"): ["revision", "view"],
        ("POST", "/v1/sessions/{}/tokens"): [],
        ("DELETE", "/v1/sessions/{}/tokens"): [],
        ("POST", "/v1/tokens"): [],
        ("GET", "/v1/sessions"): ["prefix", "after", "limit"],
        ("GET", "/v1/sessions/{}/sections"): ["at", "id", "revision", "view"],
        ("GET", "/v1/sessions/{}/sections/main"): ["revision", "view"],
    }
    GOOD = {"dialect": "keyed", "staging": "safe", "content": "full", "maxChanges": "5", "idAt": "/id", "itemsAt": "",
            "sectionsAt": "/items", "sectionIdAt": "/id", "kindAt": "/kind", "childrenAt": "/items", "expandedAt": "/expanded",
            "map": "true", "rest": "true", "duplicates": "first", "shape": "native", "since": "", "wait": "0", "at": "0,0", "id": "a", "revision": None,
            "prefix": "a", "after": "a", "limit": "10", "view": '{"limit":1}', "around": "a", "before": "1"}

    def test_an_unknown_parameter_is_named(self):
        session, _ = self.made(["a"])
        for (method, path), known in self.KNOWN.items():
            unknown = {"sinse", "Since", *self.GOOD} - set(known)
            if "items" in path or "/sections" in path:
                unknown -= {"at", "id"}
            for name in unknown:
                with self.subTest(method, path=path, name=name):
                    problem = self.assertProblem(self.request(method, path.format(session), None, {name: "1"}),
                                                 400, "unknown-parameter")
                    self.assertIn(name, problem["detail"])

    def test_pages_and_probes_ignore_the_query(self):
        for path in ("/livez", "/readyz", "/", "/client.js", "/openapi.json", "/problems/internal"):
            with self.subTest(path):
                self.assertStatus(self.client.request("GET", path + "?x=1&x=2"), 200)

    def test_a_parameter_given_twice_is_400(self):
        session, revision = self.made(["a"])
        for (method, path), known in self.KNOWN.items():
            for name in known:
                if name in ("at", "id", "idAt"):
                    continue
                with self.subTest(method, path=path, name=name):
                    value = self.GOOD[name] if name != "revision" else revision
                    answer = self.request(method, path.format(session), None, {name: [value, value]})
                    self.assertProblem(answer, 400, "malformed-request")

    def test_a_bad_value_is_400(self):
        session, _ = self.made(["a"])
        bad = {"maxChanges": ["", "-1", "x", "1.5"], "wait": ["", "-1", "x", "1h"], "dialect": ["x"],
               "staging": ["x"], "content": ["x"]}
        for (method, path), known in self.KNOWN.items():
            for name in set(known) & set(bad):
                for value in bad[name]:
                    with self.subTest(method, path=path, name=name, value=value):
                        answer = self.request(method, path.format(session), None, {name: value})
                        self.assertProblem(answer, 400, "malformed-request")

    def test_escapes_that_are_none_are_400(self):
        session, _ = self.made(["a"])
        for query in ("since=%", "since=%zz", "since=%ff", "%zz=1"):
            with self.subTest(query):
                answer = self.get(session_path(session, "changes"), query)
                self.assertEqual(answer.status, 400, answer)


class JSONBodies(ServiceCase):
    CASES = {
        "": 0, "[": 1, "[1,]": 3, "{\"a\":1,}": 7, "nul": None, "[01]": None, "[1.]": None, "[+1]": 1, "['a']": 1,
        "[\"a\nb\"]": 3, "[\"\\x\"]": None, "[\"\\ud800\"]": None, "[\"\\udc00\\ud800\"]": None, "{\"a\":1,\"a\":2}": None,
        "{\"a\":1,\"\\u0061\":2}": None, "[] []": 3, "[1] x": 4, "{\"a\" 1}": 5, "{a:1}": 1, "[NaN]": 1, "[1e]": None,
        "// c\n[]": 0,
    }

    def test_json_that_is_none_is_400_with_the_byte_offset(self):
        for body, offset in self.CASES.items():
            with self.subTest(body):
                for method, path in (("POST", "/v1/diff"), ("PUT", "/v1/sessions/json"), ("POST", "/v1/sessions/json/changes")):
                    answer = self.request(method, path, body.encode("utf-8"))
                    problem = self.assertProblem(answer, 400, "malformed-json")
                    self.assertIsInstance(problem.get("offset"), int, answer)
                    if offset is not None:
                        self.assertEqual(problem["offset"], offset, answer)

    def test_invalid_utf_8_is_400(self):
        for octets in (b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xe2\x82", b"\x80"):
            with self.subTest(octets):
                answer = self.post_changes("utf8", b'["' + octets + b'"]')
                self.assertEqual(self.assertProblem(answer, 400, "malformed-json")["offset"], 2)

    def test_an_offset_counts_bytes(self):
        answer = self.post_changes("utf8", '["\u00e9\u00e9",]')
        self.assertEqual(self.assertProblem(answer, 400, "malformed-json")["offset"], 8)

    def test_diffs_of_another_shape_are_wrong(self):
        for body in ({}, {"old": []}, {"new": []}, [], {"old": [], "new": [], "more": 1}, "1"):
            with self.subTest(body):
                self.assertProblem(self.request("POST", "/v1/diff", body), 422, "wrong-shape")

    def test_errors_in_a_diff_say_in_which_state(self):
        answer = self.diff(["a", "a"], [{"id": "b", "x": 1}])
        problem = self.assertProblem(answer, 422, "invalid-state")
        self.assertTrue(all(re.match("/(old|new)/", each["pointer"]) for each in problem["errors"]), problem)


class Order(ServiceCase):
    """Each request breaks several rules; the first in the contract's order decides."""

    options = ("--max-body", "2000")

    def test_the_earlier_check_answers(self):
        session, revision = self.made(["a"])
        changes = session_path(session, "changes")
        big = b"[" + b" " * 3000
        none = {"Accept": "text/html"}
        cases = [
            ("404 before 405", "PUT", "/nothing?x=1", None, {}, 404, "route-not-found"),
            ("405 before query", "PATCH", f"{changes}?sinse=1", None, none, 405, "method-not-allowed"),
            ("query before Accept", "POST", f"{changes}?sinse=1", "[", none, 400, "unknown-parameter"),
            ("Accept before type", "POST", changes, "[", {**none, "Content-Type": "text/plain"}, 406, "not-acceptable"),
            ("type before size", "POST", changes, big, {"Content-Type": "text/plain"}, 415, "unsupported-media-type"),
            ("encoding before size", "POST", changes, big, {"Content-Encoding": "br"}, 415, "unsupported-encoding"),
            ("size before JSON", "POST", changes, big, {"If-Match": '"x"'}, 413, "content-too-large"),
            ("type before the key", "POST", changes, "[", {"Content-Type": "text/plain", "Idempotency-Key": "k" * 256},
             415, "unsupported-media-type"),
            ("size before the key", "POST", changes, big, {"Idempotency-Key": "k" * 256}, 413, "content-too-large"),
            ("JSON before shape", "POST", changes, '{"x":1', {"If-Match": '"x"'}, 400, "malformed-json"),
            ("shape before session", "POST", "/v1/sessions/none/changes", '{"edits":1,"state":2}', {}, 422, "wrong-shape"),
            ("shape before preconditions", "POST", changes, '{"x":1}', {"If-Match": '"x"'}, 422, "wrong-shape"),
            ("session before preconditions", "POST", "/v1/sessions/none/changes", '{"edits":[{"op":"clear"}]}', {},
             404, "session-not-found"),
            ("preconditions before rules", "POST", changes, '{"edits":[{"op":"move","items":["zzz"]}]}', {"If-Match": '"x"'},
             412, "revision-mismatch"),
            ("rules of the state at last", "POST", changes, '{"edits":[{"op":"move","items":["zzz"]}]}',
             {"If-Match": f'"{revision}"'}, 422, "invalid-edit"),
            ("the state's own shape before preconditions", "POST", changes, '["a","a"]', {"If-Match": '"x"'}, 422, "invalid-state"),
            ("Accept before the session", "GET", "/v1/sessions/none", None, none, 406, "not-acceptable"),
            ("type before the session", "POST", "/v1/sessions/none/changes", '{"edits":[]}', {"Content-Type": "text/plain"},
             415, "unsupported-media-type"),
            ("size before the session", "POST", "/v1/sessions/none/changes", big, {}, 413, "content-too-large"),
            ("JSON before the session", "POST", "/v1/sessions/none/changes", '{"edits":[', {}, 400, "malformed-json"),
            ("Accept before the item", "GET", f"/v1/sessions/{session}/items/none", None, none, 406, "not-acceptable"),
            ("query before the session", "GET", "/v1/sessions/none/changes?since=x", None, {}, 400, "malformed-revision"),
        ]
        for name, method, path, body, headers, status, problem in cases:
            with self.subTest(name):
                answer = self.client.request(method, path, body, headers)
                self.assertProblem(answer, status, problem)
        self.assertEqual(self.get_session(session).json["revision"], revision)

    def test_all_of_the_query_comes_before_accept_and_the_session(self):
        cases = [(method, "/v1/sessions/none" + path) for method, path in (
            ("POST", "/changes?view=1"), ("POST", "/changes?at=x"), ("POST", "/changes?at=1&before=1001"), ("POST", "/changes?reload=2"),
            ("POST", "/changes?itemsAt=x"), ("GET", "/changes?wait=x"), ("GET", "/changes?every=61"), ("GET", "/changes?around=a&after=x"),
            ("PUT", "?idAt=x"), ("GET", "?view=1"), ("GET", "/items/a?view=1"), ("GET", "/items"), ("GET", "/items?at=1"),
            ("GET", "/sections?id=a&at=x"))]
        cases += [("POST", "/v1/diff?view=1"), ("GET", "/v1/changes"), ("GET", "/v1/changes?session=a&every=x"), ("GET", "/v1/sessions?limit=0")]
        for method, path in cases:
            for headers in ({"Accept": "text/html"}, {}):
                with self.subTest(f"{method} {path}", **headers):
                    answer = self.client.request(method, path, "[" if method != "GET" else None, headers)
                    self.assertProblem(answer, 400, "malformed-request")

    def test_a_replay_by_key_comes_before_preconditions(self):
        session, revision = self.made(["a"])
        self.post_changes(session, ["b"], Idempotency_Key="k", If_Match=f'"{revision}"')
        self.wrote(session, ["c"])
        self.assertStatus(self.post_changes(session, ["b"], Idempotency_Key="k", If_Match=f'"{revision}"'), 200)
        answer = self.post_changes(session, ["d"], Idempotency_Key="k", If_Match=f'"{revision}"')
        self.assertProblem(answer, 422, "idempotency-key-reused")

    def test_100_continue_comes_after_the_cheap_checks(self):
        session, _ = self.made(["a"])
        connection = self.raw()
        head = f"POST {session_path(session, 'changes')} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
        connection.send(f"{head}Content-Type: application/json\r\nContent-Length: 5\r\n\r\n")
        self.assertEqual(connection.answer().status, 100)
        connection.send('["b"]')
        self.assertStatus(connection.answer(), 200)
        for more, status in (("Content-Type: text/plain\r\nContent-Length: 5\r\n", 415), ("Content-Length: 2001\r\n", 413)):
            with self.subTest(status):
                connection = self.raw()
                connection.send(f"{head}{more}\r\n")
                self.assertStatus(connection.answer(), status)

    def test_another_expectation_is_417(self):
        connection = self.raw()
        connection.send("POST /v1/diff HTTP/1.1\r\nHost: localhost\r\nExpect: wonders\r\nContent-Length: 2\r\n\r\n")
        self.assertProblem(connection.answer(), 417, "expectation-failed")


class Framing(ServiceCase):
    def refused(self, request, status, name):
        connection = self.raw()
        connection.send(request)
        answer = connection.answer()
        problem = json.loads(answer.body)
        self.assertEqual((answer.status, problem["type"]), (status, f"/problems/{name}"), answer)
        # The target is named if the request line was good.
        line = re.match(r"[A-Z]+ (\S+) HTTP/1", request)
        self.assertEqual(problem.get("instance"), line and line[1], answer)
        self.assertTrue(connection.is_closed())

    def test_requests_whose_framing_is_broken_are_answered_and_closed(self):
        get, post = "GET /livez HTTP/1.1\r\n", "POST /v1/diff HTTP/1.1\r\nHost: localhost\r\n"
        cases = {
            "no host": (f"{get}\r\n", 400, "malformed-request"),
            "two hosts": (f"{get}Host: localhost\r\nHost: localhost\r\n\r\n", 400, "malformed-request"),
            "a space before the colon": (f"{get}Host : localhost\r\n\r\n", 400, "malformed-request"),
            "no request": ("nonsense\r\n\r\n", 400, "malformed-request"),
            "both framings": (f"{post}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "malformed-request"),
            "two lengths": (f"{post}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}", 400, "malformed-request"),
            "a length that is none": (f"{post}Content-Length: +2\r\n\r\n{{}}", 400, "malformed-request"),
            "a bad chunk": (f"{post}Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400, "malformed-request"),
            "too many fields": (f"{get}Host: localhost\r\n" + "X: y\r\n" * 200 + "\r\n", 431, "headers-too-large"),
            "another coding": (f"{post}Transfer-Encoding: gzip, chunked\r\n\r\n", 501, "unsupported-transfer-coding"),
            "another version": ("GET /livez HTTP/2.0\r\nHost: localhost\r\n\r\n", 505, "http-version-not-supported"),
        }
        for name, (request, status, problem) in cases.items():
            with self.subTest(name):
                self.refused(request, status, problem)

    def test_a_chunked_body_is_taken(self):
        connection = self.raw()
        connection.send("POST /v1/diff HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                        '8\r\n{"old":[\r\nb;x=1\r\n],"new":["a\r\n3\r\n"]}\r\n0\r\nTrailer: x\r\n\r\n')
        self.assertStatus(connection.answer(), 200)

    def test_pipelined_requests_are_answered_in_order(self):
        connection = self.raw()
        connection.send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\nGET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"
                        "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        self.assertEqual([connection.answer().status for _ in range(3)], [200, 404, 200])
        self.assertTrue(connection.is_closed())

    def test_a_problem_keeps_the_connection(self):
        connection = self.raw()
        for body in ("[", "[]", '{"old":[],"new":[]}'):
            connection.send(f"POST /v1/diff HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n{body}")
        self.assertEqual([connection.answer().status for _ in range(3)], [400, 422, 200])
