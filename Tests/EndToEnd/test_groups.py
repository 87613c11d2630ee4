"""Sections out of flat rows, ids within a section, and sections that a view makes: CONTRACT §2 and §10."""

import json

from support.client import session_path
from support.jsontext import Number, key
from support.shaped import Shaped
from support.tokens import bearer
from support.views import viewed
from test_views import ViewCase, view_query

BY_SHELF = {"itemsAt": "/rows", "groupAt": "/shelf"}


def rows(*pairs):
    return {"rows": [{"id": identity, "shelf": shelf} for identity, shelf in pairs]}


class Grouped(Shaped):
    def ids(self, session, query=None):
        state = self.get(session_path(session), query or {}).json["state"]
        return {section["id"]: [item["id"] for item in section["items"]] for section in state["sections"]}

    def test_a_row_whose_group_changes_is_one_move_in_every_dialect(self):
        for dialect in ("keyed", "indexed", "staged", "diffable", "sequential", "counts", "json-patch"):
            with self.subTest(dialect):
                session, _ = self.made(rows(("a", "x"), ("b", "y"), ("c", "x")), query=BY_SHELF)
                answer = self.post_changes(session, rows(("a", "x"), ("b", "y"), ("c", "y")), {**BY_SHELF, "dialect": dialect})
                self.assertStatus(answer, 200)
                changes = answer.json["changes"] if isinstance(answer.json, dict) else answer.json
                text = json.dumps(changes)
                self.assertNotIn('"remove"', text)
                if dialect == "counts":
                    self.assertEqual(changes, {"items": {"moved": 1, "updated": 1}})
                self.assertEqual(self.ids(session), {"x": ["a"], "y": ["b", "c"]})

    def test_a_session_keeps_its_shape_and_edits_do_not_group(self):
        session = self.new_name()
        shape = {**BY_SHELF, "groupPrefix": 1}
        self.assertStatus(self.put_session(session, {"shape": shape, "state": rows(("a", "xa"), ("b", "y"), ("c", "xb"))}), 201)
        self.assertEqual(self.ids(session), {"x": ["a", "c"], "y": ["b"]})
        self.assertStatus(self.post_changes(session, {"edits": [{"op": "move", "items": ["c"], "into": {"section": "y"}}]}), 200)
        self.assertEqual(self.ids(session), {"x": ["a"], "y": ["b", "c"]})
        self.assertStatus(self.post_changes(session, rows(("a", "xa"), ("b", "y"), ("c", "xb"), ("d", 7))), 200)
        self.assertEqual(self.ids(session), {"x": ["a", "c"], "y": ["b"], "7": ["d"]})

    def test_a_thousand_rows_that_go_round_are_right_from_every_base(self):
        query = {"itemsAt": "/rows", "groupAt": "/shelf"}
        session, base = self.made(rows(*((number, number % 37) for number in range(1000))), query=query)
        for turn in range(1, 5):
            document = rows(*((number, (number + turn * (number % 91 == 0)) % 37) for number in range(1000) if number % 97 != turn))
            self.assertStatus(self.post_changes(session, document, query), 200)
            expected = {}
            for row in document["rows"]:
                expected.setdefault(row["shelf"], []).append(row["id"])
            self.assertEqual(self.ids(session), expected)
            # Starting from nothing, the result is the same.
            changeset = self.diff({"rows": []}, document, query=query).json
            self.assertEqual(sum(len(each["section"]["items"]) for each in changeset["changes"] if "section" in each), len(document["rows"]))

    def test_two_lists_are_joined(self):
        query = {"sectionsAt": "/shelves", "itemsAt": "/rows", "groupAt": "/shelf", "sectionExpandedAt": "/open"}
        document = {**rows(("a", "x"), ("b", "y"), ("c", "z")), "shelves": [{"id": "y", "t": 1}, {"id": "e"}, {"id": "x", "open": False}]}
        session, _ = self.made(document, query=query)
        state = self.get_session(session).json["state"]
        self.assertEqual([(each["id"], each.get("content"), each.get("expanded", True)) for each in state["sections"]],
                         [("y", {"id": "y", "t": 1}, True), ("e", {"id": "e"}, True), ("x", {"id": "x", "open": False}, False), ("z", {"group": "z"}, True)])
        document["shelves"][0]["t"] = 2
        changes = self.assertChangeset(self.post_changes(session, document, query))["changes"]
        self.assertEqual(changes, [{"op": "update", "section": {"id": "y", "content": {"id": "y", "t": 2}}, "as": "reconfigure"}])

    def test_one_thing_in_two_sections(self):
        query = {"groupAt": "/shelf", "idScope": "section"}
        session, _ = self.made([{"id": "s/1", "shelf": "a"}, {"id": "s/1", "shelf": "b"}], query=query)
        self.assertEqual(self.ids(session), {"a": ["a/s~11"], "b": ["b/s~11"]})
        item = self.get(session_path(session, "items", "b/s~11")).json
        self.assertEqual((item["section"], item["indexPath"]), ("b", [1, 0]))
        self.assertStatus(self.post_changes(session, {"edits": [{"op": "delete", "items": ["a/s~11"]}]}), 200)
        self.assertEqual(self.ids(session), {"a": [], "b": ["b/s~11"]})

    def test_mistakes_change_nothing(self):
        session, _ = self.made(rows(("a", "x")), query=BY_SHELF)
        revision = self.get_session(session).json["revision"]
        for query in ({"itemsAt": "/rows", "groupPrefix": 1}, {"groupAt": "/shelf", "sectionsAt": "/s"}, {**BY_SHELF, "groupPrefix": 0},
                      {**BY_SHELF, "groupPrefix": "x"}, {**BY_SHELF, "idScope": "list"}, {"idScope": "section"}, {**BY_SHELF, "groupAt": "x"}):
            with self.subTest(query):
                self.assertProblem(self.post_changes(session, rows(("a", "y")), query), 400, "malformed-request")
        self.assertProblem(self.put_session(session, {"state": [], "shape": {"groupPrefix": 1}}), 422, "wrong-shape")
        self.assertEqual(self.get_session(session).json["revision"], revision)


