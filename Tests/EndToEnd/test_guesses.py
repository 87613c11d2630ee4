"""Where a list seems to be: POST /v1/shape, and the shape in a refusal (CONTRACT §3, §7)."""

import json

from support.case import ServiceCase
from support.client import session_path
from support.tokens import SECRET, bearer, token
from test_tokens_and_keys import KEY, TEAM_KEY, hashed

MEMBERS = {"status": 200, "data": {"total": 2, "members": [{"userID": 7, "name": "Ada"}, {"userID": 8, "name": "Bob"}]}}
GROUPS = {"groups": [{"name": "a", "rows": [{"sku": "x", "n": 1}, {"sku": "y", "n": 1}]}, {"name": "b", "rows": [{"sku": "z", "n": 2}]}]}
RATES = {"base": "EUR", "rates": {"USD": 1.09, "JPY": 164.2}}
SHAPES = ((MEMBERS, {"itemsAt": "/data/members", "idAt": "/userID"}, 2, 1),
          (GROUPS, {"itemsAt": "/rows", "sectionsAt": "/groups", "sectionIdAt": "/name", "idAt": "/sku"}, 3, 2),
          (RATES, {"itemsAt": "/rates", "map": True}, 2, 1),
          ([{"_id": 1, "n": 1}, {"_id": 2, "n": 1}], {"itemsAt": "", "idAt": "/_id"}, 2, 1),
          ({"data": [{"type": "a", "id": 1}, {"type": "b", "id": 1}]}, {"itemsAt": "/data", "idAt": ["/type", "/id"]}, 2, 1),
          (["a", {"id": "b", "content": 1}], {}, 2, 1))
REPEATED = (["a", "b", "a"], {"itemsAt": "", "idBy": "match"}, 3, 1)


def query(shape):
    """A shape as parameters."""
    return {name: "true" if value is True else value for name, value in shape.items()}


class Shapes(ServiceCase):
    def guess(self, document, **headers):
        return self.request("POST", "/v1/shape", document, **headers)

    def test_the_best_comes_first_and_is_accepted(self):
        for document, shape, rows, sections in (*SHAPES, REPEATED):
            with self.subTest(document):
                answer = self.guess(document)
                self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "application/json"))
                self.assertEqual(set(answer.json), {"shapes"})
                self.assertEqual(answer.json["shapes"][0], {"shape": shape, "rows": rows, "sections": sections})
                self.assertLessEqual(len(answer.json["shapes"]), 5)
                for each in answer.json["shapes"]:
                    told = self.post_changes(self.new_name(), document, query(each["shape"]))
                    self.assertEqual(told.status, 201, told)
                    shown = told.json["state"]["sections"]
                    self.assertEqual((sum(len(section["items"]) for section in shown), len(shown)), (each["rows"], each["sections"]))

    def test_others_follow(self):
        document = {"users": [{"id": 1, "mail": "a", "age": 3}], "posts": [{"id": 1, "title": "B", "body": "b"}], "tags": ["x"]}
        shapes = self.guess(document).json["shapes"]
        self.assertEqual({each["shape"]["itemsAt"] for each in shapes}, {"/users", "/posts", "/tags"})

    def test_where_there_is_no_list_there_are_no_guesses(self):
        for document in ({"error": {"code": 404}}, {"data": []}, 1, '"text"', {"a": {"b": 1.5}}, {"op": "delete", "items": ["a"]}, [], {"total": 0, "items": []}):
            with self.subTest(document):
                self.assertEqual(self.guess(document).json, {"shapes": []})

    def test_nothing_is_stored(self):
        self.guess(MEMBERS)
        self.assertNotIn("data", json.dumps(self.get("/v1/sessions").json))

    def test_what_is_refused(self):
        for body, headers, status, problem in (
                ("[1,", {}, 400, "malformed-json"), ("", {}, 400, "malformed-json"), ('{"a":1,"a":2}', {}, 400, "malformed-json"),
                ("[" * 65 + "]" * 65, {}, 400, "malformed-json"), ("[]", {"Content_Type": "text/plain"}, 415, "unsupported-media-type"),
                ("{}", {"Content_Type": "application/merge-patch+json"}, 415, "unsupported-media-type"),
                ("[]", {"Accept": "text/html"}, 406, "not-acceptable")):
            with self.subTest(body[:20], **headers):
                answer = self.request("POST", "/v1/shape", body.encode(), **headers)
                self.assertEqual((answer.status, answer.json["type"]), (status, f"/problems/{problem}"), answer)
        answer = self.request("POST", "/v1/shape", [], {"idAt": "/id"})
        self.assertEqual((answer.status, answer.json["type"]), (400, "/problems/unknown-parameter"))
        answer = self.request("GET", "/v1/shape")
        self.assertEqual((answer.status, answer.headers["Allow"]), (405, "OPTIONS, POST"))

    def test_names_and_texts_of_any_kind(self):
        name = "a/b~c \"é\" 'x' &?#%"
        document = {name: [{"id": "x", "n": 1}, {"id": "y", "n": 2}]}
        pointer = "/" + name.replace("~", "~0").replace("/", "~1")
        self.assertEqual(self.guess(document).json["shapes"][0]["shape"], {"itemsAt": pointer, "idAt": "/id"})
        refused = self.post_changes(self.new_name(), document)
        # The query in the detail can be sent as it is.
        words = refused.json["detail"].rsplit("?", 1)[1]
        self.assertNotIn("'", words)
        answer = self.request("POST", f"/v1/sessions/{self.new_name()}/changes?{words}", document)
        self.assertEqual(answer.status, 201, (words, answer))
        # A pointer has bounds, and a longer one is no place.
        self.assertEqual(self.guess({"x" * 3000: [{"id": 1, "n": 1}]}).json, {"shapes": []})

    def test_a_long_document(self):
        rows = [{"key": f"k{at}", "title": "t", "at": at % 7} for at in range(20_000)]
        answer = self.guess({"found": {"rows": rows}})
        self.assertEqual([each["shape"] for each in answer.json["shapes"]],
                         [{"itemsAt": "/found/rows", "idAt": "/key"}, {"itemsAt": "/found/rows", "idBy": "match"}])
        self.assertEqual(answer.json["shapes"][0]["rows"], 20_000)

    def test_lines_of_a_log_repeat_sooner_or_later(self):
        lines, tags = ["10:00 the first service started", "10:01 the second one has started"], ["swift", "kotlin"]
        for texts, first, second in ((lines, {"idBy": "match"}, {"idAt": ""}), (tags, {"idAt": ""}, None)):
            shapes = [each["shape"] for each in self.guess({"found": texts}).json["shapes"]]
            self.assertEqual(shapes, [{"itemsAt": "/found", **each} for each in (first, second) if each])

    def test_what_is_unique_by_accident_is_no_id(self):
        weather = [{"city": "Bern", "temp": 3}, {"city": "Rome", "temp": 12}]
        self.assertEqual([each["shape"] for each in self.guess(weather).json["shapes"]],
                         [{"itemsAt": "", "idBy": "match"}, {"itemsAt": "", "idAt": "/city"}])
        refused = self.post_changes(self.new_name(), weather)
        # What may be one is told apart.
        self.assertEqual(refused.json["detail"].rsplit("; ", 1)[1], "the document looks like ?idBy=match, or, if these are ids, ?idAt=/city")


