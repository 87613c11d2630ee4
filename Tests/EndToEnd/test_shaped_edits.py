"""What a session's shape reads, follows an edit: kinds, expansion, groups and ids. CONTRACT §2."""

from support.case import ServiceCase
from support.client import session_path
from support.events import Stream
from support.sources import KEY
from support.tokens import bearer, token
from test_hooks import YES, HookCase

BOARD = {"itemsAt": "/cards", "groupAt": "/status", "kindAt": "/type", "expandedAt": "/isExpanded", "childrenAt": "/parts"}
CARDS = {"cards": [
    {"id": "a", "status": "todo", "likes": 1, "type": "text", "isExpanded": True, "parts": [{"id": "a1"}, {"id": "a2", "status": "odd"}]},
    {"id": "b", "status": "todo", "type": 2}, {"id": "c", "status": "doing"}, {"id": 4}]}
TREE = {"sectionsAt": "/groups", "sectionExpandedAt": "/isExpanded", "itemsAt": "/rows"}
GROUPS = {"groups": [{"id": "x", "title": "X", "isExpanded": True, "rows": [{"id": "a"}]}, {"id": "y", "rows": []}]}
DAYS = {"groupAt": "/at", "groupPrefix": 10}
TIMES = [{"id": 1, "at": "2026-03-01T10:00"}, {"id": 2, "at": "2026-03-02T09:00"}]
MAP = {"map": True, "itemsAt": "/rows", "groupAt": "/in/it"}
ROWS = {"rows": {"a": {"in": {"it": "x"}, "n": 1}, "b": {"n": 2}}}
SCOPED = {"groupAt": "/in", "idScope": "section"}
PARTS = {"idAt": ["/type", "/no"], "kindAt": "/type"}


def update(identity, what="items", **members):
    return {"op": "update", what: [{"id": identity, **members}]}


def insert(*elements, **place):
    return {"op": "insert", "elements": elements[0] if len(elements) == 1 and "id" not in elements[0] else list(elements), **place}


def items(*new, **place):
    return {"op": "insert", "items": list(new), **place}


def move(*ids, **place):
    return {"op": "move", "items": list(ids), **place}


def into(section, **end):
    return {"into": {"section": section}, **end}


def done(*ids):
    return {"op": "delete", "items": list(ids)}


