"""POST of edits: every operation, target and refusal of CONTRACT §3."""

from support.case import ServiceCase
from support.states import canonical


def section(identity, *items, **members):
    return {"id": identity, "items": list(items), **members}


def of(*sections):
    return {"sections": list(sections)}


BASE = of(section("s", "a", {"id": "b", "content": 1, "kind": "k", "items": ["c", "d"]}), section("t", "e"), section("u"))


def base(**replaced):
    """BASE with the items of some sections replaced."""
    return of(*(section(each["id"], *replaced.get(each["id"], each["items"])) for each in BASE["sections"]))


B = {"id": "b", "content": 1, "kind": "k", "items": ["c", "d"]}
X, Y = {"id": "x"}, {"id": "y", "content": 2}

# The effect of each edit on BASE.
EDITS = {
    "insert: at the end of the last section": ({"op": "insert", "items": [X, Y]}, base(u=["x", Y])),
    "insert: one alone at the start": ({"op": "insert", "items": [X, Y], "at": "start"}, base(s=["x", Y, "a", B])),
    "insert: one alone at the end": ({"op": "insert", "items": [X], "at": "end"}, base(u=["x"])),
    "insert: before a sibling": ({"op": "insert", "items": [X, Y], "before": "b"}, base(s=["a", "x", Y, B])),
    "insert: after a sibling": ({"op": "insert", "items": [X, Y], "after": "a"}, base(s=["a", "x", Y, B])),
    "insert: before a child": ({"op": "insert", "items": [X], "before": "d"}, base(s=["a", {**B, "items": ["c", "x", "d"]}])),
    "insert: after a child": ({"op": "insert", "items": [X], "after": "d"}, base(s=["a", {**B, "items": ["c", "d", "x"]}])),
    "insert: into an empty section": ({"op": "insert", "items": [X], "into": {"section": "u"}}, base(u=["x"])),
    "insert: into a section's end": ({"op": "insert", "items": [X], "into": {"section": "t"}}, base(t=["e", "x"])),
    "insert: into a section's start": ({"op": "insert", "items": [X], "into": {"section": "t"}, "at": "start"}, base(t=["x", "e"])),
    "insert: into an item": ({"op": "insert", "items": [X], "into": {"item": "b"}}, base(s=["a", {**B, "items": ["c", "d", "x"]}])),
    "insert: into an item's start": ({"op": "insert", "items": [X], "into": {"item": "b"}, "at": "start"},
                                     base(s=["a", {**B, "items": ["x", "c", "d"]}])),
    "insert: into a childless item": ({"op": "insert", "items": [X], "into": {"item": "e"}}, base(t=[{"id": "e", "items": ["x"]}])),
    "insert: into a bare id": ({"op": "insert", "items": [X], "into": "e"}, base(t=[{"id": "e", "items": ["x"]}])),
    "insert: into a bare section": ({"op": "insert", "items": [X], "into": "t"}, base(t=["e", "x"])),
    "insert: with children": ({"op": "insert", "items": [{"id": "x", "items": [Y]}], "into": "u"}, base(u=[{"id": "x", "items": [Y]}])),
    "insert: sections at the end": ({"op": "insert", "sections": [section("v", "x"), {"id": "w", "content": 1, "items": []}]},
                                    of(*BASE["sections"], section("v", "x"), section("w", content=1))),
    "insert: sections at the start": ({"op": "insert", "sections": [section("v")], "at": "start"}, of(section("v"), *BASE["sections"])),
    "insert: sections alone at the end": ({"op": "insert", "sections": [section("v")], "at": "end"}, of(*BASE["sections"], section("v"))),
    "insert: a section before": ({"op": "insert", "sections": [section("v")], "before": "t"},
                                 of(BASE["sections"][0], section("v"), *BASE["sections"][1:])),
    "insert: a section after": ({"op": "insert", "sections": [section("v")], "after": "s"},
                                of(BASE["sections"][0], section("v"), *BASE["sections"][1:])),
    "delete: an item": ({"op": "delete", "items": ["a"]}, base(s=[B])),
    "delete: takes children along": ({"op": "delete", "items": ["b"]}, base(s=["a"])),
    "delete: a child": ({"op": "delete", "items": ["c"]}, base(s=["a", {**B, "items": ["d"]}])),
    "delete: the last children": ({"op": "delete", "items": ["c", "d"]}, base(s=["a", {"id": "b", "content": 1, "kind": "k"}])),
    "delete: what is gone is ignored": ({"op": "delete", "items": ["zzz", "a"]}, base(s=[B])),
    "delete: a parent and its child": ({"op": "delete", "items": ["b", "c"]}, base(s=["a"])),
    "delete: a section": ({"op": "delete", "sections": ["s", "zzz"]}, of(*BASE["sections"][1:])),
    "move: before": ({"op": "move", "items": ["b"], "before": "a"}, base(s=[B, "a"])),
    "move: after": ({"op": "move", "items": ["a"], "after": "b"}, base(s=[B, "a"])),
    "move: to the end": ({"op": "move", "items": ["a"]}, base(s=[B], u=["a"])),
    "move: one alone at the start": ({"op": "move", "items": ["e", "b"], "at": "start"}, base(s=["e", B, "a"], t=[])),
    "move: one alone at the end": ({"op": "move", "items": ["b", "a"], "at": "end"}, base(s=[], u=[B, "a"])),
    "move: a batch keeps its order": ({"op": "move", "items": ["e", "a"], "into": {"section": "u"}}, base(s=[B], t=[], u=["e", "a"])),
    "move: into an item": ({"op": "move", "items": ["a"], "into": {"item": "b"}, "at": "start"}, base(s=[{**B, "items": ["a", "c", "d"]}])),
    "move: with its children": ({"op": "move", "items": ["b"], "into": {"section": "t"}, "at": "start"}, base(s=["a"], t=[B, "e"])),
    "move: a child out": ({"op": "move", "items": ["d"], "after": "b"}, base(s=["a", {**B, "items": ["c"]}, "d"])),
    "move: sections": ({"op": "move", "sections": ["s"], "after": "t"}, of(*(BASE["sections"][n] for n in (1, 0, 2)))),
    "move: sections to the end": ({"op": "move", "sections": ["t", "s"]}, of(*(BASE["sections"][n] for n in (2, 1, 0)))),
    "move: sections before": ({"op": "move", "sections": ["u"], "before": "t"}, of(*(BASE["sections"][n] for n in (0, 2, 1)))),
    "move: sections to the start": ({"op": "move", "sections": ["u", "t"], "at": "start"}, of(*(BASE["sections"][n] for n in (2, 1, 0)))),
    "update: the members it names": ({"op": "update", "items": [{"id": "b", "content": 2}]}, base(s=["a", {**B, "content": 2}])),
    "update: kind and expanded": ({"op": "update", "items": [{"id": "b", "kind": "l", "expanded": False}]},
                                  base(s=["a", {**B, "kind": "l", "expanded": False}])),
    "update: a section": ({"op": "update", "sections": [{"id": "t", "content": {"title": 1}}]},
                          of(BASE["sections"][0], section("t", "e", content={"title": 1}), BASE["sections"][2])),
    "collapse: an item": ({"op": "collapse", "items": ["b"]}, base(s=["a", {**B, "expanded": False}])),
    "expand: what is expanded": ({"op": "expand", "items": ["b", "a"]}, BASE),
    "collapse: a section": ({"op": "collapse", "sections": ["s"]}, of({**BASE["sections"][0], "expanded": False}, *BASE["sections"][1:])),
    "clear: all sections": ({"op": "clear"}, base(s=[], t=[], u=[])),
    "clear: some sections": ({"op": "clear", "sections": ["s"]}, base(s=[])),
}