class OfAnyValue(ViewCase):
    """A section has the value of its first element as its header."""

    def shown(self, session, query=None):
        state = self.get(session_path(session), query or {}).exact["state"]
        return [(section["id"], section["content"]["group"], [int(key(item["id"])) for item in section["items"]]) for section in state["sections"]]

    def test_booleans_and_numbers_by_their_text(self):
        values = ["true", "false", "1", "1.0", '"1"', "1e2", "100", '"true"', "null", '""', "-0", "9007199254740993"]
        document = "[" + ",".join(f'{{"id":{number},"g":{value}}}' for number, value in enumerate(values)) + ',{"id":12}]'
        expected = [("true", True, [0, 7]), ("false", False, [1]), (Number("1"), Number("1"), [2, 4]), ("1.0", Number("1.0"), [3]),
                    ("1e2", Number("1e2"), [5]), (Number("100"), Number("100"), [6]), ("none", None, [8, 9, 12]),
                    (Number("-0"), Number("-0"), [10]), ("9007199254740993", Number("9007199254740993"), [11])]
        shaped, _ = self.made_of(document, {"groupAt": "/g"})
        self.assertEqual(self.shown(shaped), expected)
        # A view has the same sections.
        plain, _ = self.made_of(document, {"idAt": "/id"})
        self.assertEqual(self.shown(plain, {"view": json.dumps({"group": {"at": "/content/g"}})}), expected)
        cut = [("tr", "tr", [0, 7]), ("fa", "fa", [1]), ("1", "1", [2, 4]), ("1.", "1.", [3]), ("1e", "1e", [5]), ("10", "10", [6]),
               ("none", None, [8, 9, 12]), ("-0", "-0", [10]), ("90", "90", [11])]
        shaped, _ = self.made_of(document, {"groupAt": "/g", "groupPrefix": 2})
        self.assertEqual(self.shown(shaped), cut)
        self.assertEqual(self.shown(plain, {"view": json.dumps({"group": {"at": "/content/g", "prefix": 2}})}), cut)

    def made_of(self, text, query):
        session = self.new_name()
        answer = self.post_changes(session, text, query)
        self.assertStatus(answer, 201)
        return session, answer

    def test_an_odd_value_stops_no_list(self):
        session, _ = self.made([{"id": 1, "g": "a"}], query={"groupAt": "/g"})
        odd = [{"id": 1, "g": "a"}, {"id": 2, "g": []}, {"id": 3, "g": {"x": 1}}, {"id": 4, "g": "a\u0007"}, {"id": 5, "g": "x" * 2049}, {"id": 6}]
        warnings = [{"code": "no-group", "pointer": f"/{number}/g"} for number in (1, 2, 3, 4)]
        for number in range(3):
            odd[0]["n"] = odd[5]["n"] = number
            answer = self.post_changes(session, odd, {"groupAt": "/g"})
            self.assertStatus(answer, 200)
            self.assertEqual(answer.json["warnings"], warnings)
            self.assertEqual(self.shown(session), [("a", "a", [1]), ("none", None, [2, 3, 4, 5, 6])])
        answer = self.post_changes(session, odd, {"groupAt": "/g", "groupPrefix": 1})
        self.assertEqual(answer.json["warnings"], warnings[:2])
        self.assertEqual(self.shown(session), [("a", "a", [1, 4]), ("none", None, [2, 3, 6]), ("x", "x", [5])])
        self.assertNotIn("warnings", self.post_changes(session, odd[:1], {"groupAt": "/g"}).json)

    def test_the_first_element_says_what_the_header_is(self):
        session, _ = self.made([{"id": 1, "g": "1"}, {"id": 2, "g": 1}], query={"groupAt": "/g"})
        query = view_query({"group": {"at": "/content/g"}})
        plain, base = self.made([{"id": 1, "g": "1"}, {"id": 2, "g": 1}], query={"idAt": "/id"})
        stream = self.opened(plain, self.get_changes(plain, query).json["to"], **query)
        for turn in ([2, 1], [1, 2]):
            document = [{"id": each, "g": {1: "1", 2: 1}[each]} for each in turn]
            header = document[0]["g"]
            for changes in (self.post_changes(session, document, {"groupAt": "/g"}).json["changes"],
                            self.post_changes(plain, document, {"idAt": "/id"}) and self.assertBatch(stream.next_event())["changes"]):
                self.assertEqual([each["op"] for each in changes], ["move", "update"])
                self.assertEqual(changes[1], {"op": "update", "section": {"id": header, "content": {"group": header}}, "as": "reconfigure"})

    def test_a_day_is_a_row_of_a_flat_list(self):
        query = {"groupAt": "/due", "groupPrefix": 10}
        session, base = self.made([{"id": 1, "due": "2026-11-28T09"}, {"id": 2, "due": "2026-11-29T10"}], query=query)
        flat = self.get_changes(session, {"dialect": "sequential"}).json
        self.assertEqual([section["content"] for section in flat["state"]["sections"]], [{"group": "2026-11-28"}, {"group": "2026-11-29"}])
        document = [{"id": 1, "due": "2026-11-28T09"}, {"id": 2, "due": "2026-11-30T10"}]
        changes = self.post_changes(session, document, {**query, "dialect": "sequential"}).json["changes"]
        headers = [row["section"] for change in changes for row in change.get("rows", []) if "section" in row]
        self.assertEqual([(each["id"], each["content"]) for each in headers], [("2026-11-30", {"group": "2026-11-30"})], changes)

    def test_a_tokens_view_shows_the_headers_that_it_makes(self):
        session = f"t{self.new_name()}"
        self.assertStatus(self.post_changes(session, {"sections": [{"id": "s", "content": {"secret": 1}, "items": [
            {"id": 1, "content": {"done": True}}]}]}), 201)
        for view, content in (({"group": {"at": "/content/done"}}, {"group": True}), ({}, None),
                              ({"group": {"at": "/content/done"}, "sectionFields": []}, None),
                              ({"group": {"at": "/content/done"}, "sectionFields": ["/content/group"]}, {"group": True})):
            with self.subTest(view):
                token = self.request("POST", session_path(session, "tokens"), {"scope": ["read"], "view": view}).json["token"]
                state = self.get_session(session, **bearer(token)).json["state"]
                self.assertEqual(state["sections"][0].get("content"), content)

    def test_sections_are_ordered_by_their_values(self):
        session, _ = self.made([{"id": 1, "g": 10}, {"id": 2, "g": 9}, {"id": 3, "g": False}, {"id": 4}], query={"idAt": "/id"})
        shown = self.shown(session, {"view": json.dumps({"group": {"at": "/content/g"}, "sectionOrder": [{"at": "/content/group"}]})})
        self.assertEqual([each for _, each, _ in shown], [None, False, Number("9"), Number("10")])