# What it is about; the shape, the document, the edits; the ids of the sections' rows; what a few elements are.
FOLLOWED = [
    ("a card whose status is patched goes to the end of that section", BOARD, CARDS, [update("a", patch={"status": "doing"})],
     {"todo": ["b"], "doing": ["c", "a"], "none": [4]}, {}),
    ("a section is made for a status that is new", BOARD, CARDS, [update("a", patch={"status": "done"})],
     {"todo": ["b"], "doing": ["c"], "none": [4], "done": ["a"]}, {"done": {"content": {"group": "done"}}}),
    ("one made for a number has its id", BOARD, CARDS, [update("a", patch={"status": 7})],
     {"todo": ["b"], "doing": ["c"], "none": [4], 7: ["a"]}, {7: {"content": {"group": 7}}}),
    ("a status that goes puts a card into none", BOARD, CARDS, [update("c", patch={"status": None})],
     {"todo": ["a", "b"], "doing": [], "none": [4, "c"]}, {}),
    ("a content that is replaced counts as well", BOARD, CARDS, [update("b", content={"id": "b", "status": "doing"})],
     {"todo": ["a"], "doing": ["c", "b"], "none": [4]}, {"b": {"kind": None}}),
    ("a like moves no row", BOARD, CARDS, [move("a", before="b"), update("a", add={"/likes": 1})],
     {"todo": ["a", "b"], "doing": ["c"], "none": [4]}, {}),
    ("nor does the same status", BOARD, CARDS, [update("a", patch={"status": "todo", "likes": 2})],
     {"todo": ["a", "b"], "doing": ["c"], "none": [4]}, {}),
    ("a section that a batch empties and fills again stays in its place", BOARD, CARDS,
     [update("c", patch={"status": "todo"}), update("b", patch={"status": "doing"})],
     {"todo": ["a", "c"], "doing": ["b"], "none": [4]}, {}),
    ("one that was made for a group goes with its last row", BOARD, CARDS,
     [update("a", patch={"status": "done"}), move("a", into={"section": "doing"})],
     {"todo": ["b"], "doing": ["c", "a"], "none": [4]}, {"a": {"content": {"status": "doing"}}}),
    ("after clear too", BOARD, CARDS, [update("a", patch={"status": "done"}), {"op": "clear", "sections": ["done"]}],
     {"todo": ["b"], "doing": ["c"], "none": [4]}, {}),
    ("a later edit of the batch may name it", BOARD, CARDS, [update("a", patch={"status": "done"}), move("c", **into("done", at="start"))],
     {"todo": ["b"], "doing": [], "none": [4], "done": ["c", "a"]}, {"c": {"content": {"status": "done"}}}),
    ("a dragged card has the status of its section", BOARD, CARDS, [move("a", after="c")],
     {"todo": ["b"], "doing": ["c", "a"], "none": [4]}, {"a": {"content": {"status": "doing"}}}),
    ("into none the member goes", BOARD, CARDS, [move("a", before=4)],
     {"todo": ["b"], "doing": ["c"], "none": ["a", 4]}, {"a": {"content": {"status": None}}}),
    ("a card without a status gets one", BOARD, CARDS, [move(4, before="a")],
     {"todo": [4, "a", "b"], "doing": ["c"], "none": []}, {4: {"content": {"status": "todo"}}}),
    ("a part that becomes a card gets one", BOARD, CARDS, [move("a2", **into("doing"))],
     {"todo": ["a", "b"], "doing": ["c", "a2"], "none": [4]}, {"a2": {"content": {"status": "doing"}}}),
    ("a card that becomes a part keeps its own", BOARD, CARDS, [move("c", into={"item": "a"})],
     {"todo": ["a", "b"], "doing": [], "none": [4]}, {"c": {"content": {"status": "doing"}, "parent": "a"}}),
    ("a part's status says nothing", BOARD, CARDS, [update("a1", patch={"status": "doing"})],
     {"todo": ["a", "b"], "doing": ["c"], "none": [4]}, {}),
    ("the kind follows", BOARD, CARDS, [update("a", patch={"type": 5}), update("b", patch={"type": None})],
     {"todo": ["a", "b"], "doing": ["c"], "none": [4]}, {"a": {"kind": "5"}, "b": {"kind": None}}),
    ("the kind that an edit says is written where one stands", BOARD, CARDS, [update("a", kind="big"), update("c", kind="big")],
     {"todo": ["a", "b"], "doing": ["c"], "none": [4]},
     {"a": {"kind": "big", "content": {"type": "big"}}, "c": {"kind": "big", "content": {"type": None}}}),
    ("it wins over the content that comes with it", BOARD, CARDS, [update("a", kind="x", patch={"type": "y"})],
     {"todo": ["a", "b"], "doing": ["c"], "none": [4]}, {"a": {"kind": "x", "content": {"type": "x"}}}),
    ("the same kind leaves its spelling", BOARD, CARDS, [update("b", kind="2")],
     {"todo": ["a", "b"], "doing": ["c"], "none": [4]}, {"b": {"kind": "2", "content": {"type": 2}}}),
    ("collapse writes isExpanded where one stands", BOARD, CARDS, [{"op": "collapse", "items": ["a", "c"]}],
     {"todo": ["a", "b"], "doing": ["c"], "none": [4]},
     {"a": {"expanded": False, "content": {"isExpanded": False}}, "c": {"expanded": False, "content": {"isExpanded": None}}}),
    ("isExpanded folds", BOARD, CARDS, [update("a", patch={"isExpanded": False})],
     {"todo": ["a", "b"], "doing": ["c"], "none": [4]}, {"a": {"expanded": False}}),
    ("one that goes unfolds", BOARD, CARDS, [{"op": "collapse", "items": ["a"]}, update("a", patch={"isExpanded": None})],
     {"todo": ["a", "b"], "doing": ["c"], "none": [4]}, {"a": {"expanded": True}}),
    ("new items are read", BOARD, CARDS, [items({"id": "d", "content": {"id": "d", "status": "todo", "type": 1, "isExpanded": False}}, "e")],
     {"todo": ["a", "b", "d"], "doing": ["c"], "none": [4, "e"]}, {"d": {"kind": "1", "expanded": False}}),
    ("an anchor says their group", BOARD, CARDS, [items({"id": "d", "content": {"status": "todo"}}, {"id": "e", "content": 5}, before="c")],
     {"todo": ["a", "b"], "doing": ["d", "e", "c"], "none": [4]}, {"d": {"content": {"status": "doing"}}}),
    ("so does an end", BOARD, CARDS, [items({"id": "d", "content": {}}, at="start")],
     {"todo": ["d", "a", "b"], "doing": ["c"], "none": [4]}, {"d": {"content": {"status": "todo"}}}),
    ("but not the end of all, which is the default", BOARD, CARDS, [items({"id": "d", "content": {"status": "todo"}}, at="end")],
     {"todo": ["a", "b", "d"], "doing": ["c"], "none": [4]}, {}),
    ("elements go to their groups", BOARD, CARDS,
     [insert({"id": "d", "status": "done", "parts": [{"id": "d1", "type": "x"}]}, {"id": "e", "status": "todo", "isExpanded": False})],
     {"todo": ["a", "b", "e"], "doing": ["c"], "none": [4], "done": ["d"]},
     {"d": {"content": {"parts": None}}, "d1": {"parent": "d", "kind": "x"}, "e": {"expanded": False}}),
    ("or where an anchor says", BOARD, CARDS, [insert({"id": "d", "status": "done"}, after="a")],
     {"todo": ["a", "d", "b"], "doing": ["c"], "none": [4]}, {"d": {"content": {"status": "todo"}}}),
    ("or below an item", BOARD, CARDS, [insert({"id": "d", "status": "done"}, into={"item": "a"}, at="start")],
     {"todo": ["a", "b"], "doing": ["c"], "none": [4]}, {"d": {"content": {"status": "done"}, "parent": "a"}}),
    ("a folded section", TREE, GROUPS, [{"op": "collapse", "sections": ["x", "y"]}],
     {"x": ["a"], "y": []}, {"x": {"expanded": False, "content": {"isExpanded": False, "title": "X"}}, "y": {"expanded": False}}),
    ("one by its content", TREE, GROUPS, [update("x", "sections", patch={"isExpanded": False})], {"x": ["a"], "y": []}, {"x": {"expanded": False}}),
    ("a section's content need not be an object", TREE, GROUPS, [{"op": "insert", "sections": [{"id": "z", "content": "Z"}]}],
     {"x": ["a"], "y": [], "z": []}, {}),
    ("listed sections stay without rows", TREE, GROUPS, [move("a", into={"section": "y"})], {"x": [], "y": ["a"]}, {}),
    ("a new section is read", TREE, GROUPS, [{"op": "insert", "sections": [{"id": "z", "content": {"id": "z", "isExpanded": False}, "items": ["q"]}]}],
     {"x": ["a"], "y": [], "z": ["q"]}, {"z": {"expanded": False}}),
    ("another time of a day moves nothing", DAYS, TIMES, [update(1, patch={"at": "2026-03-01T12:00"})], {"2026-03-01": [1], "2026-03-02": [2]}, {}),
    ("another day does", DAYS, TIMES, [update(1, patch={"at": "2026-04-01T12:00"})],
     {"2026-03-01": [], "2026-03-02": [2], "2026-04-01": [1]}, {"2026-04-01": {"content": {"group": "2026-04-01"}}}),
    ("a day is not written", DAYS, TIMES, [move(1, before=2)],
     {"2026-03-01": [], "2026-03-02": [1, 2]}, {1: {"content": {"at": "2026-03-01T10:00"}}}),
    ("members are elements, and objects on the way are made", MAP, ROWS, [insert({"c": {"n": 3}, "d": {"in": {"it": "x"}}}), move("b", before="a")],
     {"x": ["b", "a", "d"], "none": ["c"]}, {"b": {"content": {"in": {"it": "x"}}}}),
    ("elements have ids of their sections", SCOPED, [{"id": "s/1", "in": "a"}], [insert({"id": "s/1", "in": "b"}, {"id": 2, "in": "a"})],
     {"a": ["a/s~11", "a/2"], "b": ["b/s~11"]}, {}),
    ("and keep them until the next document", SCOPED, [{"id": 1, "in": "a"}, {"id": 2, "in": "b"}], [move("a/1", before="b/2"), update("a/1", patch={"n": 1})],
     {"a": [], "b": ["a/1", "b/2"]}, {"a/1": {"content": {"in": "b"}}}),
    ("ids of parts", PARTS, [{"type": "p", "no": 1}], [insert({"type": "p", "no": 2}, {"type": "q", "no": 1}, before="p/1"), update("p/1", patch={"n": 1})],
     {"main": ["p/2", "q/1", "p/1"]}, {"q/1": {"kind": "q"}}),
]