# Why each edit is refused: (pointer below the edit, code).
REFUSALS = {
    "no op": ({"items": ["a"]}, "", "wrong-shape"),
    "an unknown op": ({"op": "upsert", "items": ["a"]}, "/op", "wrong-shape"),
    "items and sections": ({"op": "delete", "items": ["a"], "sections": ["s"]}, None, "wrong-shape"),
    "neither items nor sections": ({"op": "delete"}, None, "wrong-shape"),
    "before and after": ({"op": "move", "items": ["a"], "before": "b", "after": "e"}, None, "wrong-shape"),
    "before and into": ({"op": "move", "items": ["a"], "before": "b", "into": "t"}, None, "wrong-shape"),
    "after and into": ({"op": "move", "items": ["a"], "after": "b", "into": "t"}, None, "wrong-shape"),
    "at with before": ({"op": "move", "items": ["a"], "before": "b", "at": "start"}, None, "wrong-shape"),
    "at with after": ({"op": "move", "items": ["a"], "after": "b", "at": "end"}, None, "wrong-shape"),
    "at nowhere": ({"op": "insert", "items": [X], "at": "middle"}, "/at", "wrong-shape"),
    "an unknown member": ({"op": "delete", "items": ["a"], "why": 1}, "/why", None),
    "a place for a delete": ({"op": "delete", "items": ["a"], "before": "b"}, None, "wrong-shape"),
    "a place for an update": ({"op": "update", "items": [{"id": "a"}], "into": "t"}, None, "wrong-shape"),
    "a place for a mark": ({"op": "reload", "items": ["a"], "at": "start"}, None, "wrong-shape"),
    "a section in a section": ({"op": "insert", "sections": [section("v")], "into": {"section": "s"}}, "/into", "wrong-shape"),
    "ids for inserted sections": ({"op": "insert", "sections": ["v"]}, "/sections/0", "wrong-shape"),
    "ids for updated sections": ({"op": "update", "sections": ["s"]}, "/sections/0", "wrong-shape"),
    "objects for a move": ({"op": "move", "sections": [{"id": "s"}]}, "/sections/0", "wrong-shape"),
    "ids for an update": ({"op": "update", "items": ["a"]}, "/items/0", "wrong-shape"),
    "objects for a delete": ({"op": "delete", "items": [{"id": "a"}]}, "/items/0", "wrong-shape"),
    "items in an update": ({"op": "update", "items": [{"id": "b", "items": []}]}, "/items/0/items", "wrong-shape"),
    "items in a section's update": ({"op": "update", "sections": [{"id": "s", "items": []}]}, "/sections/0/items", "wrong-shape"),
    "into of two": ({"op": "insert", "items": [X], "into": {"section": "s", "item": "b"}}, "/into", "wrong-shape"),
    "an id that is there": ({"op": "insert", "items": [{"id": "a"}]}, "/items/0", "duplicate-id"),
    "an id twice in the batch": ({"op": "insert", "items": [X, X]}, "/items/1", "duplicate-id"),
    "a child's id that is there": ({"op": "insert", "items": [{"id": "x", "items": ["c"]}]}, "/items/0/items/0", "duplicate-id"),
    "a section that is there": ({"op": "insert", "sections": [section("s")]}, "/sections/0", "duplicate-id"),
    "a move of nothing": ({"op": "move", "items": ["zzz"]}, "/items/0", "unknown-id"),
    "an update of nothing": ({"op": "update", "items": [{"id": "zzz"}]}, "/items/0", "unknown-id"),
    "a reload of nothing": ({"op": "reload", "items": ["zzz"]}, "/items/0", "unknown-id"),
    "a collapse of nothing": ({"op": "collapse", "sections": ["zzz"]}, "/sections/0", "unknown-id"),
    "a clear of nothing": ({"op": "clear", "sections": ["zzz"]}, "/sections/0", "unknown-id"),
    "no such anchor": ({"op": "insert", "items": [X], "before": "zzz"}, "/before", "anchor-not-found"),
    "no such anchor after": ({"op": "move", "items": ["a"], "after": "zzz"}, "/after", "anchor-not-found"),
    "no such section anchor": ({"op": "move", "sections": ["s"], "before": "zzz"}, "/before", "anchor-not-found"),
    "an anchor in the batch": ({"op": "move", "items": ["a", "b"], "before": "b"}, "/before", "anchor-in-batch"),
    "a section anchor in the batch": ({"op": "move", "sections": ["s"], "after": "s"}, "/after", "anchor-in-batch"),
    "no such section": ({"op": "insert", "items": [X], "into": {"section": "zzz"}}, "/into", None),
    "no such parent": ({"op": "insert", "items": [X], "into": {"item": "zzz"}}, "/into", None),
    "into itself": ({"op": "move", "items": ["b"], "into": {"item": "b"}}, None, "cycle"),
    "into its child": ({"op": "move", "items": ["b"], "into": {"item": "c"}}, None, "cycle"),
    "beside its child": ({"op": "move", "items": ["b"], "before": "c"}, None, "cycle"),
}


