"""The vectors of Tests/Fixtures/edits.json: a name, a state that is shown or hidden as a whole, and edits of it."""


def row(identity, content=None, **members):
    return {"id": identity, **({} if content is None else {"content": content}), **members}


def edit(op, *items, **place):
    return {"op": op, "items": list(items), **place}


def of_sections(op, *sections, **place):
    return {"op": op, "sections": list(sections), **place}


def update(identity, **members):
    return edit("update", {"id": identity, **members})


def lists(**named):
    return {"sections": [{"id": identity, "items": items} for identity, items in named.items()]}


ABC = ["a", "b", "c"]
TWO = lists(x=["a", "b"], y=["c", "d"])
TREE = lists(x=[row("a", items=["b", row("c", items=["d"])]), "e"], y=["f"])
FOLDED = lists(x=[row("a", expanded=False, items=["h", "i"]), "b"], y=["c"])
POST = [row("p", {"likes": 1, "price": 0.1, "tags": ["x", 2], "by": {"name": "Ann"}}), "q", row("n", 5), row("t", "text")]

CASES = [
    ("insert at the end", ABC, [edit("insert", "d", row("e", 1, kind="k"))]),
    ("insert at the start", TWO, [edit("insert", "e", at="start")]),
    ("insert at the end of the last section", TWO, [edit("insert", "e", at="end")]),
    ("insert before", ABC, [edit("insert", "d", "e", before="b")]),
    ("insert after", ABC, [edit("insert", "d", "e", after="b")]),
    ("insert before null", TWO, [edit("insert", "e", before=None)]),
    ("insert after null", TWO, [edit("insert", "e", after=None)]),
    ("insert before the first anchor that is there", ABC, [edit("insert", "d", before=["gone", "b", "a"])]),
    ("insert after a list that ends with null", ABC, [edit("insert", "d", after=["gone", None])]),
    ("insert before a list that ends with null", ABC, [edit("insert", "d", before=["gone", None])]),
    ("insert into a section", TWO, [edit("insert", "e", into={"section": "x"})]),
    ("insert at the start of a section", TWO, [edit("insert", "e", into={"section": "y"}, at="start")]),
    ("insert into an item", TREE, [edit("insert", "g", into={"item": "c"}, at="start")]),
    ("insert into what has the id", TREE, [edit("insert", "g", into="e")]),
    ("insert below a collapsed item", FOLDED, [edit("insert", "d", into="a")]),
    ("insert with items", ABC, [edit("insert", row("d", {"n": 1}, items=["e", row("f", items=["g"])]), before="a")]),
    ("insert collapsed", ABC, [edit("insert", row("d", expanded=False, items=["e"]))]),
    ("insert numbers as ids", [1, 2], [edit("insert", 3, {"id": 9007199254740992}, before=2)]),
    ("insert an id that is there", ABC, [edit("insert", "d", "b")]),
    ("insert an id that is a number there", [1, 2], [edit("insert", "2")]),
    ("insert one id twice", ABC, [edit("insert", "d", "d")]),
    ("insert before what is not there", ABC, [edit("insert", "d", before="gone")]),
    ("insert before a list of what is not there", ABC, [edit("insert", "d", before=["gone", "lost"])]),
    ("insert where there is no section", {"sections": []}, [edit("insert", "a")]),
    ("insert into an id of both", lists(x=["x"]), [edit("insert", "a", into="x")]),
    ("insert sections", TWO, [of_sections("insert", {"id": "z", "items": ["e"]}, {"id": "w", "content": 1, "items": []}, before="y")]),
    ("insert a section at the start", TWO, [of_sections("insert", {"id": "z", "items": []}, at="start")]),
    ("insert a section with an item that is there", TWO, [of_sections("insert", {"id": "z", "items": ["a"]})]),
    ("delete", ABC, [edit("delete", "c", "a")]),
    ("delete with children", TREE, [edit("delete", "a")]),
    ("delete what is gone", ABC, [edit("delete", "gone", "a")]),
    ("delete a section", TWO, [of_sections("delete", "x")]),
    ("delete, then insert again", ABC, [edit("delete", "b"), edit("insert", row("b", 1), at="start")]),
    ("move before", ABC, [edit("move", "c", before="a")]),
    ("move several, in the order given", ABC, [edit("move", "c", "a", at="end")]),
    ("move to another section", TWO, [edit("move", "a", after="c")]),
    ("move with children", TREE, [edit("move", "a", into={"section": "y"})]),
    ("move out of its parent", TREE, [edit("move", "c", after="e")]),
    ("move below a collapsed item", FOLDED, [edit("move", "b", "c", into={"item": "a"})]),
    ("move a collapsed item", FOLDED, [edit("move", "a", after="c")]),
    ("move before a list with itself", ABC, [edit("move", "a", before=["a", "c"])]),
    ("move before null", ABC, [edit("move", "a", before=None)]),
    ("move to where it is", ABC, [edit("move", "b", after="a")]),
    ("move into itself", TREE, [edit("move", "a", into={"item": "c"})]),
    ("move before itself", ABC, [edit("move", "a", before="a")]),
    ("move twice", ABC, [edit("move", "a", "a", at="end")]),
    ("move what is not there", ABC, [edit("move", "gone", at="end")]),
    ("move a section", TWO, [of_sections("move", "y", before="x")]),
    ("rescue a row from a section that goes", TWO, [edit("move", "a", into="y"), of_sections("delete", "x")]),
    ("update a content", POST, [update("p", content={"likes": 9})]),
    ("update a kind", ABC, [update("b", kind="k")]),
    ("update a section", TWO, [of_sections("update", {"id": "x", "content": {"title": "X"}})]),
    ("update what is not there", ABC, [update("gone", content=1)]),
    ("patch", POST, [update("p", patch={"likes": None, "by": {"name": "Bob", "age": 3}, "tags": [None]})]),
    ("patch a scalar, and nothing", POST, [update("t", patch={"a": {"b": None}}), update("q", patch={"a": 1})]),
    ("patch with a scalar", POST, [update("p", patch=7)]),
    ("add", POST, [update("p", add={"/likes": 1, "/tags/1": -2})]),
    ("add exact decimals", POST, [update("p", add={"/price": 0.2}), update("n", add={"": 1.50})]),
    ("add to what is not there", POST, [update("q", add={"/a/b": 1, "/a/~0~1": 2.0}), update("p", add={"/new": 1e2})]),
    ("add behind a patch, twice", POST, [update("p", patch={"likes": 10}, add={"/likes": 1}), update("p", add={"/likes": 1})]),
    ("add to text", POST, [update("t", add={"": 1})]),
    ("add below a scalar", POST, [update("n", add={"/a": 1})]),
    ("add beyond an array's end", POST, [update("p", add={"/tags/2": 1})]),
    ("add text", POST, [update("p", add={"/likes": "1"})]),
    ("add to null", [row("a", {"n": None})], [update("a", add={"/n": 1})]),
    ("append", POST, [update("p", append={"/tags/0": "y", "/by/name": " \u00e9\""})]),
    ("append to a content that is a text", POST, [update("t", append={"": " that grows"})]),
    ("append to what is not there", POST, [update("q", append={"/a/~0~1": "x"}), update("q", append={"/a/~0~1": "", "/b": "y"})]),
    ("append behind a patch, twice", POST, [update("p", append={"/by/name": "!"}, patch={"by": {"name": "Bea"}}), update("p", append={"/by/name": "?"})]),
    ("append to a number", POST, [update("n", append={"": "x"})]),
    ("append below a scalar", POST, [update("t", append={"/a": "x"})]),
    ("append beyond an array's end", POST, [update("p", append={"/tags/2": "x"})]),
    ("append a number", POST, [update("p", append={"/by/name": 1})]),
    ("append to null", [row("a", {"n": None})], [update("a", append={"/n": "x"})]),
    ("collapse", TREE, [edit("collapse", "a")]),
    ("collapse, and expand again", TREE, [edit("collapse", "a", "c"), edit("expand", "a")]),
    ("collapse by an update", TREE, [update("a", expanded=False, content=1)]),
    ("collapse a section", TWO, [of_sections("collapse", "x")]),
    ("collapse what is not there", ABC, [edit("collapse", "gone")]),
    ("clear an item", TREE, [edit("clear", "c")]),
    ("clear a collapsed item", FOLDED, [edit("clear", "a")]),
    ("clear a section", TWO, [of_sections("clear", "x")]),
    ("clear all", TREE, [{"op": "clear"}]),
    ("reload and reconfigure", ABC, [edit("reload", "a"), edit("reconfigure", "b")]),
    ("reload what is not there", ABC, [edit("reload", "gone")]),
    ("all or nothing", ABC, [edit("move", "c", at="start"), edit("insert", "d"), edit("move", "gone", at="end")]),
    ("an anchor that came with an edit before", ABC, [edit("insert", "d", at="start"), edit("move", "a", before="d")]),
    ("nothing", ABC, []),
    ("ids that look like members", ["__proto__", "constructor"], [edit("move", "constructor", before="__proto__")]),
]