# The same; then the pointer below /edits and the code of each error.
REFUSED = [
    ("another id", BOARD, CARDS, [update("a", patch={"id": "z"})], ("/0/items/0/patch", "id-changed")),
    ("no id", BOARD, CARDS, [update("a", content={"status": "todo"})], ("/0/items/0/content", "id-changed")),
    ("an id that is none", BOARD, CARDS, [update("a", content={"id": [], "n": 1})], ("/0/items/0/content", "wrong-shape")),
    ("one part of an id", PARTS, [{"type": "p", "no": 1}], [update("p/1", patch={"no": 2})], ("/0/items/0/patch", "id-changed")),
    ("a section's id", TREE, GROUPS, [update("x", "sections", patch={"id": "z"})], ("/0/sections/0/patch", "id-changed")),
    ("a new item's id", BOARD, CARDS, [items({"id": "d", "content": {"id": "e"}})], ("/0/items/0/content", "id-changed")),
    ("a kind that is none", BOARD, CARDS, [update("a", patch={"type": [1]})], ("/0/items/0/patch", "wrong-shape")),
    ("isExpanded that says nothing", BOARD, CARDS, [update("a", patch={"isExpanded": "yes"})], ("/0/items/0/patch", "wrong-shape")),
    ("children in a content", BOARD, CARDS, [update("a", patch={"parts": []})], ("/0/items/0/patch", "wrong-shape")),
    ("rows in a section's content", TREE, GROUPS, [update("x", "sections", patch={"rows": [{"id": 1}]})], ("/0/sections/0/patch", "wrong-shape")),
    ("elements without an id", BOARD, CARDS, [insert({"id": "d"}, {"n": 1, "status": "todo"})], ("/0/elements/1", "wrong-shape")),
    ("an element that is there", BOARD, CARDS, [insert({"id": "a", "status": "done"}, {"id": "e"})], ("/0/elements/0/id", "duplicate-id")),
    ("elements twice", {**BOARD, "duplicates": "first", "invalid": "skip"}, CARDS, [insert({"id": "e"}, {"id": "e"})],
     ("/0/elements/0/id", "duplicate-id"), ("/0/elements/1/id", "duplicate-id")),
    ("an element that invalid would skip", {**BOARD, "invalid": "skip"}, CARDS, [insert({"id": "e"}, {"id": None})], ("/0/elements/1", "invalid-id")),
    ("an array where map has an object", MAP, ROWS, [{"op": "insert", "elements": [{"n": 1}]}], ("/0/elements", "wrong-shape")),
    ("null in place of elements", BOARD, CARDS, [{"op": "insert", "elements": None}], ("/0/elements", "wrong-shape")),
    ("elements and items", BOARD, CARDS, [{"op": "insert", "elements": [], "items": []}], ("/0", "wrong-shape")),
    ("elements that move", BOARD, CARDS, [{"op": "move", "elements": ["a"]}], ("/0/elements", "wrong-shape")),
    ("all that is wrong at once", BOARD, CARDS, [update("a", patch={"type": []}), {"op": "insert", "elements": 5}, done("a"), move("nobody")],
     ("/0/items/0/patch", "wrong-shape"), ("/1/elements", "wrong-shape"), ("/3/items/0", "unknown-id")),
]


