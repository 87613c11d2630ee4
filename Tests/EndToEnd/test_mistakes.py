"""Mistakes that people make at first: each is refused, and told with the way to mend it (CONTRACT §3, §7)."""

import json

from support.case import ServiceCase
from support.client import session_path

# Name, query, body, type, what the detail must say, and the shape that is suggested. The session has milk, tea and jam.
EDITS = [
    ("an edit without its envelope", "", {"op": "delete", "items": ["tea"]}, "wrong-shape", ["an edit", '{"edits":[…]}'], None),
    ("an edit of sections without its envelope", "", {"op": "delete", "sections": ["main"]}, "wrong-shape", ['{"edits":[…]}'], None),
    ("an edit without its envelope, for a shape", "?itemsAt=/list", {"op": "delete", "items": ["tea"]}, "invalid-state", ["no items at"], None),
    ("an array of edits", "", [{"op": "delete", "items": ["tea"]}], "invalid-state", ['{"edits":[…]}'], None),
    ("edits under another name", "", {"edit": [{"op": "delete", "items": ["tea"]}]}, "wrong-shape", ['did you mean "edits"?'], None),
    ("edits below another name", "", {"data": {"edits": [{"op": "insert", "items": ["x", "y"]}]}}, "wrong-shape", ['{"edits":[…]}'], None),
    ("a JSON Patch", "", [{"op": "replace", "path": "/0", "value": 1}, {"op": "remove", "path": "/1"}], "invalid-state", ['{"edits":[…]}'], None),
    ("settings alone", "", {"ttl": 60, "ignore": ["/ts"]}, "wrong-shape", ['"state"'], None),
    *((f"an edit in other words, {number}", "", body, "wrong-shape", ['{"edits":[…]}'], None) for number, body in enumerate((
        {"action": "delete", "items": ["tea"]}, {"Op": "delete", "items": ["tea"]}, {"op ": "delete", "items": ["tea"]},
        {"operation": "move", "items": ["tea", "jam"]}, {"type": "update", "items": [{"id": "tea", "content": 1}]},
        {"delete": ["tea"]}, {"remove": {"items": ["tea", "jam"]}}, {"insert": [{"id": "x", "title": "t"}, {"id": "y", "title": "u"}]},
        {"update": [{"id": "tea", "content": 1}]}, {"mutations": [{"delete": ["tea"]}]},
        {"commands": [{"action": "delete", "id": "tea"}, {"action": "delete", "id": "jam"}]}, {"edit": "delete", "ids": ["tea"]}))),
    ("edits of other words in an array", "", [{"action": "delete", "id": "tea"}, {"action": "delete", "id": "jam"}], "invalid-state",
     ['{"edits":[…]}'], None),
    ("one edit in place of an array", "", {"edits": {"op": "clear"}}, "invalid-edit", ["must be an array", "[{…}]"], None),
    ("edits encoded twice", "", {"edits": json.dumps([{"op": "clear"}])}, "invalid-edit", ["encoded twice"], None),
    ("remove", "", {"edits": [{"op": "remove", "items": ["tea"]}]}, "invalid-edit", ["did you mean delete?"], None),
    ("add", "", {"edits": [{"op": "add", "items": ["x"]}]}, "invalid-edit", ["did you mean insert?"], None),
    ("replace", "", {"edits": [{"op": "replace", "items": []}]}, "invalid-edit", ["did you mean update?"], None),
    ("a misspelt op", "", {"edits": [{"op": "delte", "items": ["tea"]}]}, "invalid-edit", ["did you mean delete?"], None),
    ("item for items", "", {"edits": [{"op": "delete", "item": ["tea"]}]}, "invalid-edit", ['did you mean "items"?'], None),
    ("an id for items", "", {"edits": [{"op": "delete", "id": "tea"}]}, "invalid-edit", ['"items":['], None),
    ("objects for ids", "", {"edits": [{"op": "delete", "items": [{"id": "tea"}]}]}, "invalid-edit", ["write the id alone"], None),
    ("an index for a place", "", {"edits": [{"op": "insert", "items": ["x"], "index": 0}]}, "invalid-edit", ["before, after, into, at"], None),
    ("a field beside the id", "", {"edits": [{"op": "update", "items": [{"id": "tea", "title": "x"}]}]}, "invalid-edit", ["put it into content"], None),
    ("a content beside op", "", {"edits": [{"op": "update", "items": ["tea"], "content": 1}]}, "invalid-edit", ["an element of \"items\""], None),
    ("a row that is not there", "", {"edits": [{"op": "move", "items": ["tee"], "at": "start"}]}, "invalid-edit", ['the id "tee"'], None),
]

