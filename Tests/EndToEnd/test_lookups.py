"""Index path ↔ item, and sections: CONTRACT §3."""

from support.case import ServiceCase
from support.client import session_path

STATE = {"sections": [
    {"id": "s", "content": {"title": 1.0}, "items": [
        "a", {"id": "b", "content": {"x": 1}, "kind": "cell", "expanded": False, "items": ["hidden"]},
        {"id": "p", "items": [{"id": "c", "content": None, "items": [7]}]}]},
    {"id": "closed", "expanded": False, "items": ["z"]},
    {"id": "t/\u00e9", "items": ["x/y z", "\u00e9", "e\u0301"]}]}

ROWS = {
    "a": {"id": "a", "section": "s", "parent": None, "level": 0, "indexPath": [0, 0], "visible": True, "expanded": True},
    "b": {"id": "b", "section": "s", "parent": None, "level": 0, "indexPath": [0, 1], "visible": True, "expanded": False,
          "kind": "cell", "content": {"x": 1}},
    "hidden": {"id": "hidden", "section": "s", "parent": "b", "level": 1, "indexPath": None, "visible": False, "expanded": True},
    "p": {"id": "p", "section": "s", "parent": None, "level": 0, "indexPath": [0, 2], "visible": True, "expanded": True},
    "c": {"id": "c", "section": "s", "parent": "p", "level": 1, "indexPath": [0, 3], "visible": True, "expanded": True, "content": None},
    "7": {"id": 7, "section": "s", "parent": "c", "level": 2, "indexPath": [0, 4], "visible": True, "expanded": True},
    "z": {"id": "z", "section": "closed", "parent": None, "level": 0, "indexPath": None, "visible": False, "expanded": True},
    "x/y z": {"id": "x/y z", "section": "t/\u00e9", "parent": None, "level": 0, "indexPath": [2, 0], "visible": True, "expanded": True},
    "\u00e9": {"id": "\u00e9", "section": "t/\u00e9", "parent": None, "level": 0, "indexPath": [2, 1], "visible": True, "expanded": True},
    "e\u0301": {"id": "e\u0301", "section": "t/\u00e9", "parent": None, "level": 0, "indexPath": [2, 2], "visible": True, "expanded": True},
}

SECTIONS = {
    "s": {"id": "s", "index": 0, "expanded": True, "rows": 5, "content": {"title": 1.0}},
    "closed": {"id": "closed", "index": 1, "expanded": False, "rows": 0},
    "t/\u00e9": {"id": "t/\u00e9", "index": 2, "expanded": True, "rows": 3},
}