class Refusals(ServiceCase):
    def test_a_document_that_lacks_a_shape_is_told_one(self):
        for document, shape, _, _ in SHAPES[:-1]:
            session = self.new_name()
            for name, answer in (("changes", self.post_changes(session, document)),
                                 ("state", self.post_changes(session, {"state": document})),
                                 ("put", self.put_session(session, {"state": document})), ("diff", self.diff(document, document))):
                with self.subTest(document, name=name):
                    self.assertEqual((answer.status, answer.json["shape"]), (422, shape), answer)
                    self.assertIn("; the document looks like ?", answer.json["detail"])
            # The suggestion can be used.
            answer = self.put_session(session, {"state": document, "shape": shape})
            self.assertEqual(answer.status, 201, answer)
            self.assertEqual(self.post_changes(session, document).status, 200)
            self.assertEqual(self.diff(document, document, query(shape)).json["changes"], [])

    def test_the_words_are_a_query(self):
        answer = self.post_changes(self.new_name(), MEMBERS)
        self.assertEqual(answer.json["detail"].rsplit("; ", 1)[1], "the document looks like ?itemsAt=/data/members&idAt=/userID")
        answer = self.post_changes(self.new_name(), [{"userID": 1, "n": 1}, {"userID": 2, "n": 1}])
        self.assertEqual(answer.json["detail"].rsplit("; ", 1)[1], "the document looks like ?idAt=/userID")
        answer = self.post_changes(self.new_name(), RATES)
        self.assertEqual(answer.json["detail"].rsplit("; ", 1)[1], "the document looks like ?itemsAt=/rates&map=true")

    def test_it_is_told_only_where_it_would_have_helped(self):
        session, _ = self.made(MEMBERS, query={"itemsAt": "/data/members", "idAt": "/userID"})
        kept = self.new_name()
        self.put_session(kept, {"state": MEMBERS, "shape": {"itemsAt": "/data/members", "idAt": "/userID"}})
        for name, answer in (
                ("edits", self.post_changes(session, {"edits": [{"op": "insert", "items": [{"id": 1, "x": 1}]}]})),
                ("edits and more", self.post_changes(session, {"edits": [{"id": 1, "x": 1}, {"id": 2, "x": 1}], "rows": []})),
                ("repeated ids", self.post_changes(session, ["a", "a"])),
                ("repeated ids, with content", self.post_changes(session, [{"id": "a", "content": 1}, {"id": "a"}])),
                ("a shape of the session's", self.post_changes(kept, {"data": {"rows": [{"userID": 1, "n": 1}]}})),
                ("a wrong setting", self.put_session(session, {"state": {"sections": [{"id": "s", "items": [{"id": 1}]}]}, "tll": 5})),
                ("a wrong value", self.post_changes(session, [{"id": 1, "kind": 5}, {"id": 2}])),
                ("two states", self.post_changes(session, {"state": [{"id": 1}], "sections": []})),
                ("states and more", self.request("POST", "/v1/diff", b'{"old":[{"id":1}],"new":[{"id":1}],"extra":1}')),
                ("no list", self.post_changes(session, {"error": "none"})), ("no envelope", self.put_session(session, MEMBERS)),
                ("one without a list", self.diff(MEMBERS, {"error": "none"})), ("one that is native", self.diff([], MEMBERS)),
                ("no JSON", self.request("POST", session_path(session, "changes"), b'{"data":[{"id":1,"n":1}')),
                ("a condition", self.post_changes(session, MEMBERS, {"itemsAt": "/data/members", "idAt": "/userID"}, If_Match='"9-0000000000000000"'))):
            with self.subTest(name):
                self.assertGreaterEqual(answer.status, 400)
                self.assertNotIn("shape", answer.json)
                self.assertNotIn("looks like", answer.json["detail"])

    def test_also_where_the_session_keeps_a_shape_that_has_found_nothing(self):
        session = self.new_name()
        self.assertStatus(self.put_session(session, {"shape": {"itemsAt": "/data/users", "idAt": "/userID", "kindAt": "/role"}}), 201)
        refused = self.post_changes(session, MEMBERS)
        self.assertEqual((refused.status, refused.json["shape"]),
                         (422, {"itemsAt": "/data/members", "idAt": "/userID", "kindAt": "/role"}), refused)
        # The suggestion can be used; and once there are rows, the shape was right.
        self.assertStatus(self.post_changes(session, MEMBERS, refused.json["shape"]), 200)
        self.assertNotIn("shape", self.post_changes(session, MEMBERS).json)

    def test_a_long_one_too(self):
        document = {"rows": [{"key": f"k{at}", "title": "t" * 20} for at in range(20_000)]}
        answer = self.post_changes(self.new_name(), document)
        self.assertEqual((answer.status, answer.json["shape"]), (422, {"itemsAt": "/rows", "idAt": "/key"}))
        self.assertEqual(self.get("/livez").status, 200)