TEAMS = {"teams": [{"name": "red", "people": [{"login": "ann", "age": 3}, {"login": "bea", "age": 3}]},
                   {"name": "blue", "people": [{"login": "cy", "age": 3}, {"login": "di", "age": 4}]}]}

STATES = [
    ("a misspelt idAt", "?idAt=/numer", [{"number": 1, "t": "a"}, {"number": 2, "t": "a"}], "invalid-state",
     ['no id at "/numer"', "?idAt=/number"], {"itemsAt": "", "idAt": "/number"}),
    ("a misspelt itemsAt", "?itemsAt=/dta", {"data": [{"id": 1}, {"id": 2}]}, "invalid-state",
     ['no items at "/dta"', "?itemsAt=/data&idAt=/id"], {"itemsAt": "/data", "idAt": "/id"}),
    ("ids under another name, in groups", "?groupAt=/status", [{"key": "a", "status": "open"}, {"key": "b", "status": "done"}], "invalid-state",
     ['no id at "/id"', "groupAt=/status"], {"itemsAt": "", "idAt": "/key", "groupAt": "/status"}),
    ("the right idAt, without the list", "?idAt=/status", {"data": [{"status": "a", "n": 1}, {"status": "b", "n": 1}]}, "invalid-state",
     ["itemsAt", "?itemsAt=/data&idAt=/status"], {"itemsAt": "/data", "idAt": "/status"}),
    ("ids under a name that says nothing", "", {"rows": [{"booking": "A-1", "n": 1}, {"booking": "A-2", "n": 1}]}, "wrong-shape",
     ["?itemsAt=/rows&idBy=match, or, if these are ids, ?itemsAt=/rows&idAt=/booking"], {"itemsAt": "/rows", "idBy": "match"}),
    ("rows with members beside the id", "", [{"id": "a", "n": 1}, {"id": "b", "n": 1}], "invalid-state",
     ["with a shape; and 1 more; the document looks like ?idAt=/id"], {"itemsAt": "", "idAt": "/id"}),
    ("ids that are references", "", [{"orderRef": "A", "n": 1}, {"orderRef": "B", "n": 1}], "invalid-state",
     ["?idAt=/orderRef"], {"itemsAt": "", "idAt": "/orderRef"}),
    ("rows that are arrays", "", [[1, "a"], [2, "b"]], "invalid-state", ["an id must be", "idBy=match"], {"itemsAt": "", "idBy": "match"}),
    ("rows that are fractions", "", [1.5, 2.5], "invalid-state", ["an integer", "idBy=match"], {"itemsAt": "", "idBy": "match"}),
    ("GraphQL's edges", "?itemsAt=/data/users/edges", {"data": {"users": {"edges": [{"node": {"id": "a", "n": 1}}, {"node": {"id": "b", "n": 1}}]}}},
     "invalid-state", ['no id at "/id"', "idAt=/node/id"], {"itemsAt": "/data/users/edges", "idAt": "/node/id"}),
    ("sections for rows", "?itemsAt=/people&idAt=/login", TEAMS,
     "invalid-state", ['no items at "/people"', "sectionsAt=/teams"], {"sectionsAt": "/teams", "sectionIdAt": "/name", "itemsAt": "/people", "idAt": "/login"}),
    ("an object of rows", "?itemsAt=/rates", {"rates": {"EUR": {"v": 1}, "USD": {"v": 2}}}, "invalid-state",
     ["items must be an array", "map=true"], {"itemsAt": "/rates", "map": True}),
    ("one object", "?idAt=/id", {"id": 1, "name": "x"}, "invalid-state", ["items must be an array", "itemsAt"], None),
    ("one object around a list", "?idAt=/id", {"page": 1, "rows": [{"id": 1}, {"id": 2}]}, "invalid-state",
     ["itemsAt", "?itemsAt=/rows&idAt=/id"], {"itemsAt": "/rows", "idAt": "/id"}),
    ("two rows with one id", "?idAt=/n", [{"n": 1, "k": "a"}, {"n": 1, "k": "b"}], "invalid-state", ['duplicate id "1"', "duplicates=first", "second idAt"], None),
    ("two items with one id", "", ["a", "a"], "invalid-state", ['duplicate id "a"', "an id of its own"], None),
    ("a null for an id", "?idAt=/n", [{"n": None}, {"n": 2}], "invalid-state", ["a string or an integer", "invalid=skip"], None),
    ("no id in one of several", "?idAt=/n", [{"n": 1}, {"k": 2}], "invalid-state", ['no id at "/n"', "invalid=skip"], None),
    ("an object for an id", "?idAt=/number", [{"number": {"$oid": "5f"}}], "invalid-state", ["idAt=/number/$oid"], {"itemsAt": "", "idAt": "/number/$oid"}),
    ("no list at all", "?itemsAt=/data", {"error": "no"}, "invalid-state", ['no items at "/data"'], None),
    ("a shape that is missing", "", {"data": [{"userID": 7}, {"userID": 8}]}, "wrong-shape", ["?itemsAt=/data&idAt=/userID"], {"itemsAt": "/data", "idAt": "/userID"}),
    ("fields beside the id", "", [{"id": 1, "title": "x"}], "invalid-state", ['no member "title"', "?idAt=/id"], {"itemsAt": "", "idAt": "/id"}),
    ("encoded twice", "", json.dumps([{"id": 1}]), "wrong-shape", ["encoded twice"], None),
    ("a state encoded twice", "", {"state": json.dumps([{"id": 1}])}, "invalid-state", ["encoded twice"], None),
    ("a document encoded twice", "?itemsAt=/data", json.dumps({"data": []}), "invalid-state", ["encoded twice"], None),
    ("an answer as it came", "", {"session": "s", "revision": "1-a", "state": {"sections": [{"id": "main", "items": ["a"]}]}}, "wrong-shape",
     ['send {"state":…} alone'], None),
    ("a row alone", "", {"id": "tea", "title": "Tea"}, "wrong-shape", ["a row alone"], None),
    ("a misspelt state", "", {"sate": 1}, "wrong-shape", ['did you mean "state"?'], None),
]

