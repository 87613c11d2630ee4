"""What a list shows besides its rows: `content` of a state, `list` in an answer (CONTRACT §2 and §4)."""

from support.appliers import DIALECTS
from support.case import ServiceCase
from support.client import session_path
from support.events import Stream
from support.jsontext import exact

BEFORE = {"title": "Fires", "total": 41, "next": "a-cursor-that-is-long-enough-to-be-worth-a-patch"}
AFTER = {**BEFORE, "total": 42}


class ListContent(ServiceCase):
    def test_a_state_has_it_in_every_shape(self):
        sections = [{"id": "main", "items": [{"id": "a"}]}]
        for body in ({"content": BEFORE, "items": ["a"]}, {"items": ["a"], "content": BEFORE},
                     {"state": {"content": BEFORE, "sections": sections}}, {"sections": sections, "content": BEFORE}):
            with self.subTest(body):
                session, _ = self.made(body)
                self.assertEqual(self.get_session(session).json["state"], {"content": BEFORE, "sections": sections})
                reset = self.assertReset(self.get_changes(session), "initial")
                self.assertEqual(reset["state"], {"content": BEFORE, "sections": sections})

    def test_it_is_any_json_and_kept_verbatim(self):
        for content in ("null", "false", "0", '""', '{"b":1.50,"a":[ ]}', "[1e2]"):
            with self.subTest(content):
                session, _ = self.made('{"items":["a"],"content":' + content + "}")
                self.assertIn(f'"state":{{"content":{content},"sections":', self.get_session(session).text)

    def test_what_it_may_not_stand_beside(self):
        for body, name, pointer in (({"state": ["a"], "content": 1}, "wrong-shape", "/content"),
                                    ({"items": [], "expanded": True}, "wrong-shape", "/expanded"),
                                    ({"state": {"items": [], "expanded": False}}, "invalid-state", "/state/expanded")):
            answer = self.post_changes(self.new_name(), body)
            self.assertProblem(answer, 422, name)
            self.assertEqual([each["pointer"] for each in answer.json["errors"]], [pointer], body)
        answer = self.post_changes(self.new_name(), '{"items":[],"content":1,"content":2}')
        self.assertProblem(answer, 400, "malformed-json")

    def test_a_change_of_it_alone_is_a_revision_that_no_dialect_lists(self):
        for dialect in DIALECTS:
            with self.subTest(dialect):
                session, first = self.made({"content": BEFORE, "items": ["a"]})
                answer = self.post_changes(session, {"content": AFTER, "items": ["a"]}, {"dialect": dialect})
                changeset = self.assertChangeset(answer, dialect=dialect)
                self.assertNotEqual(changeset["to"], first)
                if dialect == "json-patch":
                    self.assertNotIn("list", changeset)
                    self.assertEqual(changeset["changes"], [{"op": "replace", "path": "/content/total", "value": 42}])
                    continue
                self.assertEqual(changeset["list"], {"content": AFTER})
                nothing = self.post_changes(session, {"content": AFTER, "items": ["a"]}, {"dialect": dialect}).json
                self.assertNotIn("list", nothing)
                if dialect != "diffable":
                    self.assertEqual(changeset["changes"], nothing["changes"])

    def test_a_patch_and_an_end(self):
        session, first = self.made({"content": BEFORE, "items": ["a"]})
        second = self.wrote(session, {"content": AFTER, "items": ["a", "b"]})
        patched = self.get_changes(session, {"since": first, "content": "patch"}).json
        self.assertEqual(patched["list"], {"patch": {"total": 42}})
        self.assertEqual(len(patched["changes"]), 1)
        ended = self.post_changes(session, ["a", "b"], {"since": second}).json
        self.assertEqual((ended["list"], ended["changes"]), ({}, []))
        begun = self.post_changes(session, {"content": None, "items": ["a", "b"]}, {"content": "patch"}).json
        self.assertEqual((begun["list"], begun["changes"]), ({"content": None}, []))

    def test_every_past_content_is_remembered(self):
        session, base = self.made({"content": {"total": 0}, "items": ["a"]})
        bases = [base]
        for total in range(1, 20):
            content = {"content": {"total": total}} if total % 3 else {}
            bases.append(self.wrote(session, {**content, "items": ["a"]}))
        for total, base in enumerate(bases):
            changeset = self.get_changes(session, {"since": base, "content": "patch"}).json
            expected = {"list": {"content": {"total": 19}}} if total % 3 == 0 and total else {"list": {"patch": {"total": 19}}}
            if total == 19:
                expected = {}
            expected = {**expected, "changes": []}
            found = {name: changeset[name] for name in ("list", "changes") if name in changeset}
            if "patch" in expected.get("list", {}):  # where it is no larger
                self.assertIn(found["list"], ({"patch": {"total": 19}}, {"content": {"total": 19}}))
                found["list"] = expected["list"]
            self.assertEqual(found, expected, base)

    def test_edits_keep_it(self):
        session, _ = self.made({"content": BEFORE, "items": ["a"]})
        changeset = self.post_changes(session, {"edits": [{"op": "insert", "items": ["b"]}]}).json
        self.assertNotIn("list", changeset)
        self.assertEqual(self.get_session(session).json["state"]["content"], BEFORE)

    def test_it_wakes_readers(self):
        session, first = self.made({"content": BEFORE, "items": ["a"]})
        stream = Stream(self.server, session_path(session, "changes"), {"content": "patch"}, {"Last-Event-ID": first})
        try:
            self.wrote(session, {"content": AFTER, "items": ["a"]})
            self.assertEqual(stream.next_event().changeset["list"], exact('{"patch": {"total": 42}}'))
        finally:
            stream.close()

    def test_what_a_document_holds_besides_its_list(self):
        upstream = {"total": 2, "data": [{"id": "a"}, {"id": "b"}], "next": "c1", "generated_at": "now"}
        shape = {"itemsAt": "/data", "idAt": "/id", "rest": ["/total", "/next"]}
        session = self.new_name()
        self.assertStatus(self.put_session(session, {"state": upstream, "shape": shape}), 201)
        self.assertEqual(self.get_session(session).json["state"]["content"], {"total": 2, "next": "c1"})
        later = self.post_changes(session, {**upstream, "generated_at": "later"}).json
        self.assertEqual((later["from"], later["changes"]), (later["to"], []))
        paged = self.post_changes(session, {**upstream, "next": "c2"}, {"content": "patch"}).json
        self.assertEqual((paged["list"]["patch"], paged["changes"]), ({"next": "c2"}, []))
        whole = self.post_changes(self.new_name(), upstream, {"itemsAt": "/data", "rest": "true"}).json
        self.assertEqual(whole["state"]["content"], {"total": 2, "next": "c1", "generated_at": "now"})

    def test_a_diff_that_stores_nothing_says_it_too(self):
        body = {"old": {"content": 1, "items": []}, "new": {"content": 2, "items": []}}
        answer = self.request("POST", "/v1/diff", body)
        self.assertEqual((answer.json["list"], answer.json["changes"]), ({"content": 2}, []))