def by_id(state):
    """Each section and item by its id, with what is at its default, and an item's parent."""
    found = {}

    def take(element, parent):
        found[element["id"]] = {"expanded": True, "kind": None, "content": {}, **element, "parent": parent}
        for each in element.get("items", []):
            take(each, element["id"])

    for section in state["sections"]:
        take(section, None)
    return found


class ShapedEdits(ServiceCase):
    def board(self, shape, document, **settings):
        session = self.new_name()
        answer = self.put_session(session, {"shape": shape, "state": document, **settings})
        self.assertStatus(answer, 201)
        return session, answer.json["revision"]

    def state(self, session):
        return self.get_session(session).json["state"]

    def edit(self, session, *edits, query=None, **headers):
        return self.post_changes(session, {"edits": list(edits)}, query, **headers)

    def assertRows(self, session, expected):
        """Sections that a document has made are only there with rows, once grouping says what they are."""
        found = {each["id"]: [row["id"] for row in each["items"]] for each in self.state(session)["sections"]}
        self.assertEqual({name: rows for name, rows in found.items() if rows or name in expected},
                         {name: rows for name, rows in expected.items() if rows or name in found})
        self.assertEqual([name for name in found if found[name]], [name for name in expected if expected[name]])

    def test_what_the_shape_reads_follows(self):
        for what, shape, document, edits, rows, elements in FOLLOWED:
            with self.subTest(what):
                session, _ = self.board(shape, document)
                self.assertChangeset(self.edit(session, *edits))
                self.assertRows(session, rows)
                found = by_id(self.state(session))
                for identity, members in elements.items():
                    for name, value in members.items():
                        if name != "content":
                            self.assertEqual(found[identity][name], value, (identity, name))
                        else:
                            self.assertEqual({each: found[identity]["content"].get(each) for each in value}, value, identity)

    def test_a_listed_section_that_is_as_grouping_makes_them_goes_with_a_batch_that_changes_nothing_else(self):
        listed = {"sectionsAt": "/lists", "sectionIdAt": "/group", "itemsAt": "/cards", "groupAt": "/status"}
        session, _ = self.board(listed, {"lists": [{"group": "later"}, {"group": "done", "title": "Done"}], "cards": [{"id": 1, "status": "todo"}]})
        self.assertEqual([each["id"] for each in self.state(session)["sections"]], ["later", "done", "todo"])
        self.assertChangeset(self.edit(session, {"op": "reload", "items": [1]}))
        self.assertEqual([each["id"] for each in self.state(session)["sections"]], ["done", "todo"])

    def test_what_does_not_fit_is_refused_whole(self):
        for what, shape, document, edits, *errors in REFUSED:
            with self.subTest(what):
                session, revision = self.board(shape, document)
                self.assertErrors(self.edit(session, *edits), "invalid-edit", *((f"/edits{pointer}", code) for pointer, code in errors))
                self.assertEqual(self.get_session(session).json["revision"], revision)

    def test_a_session_without_a_shape_follows_nothing(self):
        session, _ = self.made(CARDS, query={"itemsAt": "/cards", "groupAt": "/status"})
        self.assertStatus(self.edit(session, update("a", content={"status": "done", "id": 9})), 200)
        self.assertRows(session, {"todo": ["a", "b"], "doing": ["c"], "none": [4]})
        self.assertErrors(self.edit(session, insert({"id": "d"})), "invalid-edit", ("/edits/0/elements", "wrong-shape"))

    def test_the_shape_of_a_request_reads_elements(self):
        query = {"itemsAt": "/cards", "groupAt": "/status", "kindAt": "/type"}
        session, _ = self.made(CARDS, query=query)
        self.assertStatus(self.edit(session, insert({"id": "d", "status": "doing", "type": 3}), query=query), 200)
        self.assertRows(session, {"todo": ["a", "b"], "doing": ["c", "d"], "none": [4]})
        self.assertEqual(by_id(self.state(session))["d"]["kind"], "3")
        # Where they go is for the list's own shape to say, and nothing in them is lost.
        session, _ = self.board(BOARD, CARDS)
        for name, query in (("u", {"idAt": "/uid"}), ("v", {"idAt": "/uid", "groupAt": "/other"})):
            element = {"uid": name, "id": name, "status": "todo", "other": "z"}
            self.assertStatus(self.edit(session, {"op": "insert", "elements": [element]}, query=query), 200)
            self.assertEqual(by_id(self.state(session))[name]["content"], element)
        self.assertRows(session, {"todo": ["a", "b", "u", "v"], "doing": ["c"], "none": [4]})
        # A list at /edits is one all the same.
        session, _ = self.made({"edits": [{"id": "x"}]}, query={"itemsAt": "/edits"})
        self.assertRows(session, {"main": ["x"]})

    def test_native_requests_read_no_elements(self):
        session, _ = self.board(BOARD, CARDS)
        answer = self.edit(session, insert({"id": "d"}), query={"shape": "native"})
        self.assertErrors(answer, "invalid-edit", ("/edits/0/elements", "wrong-shape"))

    def test_keep_knows_what_is_expanded(self):
        session, _ = self.board(BOARD, CARDS, keep=["expanded"])
        self.assertStatus(self.edit(session, {"op": "collapse", "items": ["a"]}, update("a", patch={"isExpanded": None})), 200)
        self.assertFalse(by_id(self.state(session))["a"]["expanded"])

    def test_the_next_document_says_nothing_new(self):
        session, _ = self.board(TREE, GROUPS)
        document = {"groups": [{"id": "x", "title": "X", "isExpanded": False, "rows": []}, {"id": "y", "rows": [{"id": "b"}, {"id": "a"}]}]}
        self.assertStatus(self.edit(session, {"op": "collapse", "sections": ["x"]}, insert({"id": "b"}), move("a", **into("y"))), 200)
        self.assertEqual(self.assertChangeset(self.post_changes(session, document))["changes"], [])

    def test_a_change_is_told_as_one_move(self):
        session, _ = self.board(BOARD, CARDS)
        for status in ("doing", "todo"):
            changes = self.assertChangeset(self.edit(session, update("b", patch={"status": status})))["changes"]
            self.assertEqual([each["op"] for each in changes], ["move", "update"])

    def test_a_patch_by_its_own_method(self):
        session, _ = self.board(BOARD, CARDS)
        patch = lambda body: self.request("PATCH", session_path(session, "items", "a"), body, Content_Type="application/merge-patch+json")
        self.assertStatus(patch({"status": "doing"}), 200)
        self.assertRows(session, {"todo": ["b"], "doing": ["c", "a"], "none": [4]})
        self.assertErrors(patch({"id": "z"}), "invalid-edit", ("", "id-changed"))

    def test_a_refusal_says_how_to_mend_it(self):
        session, _ = self.board(TREE, GROUPS)
        for edit, words in ((update("x", "sections", patch={"isExpanded": "no"}), 'true or false, at "/isExpanded" of the content'),
                            (update("x", "sections", patch={"id": "z"}), "keep the id in it, or delete this section"),
                            (update("a", content={}), "keep the id in it, or delete this item"),
                            (update("a", append={"/id": 1}), ""), (update("x", "sections", append={"/isExpanded": "a"}), "put one there by patch"),
                            (update("x", "sections", add={"/title": 1}), "put one there by patch")):
            with self.subTest(edit):
                self.assertIn(words, self.assertProblem(self.edit(session, edit), 422, "invalid-edit")["detail"])

    def test_a_lost_answer_is_told_from_a_lost_race(self):
        session, revision = self.board(BOARD, CARDS)
        tag = f'"{revision}"'
        self.assertStatus(self.edit(session, move("a", before="c"), If_Match=tag), 200)
        head = self.get_session(session).json["revision"]
        self.assertEqual(self.edit(session, move("a", before="c"), If_Match=tag).json["to"], head)
        self.assertStatus(self.edit(session, move("a", after="c"), If_Match=tag), 412)
        key = {"Idempotency_Key": "one"}
        first = self.edit(session, insert({"id": "z", "status": "todo"}), **key)
        self.assertEqual(self.edit(session, insert({"id": "z", "status": "todo"}), **key).json["to"], first.json["to"])

    def test_readers_of_a_stream_see_it(self):
        session, revision = self.board(BOARD, CARDS)
        stream = Stream(self.server, session_path(session, "changes"), {"since": revision})
        self.addCleanup(stream.close)
        self.assertStatus(self.edit(session, move("b", before="c")), 200)
        changes = stream.next_event().json["changes"]
        self.assertEqual([each["op"] for each in changes], ["move", "update"])
        self.assertEqual(changes[1]["items"][0]["content"]["status"], "doing")

    def test_a_long_content_is_not_written_again_and_again(self):
        session, _ = self.board({"groupAt": "/in"}, [{"id": "a", "in": "x", "long": "x" * 1_000_000}, {"id": "b", "in": "y"}, {"id": "c", "in": "x"}])
        answer = self.edit(session, *[move("a", **into("xy"[turn % 2 == 0])) for turn in range(200)])
        problem = self.assertProblem(answer, 422, "invalid-edit")
        self.assertEqual({each["code"] for each in problem["errors"]}, {"limit-exceeded"})


class OfAnOwner(HookCase):
    @classmethod
    def lists(cls, url):
        return {"h:{name}": {"hook": {"url": f"{url}/hook/{{name}}", "secret": "env:HOOK_SECRET", "timeout": 10}, "shape": BOARD}}

    def test_an_owner_is_told_the_edits_as_they_were_sent(self):
        number = self.new_name()
        name, path = f"h:{number}", f"/hook/{number}"
        self.upstream.set(path, YES)
        self.assertStatus(self.put_session(name, {"shape": BOARD, "state": CARDS}, **bearer(KEY)), 201)
        edits = [move("a", before="c"), insert({"id": "d", "status": "done"})]
        self.assertStatus(self.post_changes(name, {"edits": edits}, **bearer(token(name, "read edit"))), 200)
        request, = self.upstream.requests(path)
        self.assertEqual(request.json["edits"], edits)
        state = self.get_session(name, **bearer(KEY)).json["state"]
        self.assertEqual({each["id"]: [row["id"] for row in each["items"]] for each in state["sections"] if each["items"]},
                         {"todo": ["b"], "doing": ["a", "c"], "none": [4], "done": ["d"]})