# Bodies that are no JSON, and what the detail must say.
TEXTS = [
    ("nothing", b"", ["the body is empty"]), ("blanks", b" \n", ["the body is empty"]),
    ("Python's repr", b"[{'id': 1}]", ["\"'\"", "double quotes"]), ("Python's True", b"[True]", ['"True"', "write true"]),
    ("NaN", b'[{"id":1,"content":NaN}]', ["JSON has no NaN: send null"]),
    ("a number with a plus sign", b"[+1]", ["no plus sign"]), ("a number without a digit before its point", b"[.5]", ["a digit before the point"]),
    ("a hexadecimal number", b"[0xFF]", ["decimal digits"]), ("a word", b"[x]", ["double quotes"]), ("a number and a word", b"[10x]", ["double quotes"]),
    ("a comma at the end", b'["a",]', ['"]"', "remove the comma"]),
    ("JSON lines", b'{"id":1}\n{"id":2}\n', ["one document, not JSON lines"]),
    ("a page", b"<!DOCTYPE html>", ["HTML"]), ("a form", b"state=[]", ["a form: send JSON"]),
    ("a file's name", b"items.json", ["-d @FILE"]), ("names without quotes", b"{items: []}", ["names take double quotes"]),
    ("a comment", b"/* a */ []", ["no comments"]), ("a body that was cut off", b'[{"id":', ["ends too early", "cut off"]),
    ("Latin-1", b'["\xe4"]', ["send UTF-8"]), ("UTF-16", '["a"]'.encode("utf-16"), ["send UTF-8"]),
    ("typographic quotes", "[“a”]".encode(), ["straight double quotes"]), ("a guard", b")]}'\n[]", ["remove the line )]}'"]),
]


