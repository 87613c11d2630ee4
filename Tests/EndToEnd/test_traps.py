"""Mistakes that differs and their clients are known for, each with a list that shows it."""

from support.appliers import DIALECTS
from support.case import ServiceCase
from support.states import canonical


def section(identity, *items, **members):
    return {"id": identity, "items": list(items), **members}


def of(*sections):
    return {"sections": list(sections)}


class Indexes(ServiceCase):
    """What the numbers of an answer count."""

    def changes(self, old, new, dialect, **query):
        """The changes, which lead from one state to the other."""
        answer = self.diff(old, new, {"dialect": dialect, **query})
        self.assertChangeset(answer, dialect=dialect)
        rules = DIALECTS[dialect]
        how = {"compact": True} if query.get("staging") == "compact" else {}
        shown = rules.applied(rules.expected(canonical(old)), answer.exact["changes"], **how)
        self.assertEqual(shown, rules.expected(canonical(new)))
        return answer.json["changes"]

    def test_a_row_that_changes_and_moves_with_its_section_is_named_where_each_batch_finds_it(self):
        b, e = {"id": "b", "content": 1}, {"id": "e", "content": 1}
        old = of(section("s", *"abcde", content=1), section("t"), section("u"))
        new = of(section("t"), section("u"), section("s", e, "x", "a", b, "d", content=2))
        head = {"id": "s", "content": 2}
        self.assertEqual(self.changes(old, new, "indexed"), {
            "sections": {"moved": [{"from": 0, "to": 2}], "updated": [{"from": 0, "at": 2, "section": head}]},
            "items": {"deleted": [[0, 2]], "inserted": [{"at": [2, 1], "item": {"id": "x"}}],
                      "moved": [{"from": [0, 4], "to": [2, 0]}],
                      "updated": [{"from": [0, 4], "at": [2, 0], "item": e, "as": "reconfigure"},
                                  {"from": [0, 1], "at": [2, 3], "item": b, "as": "reconfigure"}]}})
        for staging in ("safe", "compact"):
            with self.subTest(staging):
                self.assertEqual(self.changes(old, new, "staged", staging=staging), [
                    {"name": "updates", "counts": [5, 0, 0], "items": {"updated": [
                        {"at": [0, 1], "item": b, "as": "reconfigure"}, {"at": [0, 4], "item": e, "as": "reconfigure"}]}},
                    {"name": "deletes", "counts": [4, 0, 0], "items": {"deleted": [[0, 2]]}},
                    {"name": "sections", "counts": [0, 0, 4], "sections": {"moved": [{"from": 0, "to": 2}]}},
                    {"name": "items", "counts": [0, 0, 5], "items": {
                        "inserted": [{"at": [2, 1], "item": {"id": "x"}}], "moved": [{"from": [2, 3], "to": [2, 0]}]}},
                    {"name": "headers", "counts": [0, 0, 5], "sections": {"updated": [{"at": 2, "section": head}]}}])

    def test_indexes_of_two_states_and_those_of_the_moment_are_not_mixed(self):
        c, d = {"id": "c", "content": 1}, {"id": "d", "content": 1}
        old, new = list("xabcd"), [d, "a", "b", c]
        self.assertEqual(self.changes(old, new, "indexed"), {"items": {
            "deleted": [[0, 0]], "moved": [{"from": [0, 4], "to": [0, 0]}],
            "updated": [{"from": [0, 4], "at": [0, 0], "item": d, "as": "reconfigure"},
                        {"from": [0, 3], "at": [0, 3], "item": c, "as": "reconfigure"}]}})
        self.assertEqual(self.changes(old, new, "sequential"), [
            {"op": "remove", "at": 0, "count": 1}, {"op": "move", "from": 3, "to": 0},
            {"op": "update", "at": 0, "rows": [{"item": d, "in": "main"}]},
            {"op": "update", "at": 3, "rows": [{"item": c, "in": "main"}]}])

    def test_rows_out_of_a_section_that_goes_into_one_that_comes_are_in_no_batch_of_rows(self):
        a = {"id": "a", "content": 1}
        old = of(section("stays", "z"), section("goes", "a", "b"))
        new = of(section("stays", "z"), section("comes", "b", a))
        deleted, inserted = [1], [{"at": 1, "section": section("comes", {"id": "b"}, a)}]
        self.assertEqual(self.changes(old, new, "staged"), [
            {"name": "deletes", "counts": [1], "sections": {"deleted": deleted}},
            {"name": "sections", "counts": [1, 2], "sections": {"inserted": inserted}}])
        self.assertEqual(self.changes(old, new, "staged", staging="compact"), [
            {"name": "sections", "counts": [1, 2], "sections": {"deleted": deleted, "inserted": inserted}}])
        self.assertEqual(self.changes(old, new, "indexed")["items"], {
            "moved": [{"from": [1, 1], "to": [1, 0]}, {"from": [1, 0], "to": [1, 1]}],
            "updated": [{"from": [1, 0], "at": [1, 1], "item": a, "as": "reconfigure"}]})
        keyed = self.changes(old, new, "keyed")
        self.assertEqual([each["op"] for each in keyed], ["insert", "move", "move", "remove", "update"])
        self.assertEqual(keyed[0]["section"].get("items", []), [])