class Edits(ServiceCase):
    def test_every_operation_and_target(self):
        for name, (edit, expected) in EDITS.items():
            with self.subTest(name):
                session, first = self.made(BASE)
                answer = self.post_changes(session, {"edits": [edit]})
                self.assertEqual(self.assertChangeset(answer)["from"], first)
                self.assertEqual(self.get_session(session).exact["state"], canonical(expected))

    def test_every_refusal_names_its_place(self):
        for name, (edit, place, code) in REFUSALS.items():
            with self.subTest(name):
                session, first = self.made(BASE)
                answer = self.post_changes(session, {"edits": [{"op": "delete", "items": ["e"]}, edit]})
                self.assertEqual(answer.status, 422, answer)
                self.assertIn(answer.json["type"], ("/problems/invalid-edit", "/problems/wrong-shape"))
                for error in answer.json["errors"]:
                    self.assertIn(code, (None, error["code"]), answer)
                    self.assertTrue(error["pointer"].startswith("/edits/1"), answer)
                pointers = [error["pointer"] for error in answer.json["errors"]]
                self.assertTrue(any(each.startswith(f"/edits/1{place or ''}") for each in pointers), answer)
                self.assertEqual(self.get_session(session).json["revision"], first, "all or nothing")

    def test_all_that_is_wrong_is_told(self):
        session, first = self.made(BASE)
        for place, code in (({"before": "zzz"}, "anchor-not-found"), ({"before": "x"}, "anchor-in-batch"), ({"into": {"item": "zzz"}}, "unknown-id")):
            with self.subTest(place):
                edit = {"op": "insert", "items": [X, {"id": "x"}, {"id": "a"}, {"id": "y", "items": ["y"]}], **place}
                problem = self.assertProblem(self.post_changes(session, {"edits": [edit]}), 422, "invalid-edit")
                errors = [(each["pointer"], each["code"]) for each in problem["errors"]]
                named = "/edits/0/" + ("into/item" if "into" in place else "before")
                self.assertEqual(sorted(errors), sorted([(named, code), *((f"/edits/0/items/{path}/id", "duplicate-id") for path in (0, 1, 2, 3)),
                                                         ("/edits/0/items/3/items/0", "duplicate-id")]))
                self.assertEqual(problem["detail"], problem["errors"][0]["detail"] + "; and 5 more")
        sections = {"op": "insert", "sections": [section("v"), section("v", "e")], "after": "zzz"}
        problem = self.assertProblem(self.post_changes(session, {"edits": [sections]}), 422, "invalid-edit")
        self.assertEqual(sorted((each["pointer"], each["code"]) for each in problem["errors"]),
                         [("/edits/0/after", "anchor-not-found"), ("/edits/0/sections/0/id", "duplicate-id"),
                          ("/edits/0/sections/1/id", "duplicate-id"), ("/edits/0/sections/1/items/0", "duplicate-id")])
        self.assertEqual(self.get_session(session).json["revision"], first)

    def test_edits_are_applied_in_order(self):
        session, _ = self.made(BASE)
        self.post_changes(session, {"edits": [
            {"op": "insert", "sections": [section("v")], "before": "t"},
            {"op": "insert", "items": [X], "into": {"section": "v"}},
            {"op": "move", "items": ["e"], "after": "x"},
            {"op": "delete", "sections": ["s"]},
            {"op": "insert", "items": [{"id": "a"}], "into": {"section": "t"}}]})
        self.assertEqual(self.get_session(session).exact["state"],
                         canonical(of(section("v", "x", "e"), section("t", "a"), section("u"))))

    def test_what_is_collapsed_is_expanded(self):
        collapsed = of(section("s", "a", {**B, "expanded": False}), section("t", "e", expanded=False), section("u"))
        cases = (({"op": "expand", "items": ["b"]}, ["c", "d"], of(BASE["sections"][0], *collapsed["sections"][1:])),
                 ({"op": "expand", "sections": ["t"]}, ["e"], of(collapsed["sections"][0], *BASE["sections"][1:])))
        for edit, shown, expected in cases:
            with self.subTest(edit):
                session, _ = self.made(collapsed)
                changes = self.assertChangeset(self.post_changes(session, {"edits": [edit]}))["changes"]
                self.assertEqual([line["id"] for each in changes if each["op"] == "insert" for line in each["items"]], shown)
                self.assertEqual(self.get_session(session).exact["state"], canonical(expected))

    def test_a_session_without_sections_has_no_place_for_items(self):
        session, _ = self.made(of())
        answer = self.post_changes(session, {"edits": [{"op": "insert", "items": [X]}]})
        self.assertEqual(answer.json["errors"][0]["code"], "no-section", answer)
        self.assertStatus(self.post_changes(session, {"edits": [{"op": "clear"}]}), 200)

    def test_a_bare_id_of_both_a_section_and_an_item_is_ambiguous(self):
        session, _ = self.made(of(section("s", "s")))
        answer = self.post_changes(session, {"edits": [{"op": "insert", "items": [X], "into": "s"}]})
        self.assertEqual((answer.status, answer.json["errors"][0]["code"]), (422, "ambiguous-id"), answer)
        self.assertEqual(answer.json["errors"][0]["pointer"], "/edits/0/into")

    def test_edits_to_a_missing_session_are_404(self):
        session = self.new_name()
        self.assertProblem(self.post_changes(session, {"edits": [{"op": "clear"}]}), 404, "session-not-found")
        self.assertProblem(self.post_changes(session, {"edits": []}), 404, "session-not-found")

    def test_no_edits_change_nothing(self):
        session, first = self.made(BASE)
        self.assertEqual(self.post_changes(session, {"edits": []}).json["to"], first)

    def test_edits_that_change_nothing_make_no_revision(self):
        session, first = self.made(BASE)
        for edit in ({"op": "delete", "items": ["zzz"]}, {"op": "expand", "items": ["b"]},
                     {"op": "update", "items": [{"id": "b", "content": 1}]}, {"op": "move", "items": ["a"], "before": "b"}):
            with self.subTest(edit):
                changeset = self.post_changes(session, {"edits": [edit]}).json
                self.assertEqual((changeset["to"], changeset["changes"]), (first, []))

    def test_ids_in_edits_are_compared_by_their_text(self):
        session, _ = self.made([1, "\u00e9"])
        self.post_changes(session, {"edits": [{"op": "delete", "items": ["1", "e\u0301"]}]})
        self.assertEqual(self.get_session(session).exact["state"], canonical(["\u00e9"]))

    def test_content_of_edits_is_kept_verbatim(self):
        session, _ = self.made(["a"])
        self.post_changes(session, '{"edits":[{"op":"update","items":[{"id":"a","content":{"z":1.0,"b":1e3}}]}]}')
        self.assertIn('{"z":1.0,"b":1e3}', self.get_session(session).text)