class Mistakes(ServiceCase):
    def setUp(self):
        super().setUp()
        self.session, _ = self.made(["milk", "tea", "jam"])

    def mistaken(self, query, body, kind, words, shape):
        answer = self.client.request("POST", session_path(self.session, "changes") + query, json.dumps(body))
        problem = self.assertProblem(answer, 422, kind)
        for word in words:
            self.assertIn(word, problem["detail"])
        self.assertEqual(problem.get("shape"), shape, answer)
        if shape is None:
            self.assertNotIn("looks like", problem["detail"])
        self.assertEqual(self.ids(), ["milk", "tea", "jam"])

    def ids(self):
        return [item["id"] for item in self.get_session(self.session).json["state"]["sections"][0]["items"]]

    def test_an_edit_is_never_taken_for_a_list(self):
        for name, query, body, kind, words, shape in EDITS:
            with self.subTest(name):
                self.mistaken(query, body, kind, words, shape)

    def test_nor_where_the_session_keeps_a_shape_or_for_one_section(self):
        edit = {"op": "delete", "items": ["tea"]}
        for shape in ({"idAt": "/id"}, {"idBy": "match"}, {"itemsAt": "/items", "idAt": "/id"}, None):
            name = self.new_name()
            rows = [{"id": "milk"}, {"id": "tea"}]
            state = {"items": rows} if shape and "itemsAt" in shape else rows
            self.assertStatus(self.client.request("PUT", session_path(name), {"state": state, **({"shape": shape} if shape else {})}), 201)
            before = self.get_session(name).json
            for path in (("changes",), ("sections", "main", "changes")):
                with self.subTest(shape=shape, path=path):
                    problem = self.client.request("POST", session_path(name, *path), edit).json
                    self.assertEqual((problem["status"], problem.get("shape")), (422, None))
                    self.assertIn('{"edits":[…]}', problem["detail"])
                    self.assertNotIn("At", problem["detail"])
            self.assertEqual(self.get_session(name).json["state"], before["state"])

    def test_a_document_that_is_put_is_a_state(self):
        path = session_path(self.new_name())
        for query, body in (("?itemsAt=/rows&idAt=/k", {"rows": [{"k": 1}]}), ("", {"sections": [{"id": "s", "items": ["a"]}]}), ("", ["a"])):
            with self.subTest(query):
                problem = self.assertProblem(self.client.request("PUT", path + query, json.dumps(body)), 422, "wrong-shape")
                self.assertTrue(problem["detail"].endswith('; the document is sent as {"state":…}'), problem)
                answer = self.client.request("PUT", path + query, json.dumps({"state": body}))
                self.assertIn(answer.status, (200, 201))

    def test_a_state_is_posted_to_the_changes(self):
        path = session_path(self.session)
        problem = self.assertProblem(self.client.request("POST", path, ["a"]), 405, "method-not-allowed")
        self.assertTrue(problem["detail"].endswith(f"; a state is posted to {path}/changes"), problem)

    def test_a_reader_names_no_shape(self):
        problem = self.assertProblem(self.client.request("GET", session_path(self.session, "changes") + "?itemsAt=/a"), 400, "unknown-parameter")
        self.assertIn("it tells how a document that is sent is read; known parameters: ", problem["detail"])

    def test_a_list_that_is_not_found_is_looked_for(self):
        for name, query, body, kind, words, shape in STATES:
            with self.subTest(name):
                self.mistaken(query, body, kind, words, shape)

    def test_advice_that_is_followed_is_taken(self):
        for name, query, body, _, _, shape in STATES:
            if shape:
                with self.subTest(name):
                    session = self.new_name()
                    advised = {key: "true" if value is True else value for key, value in shape.items()}
                    self.assertStatus(self.post_changes(session, body, advised), 201)
                    self.assertStatus(self.diff(body, body, advised), 200)

    def test_a_shape_beside_the_state_is_looked_for_as_well(self):
        members = {"data": {"members": [{"userID": 7}, {"userID": 8}]}}
        found = {"itemsAt": "/data/members", "idAt": "/userID"}
        for body in ({"state": members, "shape": {"itemsAt": "/dta"}}, {"state": members, "shape": {"itemsAt": "/data/members", "idAt": "/id"}}):
            for answer in (self.put_session(self.new_name(), body), self.post_changes(self.new_name(), body)):
                self.assertEqual(self.assertProblem(answer, 422, "invalid-state")["shape"], found)
        answer = self.diff(members, members, {"itemsAt": "/dta"})
        self.assertEqual(self.assertProblem(answer, 422, "invalid-state")["shape"], found)

    def test_text_that_is_no_json_is_told_what_it_is(self):
        for name, body, words in TEXTS:
            with self.subTest(name):
                answer = self.client.request("POST", session_path(self.session, "changes"), body)
                problem = self.assertProblem(answer, 400, "malformed-json")
                for word in words:
                    self.assertIn(word, problem["detail"])

    def test_put_is_told_of_its_envelope(self):
        for body, words in ((["a"], ['{"state":…}', "…/changes"]), ({"items": ["a"]}, ['{"state":…}']), ({"edits": []}, ["…/changes"]),
                            ({"op": "clear"}, ["POST it to …/changes"]), ({"state": [], "tll": 5}, ['did you mean "ttl"?'])):
            with self.subTest(body):
                problem = self.assertProblem(self.put_session(self.session, body), 422, "wrong-shape")
                for word in words:
                    self.assertIn(word, problem["detail"])
        self.assertEqual(self.ids(), ["milk", "tea", "jam"])

    def test_requests_are_told_what_to_write(self):
        changes = session_path(self.session, "changes")
        rows = [
            ("a name with @", "POST", "/v1/sessions/ann@x.org/changes", {}, 400, ['"@"', "hash"]),
            ("a name with a slash", "POST", "/v1/sessions/a%2Fb/changes", {}, 400, ['"/"', "percent-encoding does not help"]),
            ("a pointer without its slash", "POST", changes + "?idAt=id", {}, 400, ['starting with "/"']),
            ("an unknown parameter", "POST", changes + "?idat=/id", {}, 400, ["idAt"]),
            ("a dialect that is none", "POST", changes + "?dialect=uikit", {}, 400, ["staged"]),
            ("map without a place", "POST", changes + "?map=true", {}, 400, ["itemsAt"]),
            ("a path that is none", "POST", "/v1/session/x/changes", {}, 404, ["did you mean /v1/sessions/x/changes?"]),
            ("a type that is none", "POST", changes, {"Content-Type": "text/plain"}, 415, ["application/json"]),
            ("lines of JSON", "POST", changes, {"Content-Type": "application/x-ndjson"}, 415, ["many documents", "array"]),
            ("a patch for edits", "POST", changes, {"Content-Type": "application/json-patch+json"}, 415, ["application/json"]),
        ]
        for name, method, path, headers, status, words in rows:
            with self.subTest(name):
                answer = self.client.request(method, path, '["a"]', headers)
                self.assertEqual(answer.status, status, answer)
                for word in words:
                    self.assertIn(word, answer.json["detail"])

    def test_details_stay_short_whatever_was_sent(self):
        long = "x" * 1_000_000
        for query, body in (("", {long: 1}), ("", [{"id": 1, long: 1}]), ("?idAt=/a", [{"a": {long: 1}}]), ("", {"edits": [{"op": long}]}),
                            ("", {"edits": [{"op": "clear", long: 1}]}), ("", {"state": [], "shape": {"missing": long, "itemsAt": ""}})):
            answer = self.client.request("POST", session_path(self.session, "changes") + query, json.dumps(body))
            self.assertStatus(answer, 422)
            self.assertLess(len(answer.json["detail"]), 1_200)