class Limits(ServiceCase):
    options = ("--max-items", "3", "--max-body", "2000")

    def test_a_list_beyond_the_limit_is_said_to_be(self):
        rows = [{"id": at, "n": 1} for at in range(4)]
        for document in (rows, {"data": rows}):
            answer = self.request("POST", "/v1/shape", document)
            self.assertEqual((answer.status, answer.json["type"], answer.json["limit"]), (422, "/problems/limit-exceeded", 3))
            self.assertNotIn("shape", self.post_changes(self.new_name(), document).json)
        self.assertEqual(self.request("POST", "/v1/shape", {"data": rows[:3]}).json["shapes"][0]["rows"], 3)

    def test_a_body_beyond_the_limit(self):
        answer = self.request("POST", "/v1/shape", b'"' + b"x" * 2000 + b'"')
        self.assertEqual((answer.status, answer.json["type"]), (413, "/problems/content-too-large"))


class Rights(ServiceCase):
    options = ("--key", f"writer:{hashed(KEY)}", "--key", f"team:{hashed(TEAM_KEY)}:team-a:", "--token-secret", SECRET)

    def test_a_key_may_ask_and_nobody_else(self):
        for given, status in ((None, 401), ("wrong", 401), (KEY, 200), (TEAM_KEY, 200), (token("s", "read edit"), 403)):
            with self.subTest(given):
                answer = self.request("POST", "/v1/shape", MEMBERS, Authorization=given and f"Bearer {given}")
                self.assertEqual(answer.status, status, answer)

    def test_a_token_is_told_nothing_of_a_state_that_it_may_not_send(self):
        self.request("POST", session_path("s", "changes"), ["a"], Authorization=f"Bearer {KEY}")
        answer = self.request("POST", session_path("s", "changes"), MEMBERS, **bearer(token("s", "read edit")))
        self.assertEqual(answer.status, 422)
        self.assertNotIn("shape", answer.json)