class Marks(ServiceCase):
    """reload and reconfigure: unchanged rows to redraw."""

    def mark(self, session, verb, **what):
        return self.post_changes(session, {"edits": [{"op": verb, **what}]})

    def test_marks_alone_make_a_new_sequence_with_the_same_digest(self):
        for verb in ("reload", "reconfigure"):
            with self.subTest(verb):
                session, first = self.made(["a", "b"])
                changeset = self.assertChangeset(self.mark(session, verb, items=["a"]))
                self.assertNotEqual(changeset["to"], first)
                self.assertEqual(changeset["to"].split("-")[1], first.split("-")[1])
                self.assertEqual(changeset["changes"], [{"op": "update", "items": [{"id": "a"}], "as": verb}])

    def test_marks_in_every_dialect(self):
        expected = {
            "indexed": {"items": {"updated": [{"from": [0, 1], "at": [0, 1], "item": {"id": "b"}, "as": "reload"}]}},
            "staged": [{"name": "updates", "counts": [2], "items": {"updated": [
                {"at": [0, 1], "item": {"id": "b"}, "as": "reload"}]}}],
            "sequential": [{"op": "update", "at": 1, "rows": [{"item": {"id": "b"}, "in": "main"}], "as": "reload"}],
            "json-patch": [],
        }
        session, first = self.made(["a", "b"])
        self.mark(session, "reload", items=["b"])
        for dialect, changes in expected.items():
            with self.subTest(dialect):
                self.assertEqual(self.get_changes(session, {"since": first, "dialect": dialect}).json["changes"], changes)
        diffable = self.get_changes(session, {"since": first, "dialect": "diffable"}).json["changes"]
        self.assertEqual((diffable["reload"], diffable["reconfigure"]), (["b"], []))

    def test_marks_of_a_section_are_section_updates_with_as(self):
        session, first = self.made(of(section("s", "a", content=1)))
        changes = self.mark(session, "reload", sections=["s"]).json["changes"]
        self.assertEqual(changes, [{"op": "update", "section": {"id": "s", "content": 1}, "as": "reload"}])
        diffable = self.get_changes(session, {"since": first, "dialect": "diffable"}).json["changes"]
        self.assertEqual((diffable["reloadSections"], diffable["reconfigureSections"]), (["s"], []))

    def test_a_changeset_carries_the_marks_of_every_revision_after_its_base(self):
        session, first = self.made(["a", "b", "c"])
        second = self.mark(session, "reload", items=["a"]).json["to"]
        self.wrote(session, ["a", "b", "c", "d"])
        third = self.mark(session, "reconfigure", items=["b"]).json["to"]
        marked = {since: [(line["id"], each["as"]) for each in self.get_changes(session, {"since": since}).json["changes"]
                          if each["op"] == "update" for line in each["items"]]
                  for since in (first, second, third)}
        self.assertEqual(sorted(marked[first]), [("a", "reload"), ("b", "reconfigure")])
        self.assertEqual(marked[second], [("b", "reconfigure")])
        self.assertEqual(marked[third], [])

    def test_marks_are_only_for_rows_visible_at_both_ends(self):
        session, first = self.made(["a"])
        self.wrote(session, ["a", "b"])
        self.mark(session, "reload", items=["a", "b"])
        changes = self.get_changes(session, {"since": first}).json["changes"]
        self.assertEqual([(each["op"], each["items"][0]["id"]) for each in changes], [("insert", "b"), ("update", "a")])
        self.wrote(session, ["b"])
        changes = self.get_changes(session, {"since": first}).json["changes"]
        self.assertEqual(sorted(each["op"] for each in changes), ["insert", "remove"])

    def test_marks_of_hidden_rows_are_sent_to_nobody(self):
        session, first = self.made(of(section("s", {"id": "p", "expanded": False, "items": ["hidden"]}, "a")))
        self.mark(session, "reload", items=["hidden", "a"])
        changes = self.get_changes(session, {"since": first}).json["changes"]
        self.assertEqual([line["id"] for each in changes for line in each["items"]], ["a"])

    def test_a_mark_and_a_write_between_are_one_changeset(self):
        session, first = self.made(["a", "b"])
        self.mark(session, "reconfigure", items=["b"])
        self.wrote(session, ["b", "a"])
        changes = self.get_changes(session, {"since": first, "dialect": "indexed"}).json["changes"]
        self.assertEqual([len(changes["items"].get(name, [])) for name in ("deleted", "inserted", "moved", "updated")], [0, 0, 1, 1])
        self.assertEqual(changes["items"]["updated"][0]["item"], {"id": "b"})

    def test_reload_beats_reconfigure(self):
        session, first = self.made(["a"])
        self.mark(session, "reload", items=["a"])
        self.mark(session, "reconfigure", items=["a"])
        self.assertEqual([each["as"] for each in self.get_changes(session, {"since": first}).json["changes"]], ["reload"])

    def test_a_marked_row_that_changed_is_one_update(self):
        session, first = self.made(["a"])
        self.post_changes(session, {"edits": [{"op": "update", "items": [{"id": "a", "content": 1}]},
                                              {"op": "reload", "items": ["a"]}]})
        self.assertEqual(self.get_changes(session, {"since": first}).json["changes"],
                         [{"op": "update", "items": [{"id": "a", "content": 1}], "as": "reload"}])

    def test_a_reset_holds_no_marks(self):
        session, first = self.made(["a"])
        self.mark(session, "reload", items=["a"])
        self.assertEqual(self.get_changes(session).exact["state"], canonical(["a"]))