class Errors(ServiceCase):
    """Of several edits that are wrong all are told, whatever finds them."""

    def test_all_that_is_wrong_is_told(self):
        session, _ = self.made([{"id": "a", "content": {"t": "x"}}, {"id": "b", "content": {"n": 1}}, "c"])
        digits = 12345678901234567890
        rows = [
            ([{"op": "update", "items": [{"id": "a", "add": {"/t": 1}}]}, {"op": "clear", "at": "end"},
              {"op": "update", "items": [{"id": "b", "add": {"/n": digits}}]}],
             [("/edits/0/items/0/add/~1t", "not-a-number"), ("/edits/1/at", "wrong-shape"), ("/edits/2/items/0/add/~1n", "limit-exceeded")]),
            ([{"op": "move", "items": ["z"]}, {"op": "insert", "items": ["c"]}, {"op": "move", "items": ["a"], "before": "y"}],
             [("/edits/0/items/0", "unknown-id"), ("/edits/1/items/0", "duplicate-id"), ("/edits/2/before", "anchor-not-found")]),
            ([{"op": "insert", "items": ["n"], "before": "z"}, {"op": "move", "items": ["n"], "at": "start"}], [("/edits/0/before", "anchor-not-found")]),
            ([{"op": "remove", "items": ["a"]}, {"op": "insert", "items": ["a"]}], [("/edits/0/op", "wrong-shape")]),
            # Whatever was to be cleared, what is not there cannot be updated.
            ([{"op": "clear", "x": 1}, {"op": "insert", "items": ["c"]}, {"op": "update", "items": [{"id": "z", "content": 1}]}],
             [("/edits/0/x", "unknown-member"), ("/edits/2/items/0/id", "unknown-id")]),
        ]
        for edits, errors in rows:
            with self.subTest(edits):
                problem = self.assertProblem(self.post_changes(session, {"edits": edits}), 422, "invalid-edit")
                self.assertEqual([(each["pointer"], each["code"]) for each in problem["errors"]], errors)

    def test_a_token_is_not_told_of_the_state_by_operations_that_it_may_not_do(self):
        session, _ = self.made(["a"])
        token = self.request("POST", session_path(session, "tokens"), {"scope": ["edit:delete"]}).json["token"]
        headers = {"Authorization": f"Bearer {token}"}
        edits = [{"op": "delete", "items": ["a"], "x": 1}, {"op": "reload", "items": ["zz"]}]
        answer = self.request("POST", session_path(session, "changes"), {"edits": edits}, **headers)
        self.assertNotIn("unknown-id", [each["code"] for each in answer.json.get("errors", [])])

    def test_edits_on_a_session_that_is_not_there_are_404_whatever_they_demand(self):
        for headers in ({}, {"If-Match": '"1-0123456789abcdef"'}, {"If-Match": "*"}):
            with self.subTest(headers):
                changes = session_path("none", "changes")
                answer = self.client.request("POST", changes, '{"edits":[{"op":"clear"}]}', headers)
                self.assertProblem(answer, 404, "session-not-found")
                patch = {"Content-Type": "application/merge-patch+json", **headers}
                answer = self.client.request("PATCH", session_path("none", "items", "a"), "{}", patch)
                self.assertProblem(answer, 404, "session-not-found")
        answer = self.client.request("POST", session_path("none", "changes"), "[]", {"If-Match": "*"})
        self.assertIsNone(self.assertProblem(answer, 412, "revision-mismatch")["current"])