class Identity(ServiceCase):
    """Which rows are one and the same."""

    def test_an_id_twice_in_the_new_state_alone_is_refused(self):
        old = of(section("s", "a", "b"), section("t", {"id": "p", "items": ["c"]}))
        cases = {
            "in another section": (of(section("s", "a", "b"), section("t", {"id": "p", "items": ["c"]}, "a")),
                                   "/sections/0/items/0", "/sections/1/items/1"),
            "below a row": (of(section("s", "a", "b"), section("t", {"id": "p", "items": ["c", "b"]})),
                            "/sections/0/items/1", "/sections/1/items/0/items/1"),
            "hidden": (of(section("s", "a", "b"), section("t", {"id": "p", "expanded": False, "items": ["a"]})),
                       "/sections/0/items/0", "/sections/1/items/0/items/0"),
            "a section": (of(section("s", "a", "b"), section("s")), "/sections/0/id", "/sections/1/id"),
        }
        for name, (new, *places) in cases.items():
            with self.subTest(name):
                found = self.assertProblem(self.diff(old, new), 422, "invalid-state")["errors"]
                self.assertEqual([(each["pointer"], each["code"]) for each in found],
                                 [("/new" + place, "duplicate-id") for place in places])
                session, head = self.made(old)
                found = self.assertProblem(self.post_changes(session, new), 422, "invalid-state")["errors"]
                self.assertEqual([each["pointer"] for each in found], places)
                self.assertEqual(self.get_session(session).json["revision"], head)

    def test_a_row_that_is_deleted_and_inserted_again_is_the_row_it_was(self):
        a = {"id": "a", "content": 1}
        cases = [([{"op": "insert", "items": [{"id": "x"}]}, {"op": "delete", "items": ["x"]}], []),
                 ([{"op": "delete", "items": ["a"]}, {"op": "insert", "items": [a], "at": "start"}], []),
                 ([{"op": "delete", "items": ["a"]}, {"op": "insert", "items": [a]}], ["move"]),
                 ([{"op": "delete", "items": ["a"]}, {"op": "insert", "items": [{"id": "a"}]}], ["move", "update"])]
        for edits, verbs in cases:
            for batches in ([edits], [[each] for each in edits]):
                with self.subTest(edits, batches=len(batches)):
                    session, first = self.made([a, "b", "c"])
                    for batch in batches:
                        head = self.assertChangeset(self.post_changes(session, {"edits": batch}))["to"]
                    changeset = self.get_changes(session, {"since": first}).json
                    self.assertEqual([each["op"] for each in changeset["changes"]], verbs)
                    self.assertEqual(changeset["to"], head)
                    if not verbs:
                        self.assertEqual(head.split("-")[1], first.split("-")[1])
                        self.assertEqual(head == first, len(batches) == 1)

    def test_a_row_that_is_deleted_twice_goes_once(self):
        session, first = self.made(of(section("s", "a", {"id": "b", "items": ["c"]}), section("t", "d")))
        self.post_changes(session, {"edits": [
            {"op": "delete", "items": ["a", "a", "b", "c", "d"]}, {"op": "delete", "items": ["a", "c"]},
            {"op": "delete", "sections": ["t", "t"]}]})
        rows = [[0, 0], [0, 1], [0, 2]]
        expected = {
            "indexed": {"sections": {"deleted": [1]}, "items": {"deleted": [*rows, [1, 0]]}},
            "staged": [{"name": "deletes", "counts": [0], "sections": {"deleted": [1]}, "items": {"deleted": rows}}],
            "sequential": [{"op": "remove", "at": 0, "count": 4}],
        }
        for dialect, changes in expected.items():
            with self.subTest(dialect):
                self.assertEqual(self.get_changes(session, {"since": first, "dialect": dialect}).json["changes"], changes)

    def test_rows_under_new_ids_are_warned_of_in_a_session_too(self):
        session, first = self.made([{"id": f"a{n}", "content": {"name": n}} for n in range(10)])
        renamed = [{"id": f"b{n}", "content": {"name": n}} for n in range(10)]
        for answer in (self.post_changes(session, renamed), self.get_changes(session, {"since": first})):
            self.assertEqual(self.assertChangeset(answer).get("warnings"), ["identity-churn"])
