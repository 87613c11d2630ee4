"""Known mistakes of differs and their clients, each with a list that shows it."""

import re
from support.appliers import DIALECTS
from support.case import ServiceCase
from support.jsontext import exact
from support.replica import Replica
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
            "sections": {"moved": [{"from": 0, "to": 2}], "updated": [{"from": 0, "at": 2, "section": head, "as": "reconfigure"}]},
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
                    {"name": "headers", "counts": [0, 0, 5], "sections": {"updated": [{"at": 2, "section": head, "as": "reconfigure"}]}}])

    def test_indexes_of_two_states_and_those_of_the_moment_are_not_mixed(self):
        c, d = {"id": "c", "content": 1}, {"id": "d", "content": 1}
        old, new = list("xabcd"), [d, "a", "b", c]
        self.assertEqual(self.changes(old, new, "indexed"), {"items": {
            "deleted": [[0, 0]], "moved": [{"from": [0, 4], "to": [0, 0]}],
            "updated": [{"from": [0, 4], "at": [0, 0], "item": d, "as": "reconfigure"},
                        {"from": [0, 3], "at": [0, 3], "item": c, "as": "reconfigure"}]}})
        self.assertEqual(self.changes(old, new, "sequential"), [
            {"op": "remove", "at": 0, "count": 1}, {"op": "move", "from": 3, "to": 0},
            {"op": "update", "at": 0, "rows": [{"item": d, "in": "main"}], "as": "reconfigure"},
            {"op": "update", "at": 3, "rows": [{"item": c, "in": "main"}], "as": "reconfigure"}])

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

    def test_rows_under_new_ids_are_warned_of_in_a_session_too_and_only_the_writer_is(self):
        session, first = self.made([{"id": f"a{n}", "content": {"name": n}} for n in range(10)])
        renamed = [{"id": f"b{n}", "content": {"name": n}} for n in range(10)]
        answer = self.post_changes(session, renamed)
        self.assertEqual(self.assertChangeset(answer).get("warnings"), [{"code": "identity-churn"}])
        self.assertNotIn("warnings", self.assertChangeset(self.get_changes(session, {"since": first})))
        # Whatever the writer is shown of it.
        for letter, query in zip("cdefg", ({"since": ""}, {"since": first}, {"view": '{"limit":3}'}, {"at": "start"}, {"reload": "true"})):
            with self.subTest(query):
                renamed = [{"id": f"{letter}{n}", "content": {"name": n}} for n in range(10)]
                answer = self.post_changes(session, renamed, query)
                self.assertEqual(answer.json.get("warnings"), [{"code": "identity-churn"}])

    def test_the_warning_comes_where_the_id_is_a_part_of_the_content(self):
        def people(write):
            return [{"id": write(f"4a03c163-2598-4adf-aec1-{at:012x}"), "name": f"name {at}"} for at in range(10, 20)]

        for name, write in (("made anew", lambda text: text[::-1]), ("in capitals", str.upper)):
            with self.subTest(name):
                session, _ = self.made(people(str), query={"idAt": "/id"})
                answer = self.post_changes(session, people(write), {"idAt": "/id"})
                self.assertEqual(self.assertChangeset(answer).get("warnings"), [{"code": "identity-churn"}])