class LookUps(ServiceCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.session = "looked-up"
        answer = cls.client.request("PUT", session_path(cls.session), {"state": STATE})
        cls.revision = answer.json["revision"]

    def item(self, identity, query=None):
        return self.get(session_path(self.session, "items", identity), query)

    def items(self, query):
        return self.get(session_path(self.session, "items"), query)

    def test_each_item_by_its_id(self):
        for identity, row in ROWS.items():
            with self.subTest(identity):
                answer = self.item(identity)
                self.assertStatus(answer, 200)
                self.assertEqual(answer.json, {"revision": self.revision, **row})

    def test_each_row_by_its_index_path(self):
        for row in ROWS.values():
            if row["indexPath"] is None:
                continue
            with self.subTest(row["indexPath"]):
                answer = self.items({"at": ",".join(map(str, row["indexPath"]))})
                self.assertEqual(answer.json, {"revision": self.revision, "items": [row], "missing": []})

    def test_many_at_once_in_the_querys_order(self):
        answer = self.items("at=0,3&id=z&at=2,0&id=7&at=0,0")
        self.assertStatus(answer, 200)
        self.assertEqual([each["id"] for each in answer.json["items"]], ["c", "z", "x/y z", 7, "a"])

    def test_what_is_missing_is_listed(self):
        answer = self.items("at=0,5&id=none&at=1,0&at=3,0&id=a")
        self.assertEqual([each["id"] for each in answer.json["items"]], ["a"])
        self.assertEqual(answer.json["missing"], [{"at": [0, 5]}, {"id": "none"}, {"at": [1, 0]}, {"at": [3, 0]}])

    def test_a_path_beyond_all_numbers_is_missing_as_asked_or_400(self):
        answer = self.items("at=99999999999999999999,0")
        if answer.status == 200:
            self.assertEqual(answer.json["missing"], [{"at": [99999999999999999999, 0]}])
        else:
            self.assertProblem(answer, 400, "malformed-request")

    def test_an_item_that_is_not_there_is_404(self):
        for identity in ("none", "A", "\u00e8", "s"):
            with self.subTest(identity):
                self.assertProblem(self.item(identity), 404, "item-not-found")

    def test_a_missing_session_is_404(self):
        for path in ("items/a", "items?id=a", "sections/s"):
            with self.subTest(path):
                self.assertProblem(self.get("/v1/sessions/none/" + path), 404, "session-not-found")

    def test_each_section_by_its_id(self):
        for identity, section in SECTIONS.items():
            with self.subTest(identity):
                answer = self.get(session_path(self.session, "sections", identity))
                self.assertStatus(answer, 200)
                self.assertEqual(answer.json, {"revision": self.revision, **section})
        answer = self.get(session_path(self.session, "sections", "a"))
        self.assertProblem(answer, 404, "section-not-found")

    def test_many_sections_at_once_in_the_querys_order(self):
        answer = self.get(session_path(self.session, "sections"), "at=2&id=none&id=s&at=3&at=1&id=a")
        self.assertStatus(answer, 200)
        self.assertEqual(answer.json, {
            "revision": self.revision, "sections": [SECTIONS["t/\u00e9"], SECTIONS["s"], SECTIONS["closed"]],
            "missing": [{"id": "none"}, {"at": 3}, {"id": "a"}]})
        self.assertProblem(self.get("/v1/sessions/none/sections?at=0"), 404, "session-not-found")

    def test_an_index_path_that_is_none_is_400(self):
        for at in ("", "x", "0", "0,", ",0", "0,0,0", "-1,0", "0, 0", "0.0", "[0,0]"):
            with self.subTest(at):
                self.assertProblem(self.items({"at": at}), 400, "malformed-request")

    def test_contents_are_verbatim(self):
        self.assertIn('{"title":1.0}', self.get(session_path(self.session, "sections", "s")).text)


class LookUpsAtARevision(ServiceCase):
    options = ("--history-revisions", "2")

    def test_they_answer_what_the_client_shows_without_content(self):
        session, first = self.made([{"id": "a", "content": 1, "kind": "k"}, {"id": "p", "expanded": False, "items": ["b"]}])
        self.wrote(session, ["b", "x"])
        answer = self.get(session_path(session, "items"), f"revision={first}&at=0,0&id=b&id=x")
        self.assertEqual(answer.json["revision"], first)
        item, hidden = answer.json["items"]
        self.assertEqual((item["id"], item["indexPath"], item["kind"]), ("a", [0, 0], "k"))
        self.assertNotIn("content", item)
        self.assertEqual((hidden["id"], hidden["parent"], hidden["visible"], hidden["indexPath"]), ("b", "p", False, None))
        self.assertEqual(answer.json["missing"], [{"id": "x"}])
        one = self.get(session_path(session, "items", "p"), {"revision": first})
        self.assertEqual((one.json["indexPath"], one.json["expanded"], one.json["revision"]), ([0, 1], False, first))
        gone = self.get(session_path(session, "items", "x"), {"revision": first})
        self.assertProblem(gone, 404, "item-not-found")

    def test_the_head_may_be_named(self):
        session, head = self.made(["a"])
        answer = self.get(session_path(session, "items", "a"), {"revision": head})
        self.assertEqual((answer.status, answer.json["revision"]), (200, head))

    def test_sections_at_a_revision(self):
        session, first = self.made({"sections": [{"id": "s", "content": 1, "items": ["a", "b"]}]})
        self.wrote(session, {"sections": [{"id": "t", "items": []}, {"id": "s", "items": ["a"]}]})
        answer = self.get(session_path(session, "sections", "s"), {"revision": first})
        self.assertEqual((answer.json["index"], answer.json["rows"], answer.json["revision"]), (0, 2, first))
        self.assertNotIn("content", answer.json)
        many = self.get(session_path(session, "sections"), f"revision={first}&id=t&at=0")
        self.assertEqual(many.json, {"revision": first, "sections": [{"id": "s", "index": 0, "expanded": True, "rows": 2}],
                                     "missing": [{"id": "t"}]})

    def test_a_revision_that_is_no_longer_kept_is_410(self):
        session, first = self.made(["a"])
        other, theirs = self.made(["b"])
        for number in range(4):
            self.wrote(session, [str(number)])
        for revision in (first, "7-0123456789abcdef", theirs):
            with self.subTest(revision):
                answer = self.get(session_path(session, "items"), {"revision": revision, "at": "0,0"})
                self.assertProblem(answer, 410, "revision-gone")
                for rest in (("items", "a"), ("sections", "main")):
                    self.assertProblem(self.get(session_path(session, *rest), {"revision": revision}), 410, "revision-gone")
                answer = self.get(session_path(session, "sections"), {"revision": revision, "at": 0})
                self.assertProblem(answer, 410, "revision-gone")

    def test_a_revision_that_is_none_is_400(self):
        session, _ = self.made(["a"])
        answer = self.get(session_path(session, "items", "a"), {"revision": "x"})
        self.assertProblem(answer, 400, "malformed-revision")