class Scoped(Shaped):
    def test_a_long_id_of_a_section_is_not_stored_without_bound(self):
        rows = [{"id": number} for number in range(20_000)]
        answer = self.post_changes(self.new_name(), [{"id": "y" * 2040, "items": rows}], {"sectionsAt": "", "idScope": "section"})
        self.assertProblem(answer, 422, "limit-exceeded")


class SectionsOfAView(ViewCase):
    LIST = {"sections": [
        {"id": "s", "content": {"n": 2}, "expanded": False, "items": [{"id": "a", "content": {"g": "Red", "n": 3}}, {"id": "b", "content": {"g": "blue"}}]},
        {"id": "t", "content": {"n": 1}, "items": [{"id": "c", "content": {"g": "Red", "n": 1}, "items": [{"id": "d"}]}]},
        {"id": "e", "content": {"n": 3}, "items": []}]}
    VIEWS = (
        {"group": {"at": "/content/g"}}, {"group": {"at": "/content/g", "prefix": 1}, "order": [{"at": "/content/n"}]},
        {"group": {"at": "/id"}, "sectionOrder": [{"at": "/id", "descending": True}], "limit": 2, "emptySections": False},
        {"sectionOrder": [{"at": "/content/n"}], "emptySections": False}, {"collapsed": {"sections": ["t"], "items": ["c"]}},
        {"group": {"at": "/content/g"}, "collapsed": {"sections": ["Red"], "items": ["c"]}},
        {"where": [{"any": [{"at": "/content/g", "is": "BLUE", "fold": True}, {"at": "/content/n", "above": 2}]}], "emptySections": False})

    def test_answers_windows_and_lookups_show_what_the_view_says(self):
        session, _ = self.made(self.LIST)
        exact = self.get_session(session).exact["state"]
        for view in self.VIEWS:
            with self.subTest(view):
                query = {"view": json.dumps(view)}
                shown = self.get(session_path(session), query).exact["state"]
                self.assertEqual(shown, viewed(exact, view))
                window = self.get_changes(session, {**query, "at": "start", "after": 1}).json
                everything = self.get_changes(session, query).json
                found = [item["id"] for section in window["state"]["sections"] for item in section["items"]]
                everyone = [item["id"] for section in everything["state"]["sections"] for item in section["items"]]
                self.assertEqual(found, everyone[:2])
                for identity in everyone:
                    item = self.get(session_path(session, "items", identity), query).json
                    self.assertEqual(item["section"], next(section["id"] for section in everything["state"]["sections"]
                                                           if identity in [each["id"] for each in section["items"]]))

    def test_a_stream_follows_a_group(self):
        session, _ = self.made(self.LIST)
        query = view_query({"group": {"at": "/content/g"}, "sectionOrder": [{"at": "/id"}]})
        stream = self.opened(session, self.get_changes(session, query).json["to"], **query)
        edit = {"op": "update", "items": [{"id": "b", "content": {"g": "Red"}}]}
        self.assertStatus(self.post_changes(session, {"edits": [edit]}), 200)
        changes = self.assertBatch(stream.next_event())["changes"]
        self.assertEqual([each["op"] for each in changes], ["move", "remove", "update"], changes)
        self.assertEqual(changes[1], {"op": "remove", "section": "blue"})

    def test_sections_that_a_view_makes_are_not_marked(self):
        session, _ = self.made(self.LIST)
        query = {"view": json.dumps({"group": {"at": "/content/none"}})}
        state = {"sections": [*self.LIST["sections"], {"id": "none", "items": []}]}
        self.assertStatus(self.post_changes(session, state), 200)
        base = self.get_changes(session, query).json["to"]
        self.assertStatus(self.post_changes(session, {"edits": [{"op": "reload", "sections": ["none"]}]}), 200)
        self.assertEqual(self.get_changes(session, {**query, "since": base}).json["changes"], [])

    def test_what_is_not_understood_is_refused(self):
        session, _ = self.made(self.LIST)
        for view in ({"group": {}}, {"group": {"at": "/content/g", "prefix": 0}}, {"sectionOrder": [{"at": "/kind"}]}, {"emptySections": 1},
                     {"collapsed": ["a"]}, {"where": [{"any": [{"at": "/id"}]}]}, {"where": [{"at": "/id", "is": 1, "fold": 1}]}):
            with self.subTest(view):
                self.assertProblem(self.get_changes(session, {"view": json.dumps(view)}), 400, "malformed-request")
        for view in ({"collapsed": {"items": list(range(1001))}}, {"sectionOrder": [{"at": "/id"}] * 5},
                     {"where": [{"any": [{"at": "/id", "is": 1}] * 16}]}):
            self.assertProblem(self.get_changes(session, {"view": json.dumps(view)}), 422, "limit-exceeded")