class Stored(ServiceCase):
    """The state of a session, whatever its readers are shown."""

    def replicas(self, session):
        """A client of each dialect that shows the head."""
        chosen = {dialect: Replica(dialect) for dialect in DIALECTS}
        self.follow(session, chosen)
        return chosen

    def follow(self, session, replicas):
        """Each asks once, and then shows the head."""
        head = self.get_session(session)
        for dialect, replica in replicas.items():
            answer = self.get_changes(session, {"dialect": dialect, "since": replica.revision or ""})
            self.assertEqual(replica.receive(answer.exact), "adopted")
            self.assertEqual(replica.revision, head.json["revision"])
            self.assertTrue(replica.shows(head.exact["state"]), (dialect, replica.model, head.text))

    def test_a_change_of_what_is_hidden_is_stored_though_no_row_changes(self):
        def state(expanded, *hidden):
            return of(section("closed", *hidden[:2], expanded=expanded), section("open", {
                "id": "p", "expanded": expanded, "items": [hidden[2]]}))

        session, first = self.made(state(False, "a", "b", "c"))
        replicas = self.replicas(session)
        hidden = [{"id": "b", "content": 1}, {"id": "x"}, {"id": "c", "kind": "k"}]
        head = self.wrote(session, state(False, *hidden))
        self.assertNotEqual(head.split("-")[1], first.split("-")[1])
        self.assertEqual(self.get_session(session).exact["state"], canonical(state(False, *hidden)))
        for dialect, nothing in {"keyed": [], "indexed": {}, "staged": [], "sequential": []}.items():
            with self.subTest(dialect):
                changeset = self.get_changes(session, {"since": first, "dialect": dialect}).json
                self.assertEqual((changeset["to"], changeset["changes"]), (head, nothing))
        self.follow(session, replicas)
        self.wrote(session, state(True, *hidden))
        self.follow(session, replicas)
        self.assertEqual(self.get_changes(session, {"since": first, "dialect": "indexed"}).json["changes"]["items"]["inserted"], [
            {"at": [0, 0], "item": hidden[0]}, {"at": [0, 1], "item": hidden[1]},
            {"at": [1, 1], "item": {**hidden[2], "level": 1, "parent": "p"}}])

    def test_what_moved_while_it_was_hidden_comes_out_where_it_is(self):
        first_child, second_child = {"id": "h", "content": 1}, {"id": "i", "items": ["deep"]}
        session, first = self.made([{"id": "p", "expanded": False, "items": [first_child, second_child]}, "q", "r"])
        replicas = self.replicas(session)
        moved = self.post_changes(session, {"edits": [
            {"op": "move", "items": ["p"], "after": "r"}, {"op": "move", "items": ["i"], "before": "h"},
            {"op": "update", "items": [{"id": "h", "content": 2}]}]}).json
        self.assertEqual(moved["changes"], [{"op": "move", "item": "p", "in": "main", "before": None}])
        self.follow(session, replicas)
        self.post_changes(session, {"edits": [{"op": "expand", "items": ["p"]}]})
        shown = self.get_changes(session, {"since": moved["to"], "dialect": "indexed"}).json["changes"]["items"]
        below = {"level": 1, "parent": "p"}
        self.assertEqual(shown["inserted"], [
            {"at": [0, 3], "item": {"id": "i", **below, "children": 1}},
            {"at": [0, 4], "item": {"id": "deep", "level": 2, "parent": "i"}},
            {"at": [0, 5], "item": {"id": "h", "content": 2, **below}}])
        self.assertEqual([each["item"] for each in shown["updated"]], [{"id": "p", "children": 2}])
        self.assertEqual(set(shown), {"inserted", "updated"})
        self.follow(session, replicas)
        for edit in ({"op": "collapse", "items": ["p"]}, {"op": "move", "items": ["h"], "before": "q"},
                     {"op": "move", "items": ["q"], "into": {"item": "p"}}, {"op": "expand", "items": ["p"]}):
            with self.subTest(edit):
                self.post_changes(session, {"edits": [edit]})
                self.follow(session, replicas)

    def test_contents_and_ids_are_one_only_where_their_text_says_so(self):
        def items(identity, content=None):
            return f'[{{"id":{identity}' + (f',"content":{content}' if content else "") + "}]"

        one = [('{"a":1,"b":"\\u0041"}', ' { "b" : "A", "a" : 1 } '), ('"\\u00e9"', '"\u00e9"'), ("[1,{}]", "[ 1 , { } ]")]
        two = [("1", "1.0"), ("0", "-0"), ("1e2", "100"), ("1e400", "1e401"), ("null", None), ('"1"', "1"), ("[1,2]", "[2,1]"),
               ("9007199254740993", "9007199254740992"), ('"\u00e9"', '"e\u0301"'), ('{"a":1}', '{"a":1,"b":null}')]
        pairs = [(items('"a"', old), items('"a"', new), old in dict(one)) for old, new in one + two]
        ids = [('"\u00e9"', '"\\u00e9"', True), ("12", '"12"', True), ('"\u00e9"', '"e\u0301"', False), ('"a"', '"A"', False),
               ('"\u212b"', '"\u00c5"', False), ("9007199254740993", "9007199254740992", False), ("0", "-0", False)]
        pairs += [(items(old), items(new), same) for old, new, same in ids]
        for old, new, same in pairs:
            with self.subTest(old=old, new=new):
                session, first = self.made(old)
                second = self.wrote(session, new)
                self.assertEqual(second == first, same)
                held = self.get_session(session).exact["state"]["sections"][0]["items"]
                # An id beyond what a double holds is shown as a string.
                shown = re.sub(r'"id":(\d{16,})', r'"id":"\1"', old if same else new)
                self.assertEqual(held, exact(shown))
                third = self.wrote(session, old)
                self.assertEqual((third == first, third.split("-")[1]), (same, first.split("-")[1]))
