"""Lists whose elements have no ids: `idBy=match` (CONTRACT §2)."""

import json

from support.client import session_path
from support.database import SQLiteCase
from support.shaped import Shaped

MATCH = {"idBy": "match"}
KEPT = {"shape": MATCH}


def cities(*pairs):
    return [{"city": city, "temp": temp} for city, temp in pairs]


class Matched(Shaped):
    def shown(self, session):
        """Ids and contents, by section."""
        return {section["id"]: [(item["id"], item.get("content")) for item in section["items"]]
                for section in self.get_session(session).json["state"]["sections"]}

    def ids(self, session):
        return [identity for items in self.shown(session).values() for identity, _ in items]

    def test_rows_that_change_keep_their_ids_in_every_dialect(self):
        for dialect in ("keyed", "indexed", "staged", "diffable", "sequential", "counts", "json-patch"):
            with self.subTest(dialect):
                session, _ = self.made(cities(("Oslo", 3), ("Rome", 20), ("Lima", 18)), query=MATCH)
                answer = self.post_changes(session, cities(("Rome", 21), ("Lima", 19), ("Oslo", 4)), {**MATCH, "dialect": dialect})
                self.assertStatus(answer, 200)
                self.assertNotIn("remove", json.dumps(answer.json.get("changes") if isinstance(answer.json, dict) else []))
                self.assertEqual(self.ids(session), ["1.1", "1.2", "1.0"])

    def test_new_ids_have_the_sequence_of_the_write_and_pass_over_those_that_are_taken(self):
        session, _ = self.made(["a", "b"], query=MATCH)
        self.assertStatus(self.post_changes(session, {"edits": [{"op": "insert", "items": [{"id": "3.0"}, {"id": "3.2", "items": ["3.1"]}],
                                                                 "at": "end"}]}), 200)
        answer = self.post_changes(session, ["c", "b", "d", [], None], MATCH)
        self.assertStatus(answer, 200)
        self.assertEqual(self.shown(session)["main"], [("3.3", "c"), ("1.1", "b"), ("3.4", "d"), ("3.5", []), ("3.6", None)])

    def test_an_equal_state_is_no_revision(self):
        session, base = self.made([1, 1, "x", {"a": []}], query=MATCH)
        answer = self.post_changes(session, "[1, 1, \"\\u0078\", {\"a\": [ ]}]".encode(), MATCH)
        self.assertEqual((answer.json["to"], answer.json["changes"]), (base, []))

    def test_put_continues_nothing(self):
        session = self.new_name()
        for sequence in (1, 2, 3):
            self.assertStatus(self.put_session(session, {"state": ["a", "b"], **KEPT}), 201 if sequence == 1 else 200)
            self.assertEqual(self.ids(session), [f"{sequence}.0", f"{sequence}.1"])
        self.assertStatus(self.put_session(session, {"state": ["b"]}, MATCH), 200)
        self.assertEqual(self.ids(session), ["4.0"])

    def test_a_session_keeps_it(self):
        session = self.new_name()
        self.assertStatus(self.post_changes(session, {"state": {"rows": ["a"]}, "shape": {**MATCH, "itemsAt": "/rows"}}), 201)
        self.assertStatus(self.post_changes(session, {"rows": ["b", "a"]}), 200)
        self.assertEqual(self.ids(session), ["2.0", "1.0"])
        self.assertStatus(self.post_changes(session, {"state": {"rows": ["b"]}}), 200)
        self.assertEqual(self.ids(session), ["2.0"])

    def test_a_body_that_names_the_shape_continues_the_head(self):
        session, _ = self.made(cities(("Oslo", 1), ("Rome", 2)), query=MATCH)
        self.assertStatus(self.post_changes(session, {"state": cities(("Rome", 3), ("Oslo", 4)), **KEPT}), 200)
        self.assertEqual(self.ids(session), ["1.1", "1.0"])

    def test_groups_and_listed_sections(self):
        shape = {**MATCH, "groupAt": "/shelf", "itemsAt": "/books", "sectionsAt": "/shelves", "rest": "/owner"}
        session = self.new_name()

        def library(*books):
            return {"shelves": [{"id": "a"}, {"id": "b"}], "owner": "me",
                    "books": [{"title": title, "shelf": shelf, "read": read} for title, shelf, read in books]}
        self.assertStatus(self.put_session(session, {"state": library(("Emma", "b", 0), ("Dune", "a", 0)), "shape": shape}), 201)
        self.assertEqual([(name, [each[0] for each in items]) for name, items in self.shown(session).items()], [("a", ["1.0"]), ("b", ["1.1"])])
        answer = self.post_changes(session, library(("Dune", "b", 1), ("Emma", "c", 2), ("Ulysses", "a", 3)))
        self.assertEqual([each["op"] for each in answer.json["changes"] if each["op"] == "remove"], [])
        self.assertEqual([(name, [each[0] for each in items]) for name, items in self.shown(session).items()],
                         [("a", ["2.0"]), ("b", ["1.0"]), ("c", ["1.1"])])

    def test_what_is_ignored_tells_nothing(self):
        session = self.new_name()
        self.assertStatus(self.put_session(session, {
            "state": [{"n": "a", "at": "1"}, {"n": "b", "at": "1"}], "ignore": ["/at"], **KEPT}), 201)
        base = self.get_session(session).json["revision"]
        answer = self.post_changes(session, [{"n": "a", "at": "2"}, {"n": "b", "at": "3"}])
        self.assertEqual((answer.json["to"], answer.json["changes"]), (base, []))
        self.assertStatus(self.post_changes(session, [{"n": "b", "at": "4"}, {"n": "a", "at": "5"}]), 200)
        self.assertEqual(self.ids(session), ["1.1", "1.0"])

    def test_diff(self):
        for body in ({"old": [1, "b"], "new": ["b", 2]}, {"new": ["b", 2], "old": [1, "b"]}):
            answer = self.request("POST", "/v1/diff", body, MATCH)
            self.assertEqual(answer.json["changes"], [
                {"op": "remove", "items": ["0.0"]},
                {"op": "insert", "items": [{"id": "1.0", "content": 2}], "in": "main", "before": None}])

    def test_it_stands_for_a_pointer_but_not_beside_ids_of_their_own(self):
        for name, value in (("idAt", "/id"), ("map", "true"), ("map", "false"), ("childrenAt", "/kids"), ("idScope", "section"),
                            ("idScope", "state"), ("duplicates", "first"), ("invalid", "skip")):
            answer = self.post_changes(self.new_name(), [], {**MATCH, name: value})
            self.assertProblem(answer, 400, "malformed-request")
            self.assertIn(name, answer.json["detail"])
        self.assertProblem(self.post_changes(self.new_name(), [], {"idBy": "guess"}), 400, "malformed-request")
        answer = self.put_session(self.new_name(), {"shape": {"idBy": "match", "map": True}})
        self.assertProblem(answer, 422, "wrong-shape")
        self.assertEqual([each["pointer"] for each in answer.json["errors"]], ["/shape/idBy"])
        for name, value in (("kindAt", "/k"), ("expandedAt", "/e"), ("missing", "empty"), ("rest", "true"), ("groupAt", "/g")):
            self.assertStatus(self.post_changes(self.new_name(), {"rows": [{"k": "ad", "e": True}]}, {**MATCH, "itemsAt": "/rows", name: value}), 201)

    def test_writers_at_once_each_continue_the_head_of_their_commit(self):
        """Matching stands inside the decision: whoever comes second is matched with what came first."""
        session, _ = self.made([{"name": f"row {row}", "by": 0} for row in range(300)], query=MATCH)

        def writer(number):
            def task(client):
                for turn in range(12):
                    rows = [{"name": f"row {row}", "by": number * 100 + turn} for row in range(300)]
                    rows.append({"name": f"extra {number}.{turn}"})
                    answer = client.request("POST", session_path(session, "changes") + "?idBy=match", rows, {"Prefer": "return=minimal"})
                    assert answer.status == 200, answer
            return task
        self.run_together(*[writer(number) for number in range(1, 5)])
        ids = self.ids(session)
        self.assertEqual(ids[:300], [f"1.{row}" for row in range(300)])
        sequence = self.get_session(session).json["revision"].split("-")[0]
        self.assertEqual(ids[300], f"{sequence}.0")

    def test_if_match_and_a_lost_answer(self):
        session, base = self.made(["a", "b"], query=MATCH)
        first = self.post_changes(session, ["b", "c"], MATCH, If_Match=f'"{base}"')
        self.assertStatus(first, 200)
        again = self.post_changes(session, ["b", "c"], MATCH, If_Match=f'"{base}"')
        self.assertEqual(again.json["to"], first.json["to"])
        self.assertStatus(self.post_changes(session, ["b"], MATCH, If_Match=f'"{base}"'), 412)


class OverARestart(SQLiteCase):
    def test_ids_outlive_the_process(self):
        self.assertEqual(self.request("PUT", "s", {"state": cities(("Oslo", 1), ("Rome", 2)), **KEPT}).status, 201)
        self.restarted()
        self.assertEqual(self.post("s", cities(("Kyiv", 0), ("Rome", 3), ("Oslo", 4))).status, 200)
        self.assertEqual(self.shown("s"), ["2.0", "1.1", "1.0"])
        self.restarted()
        self.assertEqual(self.post("s", cities(("Oslo", 4), ("Kyiv", 1), ("Bonn", 5))).status, 200)
        self.assertEqual(self.shown("s"), ["1.0", "2.0", "3.0"])
