"""The vectors of docs/vectors.json: a name, a state, and what is posted over it."""


def row(identity, content=None, **members):
    return {"id": identity, **({} if content is None else {"content": content}), **members}


def lists(*sections, **named):
    """Sections by their names, or as pairs of any id and items."""
    return {"sections": [{"id": identity, "items": items} for identity, items in [*sections, *named.items()]]}


def folder(identity, items, **members):
    return {"id": identity, "items": items, **members}


ORDERS = {"content": {"till": 3}, "items": [
    row(11, {"to": "Ann", "total": 12.50, "open": True}), row(12, {"to": "Bob", "total": 7, "open": False}),
    row(13, {"to": "Cid", "total": 40, "open": True}), row(14, {"to": "Dee", "total": 8.20, "open": False})]}
BOUGHT = {"edits": [
    {"op": "update", "items": [row(12, {"to": "Bob", "total": 7, "open": True}), row(13, {"to": "Cid", "total": 1, "open": True})]},
    {"op": "insert", "items": [row(15, {"to": "Eve", "total": 99, "open": True})], "at": "start"}]}
DEAREST = {"where": [{"at": "/content/open", "is": True}], "order": [{"at": "/content/total", "descending": True}],
           "fields": ["/content/to"], "listFields": []}
# Sections that a view makes of flat rows, the last group first, one of them collapsed for this reader.
SHOPS = [{"id": number, "content": {"shop": shop}} for number, shop in enumerate(["North", "South", "North", "East", "South"])]
BY_SHOP = {"group": {"at": "/content/shop", "prefix": 1}, "sectionOrder": [{"at": "/id", "descending": True}]}
# Sections that a shape makes: a header for each day, or for each value of a boolean.
REMINDERS = [{"id": 1, "due": "2026-11-28T09:00"}, {"id": 2, "due": "2026-11-29T18:30"}, {"id": 3, "due": "2026-11-29T20:00"}]
LATER = [{"id": 1, "due": "2026-11-30T09:00"}, *REMINDERS[1:], {"id": 4}]
STARS = [{"id": "a", "starred": True}, {"id": "b", "starred": False}, {"id": "c", "starred": False}]
UNSTARRED = [{**STARS[0], "starred": False}, STARS[1], {**STARS[2], "starred": True}]
# 2^53, the first integer whose successor is not a double.
FAR = 1 << 53
ALPHABET = [chr(ord("a") + number) for number in range(12)]

# With a view, a window, the shape of what is posted, or nothing.
CASES = [
    ("nothing to something", [], ["a", "b"]),
    ("something to nothing", ["a", "b"], []),
    ("nothing changes", ["a", "b"], ["a", "b"]),
    ("rows come at both ends and between", ["b", "d"], ["a", "b", "c", "d", "e"]),
    ("rows go at both ends and between", ["a", "b", "c", "d", "e"], ["b", "d"]),
    ("one row moves up", ["a", "b", "c", "d"], ["d", "a", "b", "c"]),
    ("one row moves down", ["a", "b", "c", "d"], ["b", "c", "d", "a"]),
    ("two rows change places", ["a", "b", "c", "d"], ["d", "b", "c", "a"]),
    ("rows are reversed", ["a", "b", "c", "d", "e"], ["e", "d", "c", "b", "a"]),
    ("one goes, one comes, one moves", ["milk", "bread", "tea", "eggs"], ["eggs", "milk", "tea", "jam"]),
    ("every row is another", ["a", "b", "c"], ["x", "y"]),
    ("a content changes", [row("a", {"n": 1}), row("b", {"n": 1})], [row("a", {"n": 1}), row("b", {"n": 2})]),
    ("a content comes, and one goes", ["a", row("b", 1)], [row("a", {"n": 1}), "b"]),
    ("a content is of another type", [row("a", [1]), row("b", "x")], [row("a", {"n": 1}), {"id": "b", "content": None}]),
    ("a row changes and moves", [row("a", 1), row("b", 1), row("c", 1)], [row("c", 2), row("a", 1), row("b", 1)]),
    ("a large content changes in one member",
     [row("a", {"title": "A title that is long enough for a patch to be smaller", "tags": ["x", "y"], "of": {"n": 1, "m": 2}})],
     [row("a", {"title": "A title that is long enough for a patch to be smaller", "tags": ["x", "y"], "of": {"n": 2}, "new": 1})]),
    ("a text grows", {"content": {"log": "a line of some length"}, "items": [row("a", {"title": "A title that stays", "of": {"a/b~": "It was a dark"}}), row("b", "a text of its own")]},
     {"content": {"log": "a line of some length, and one more"}, "items": [row("a", {"title": "A title that stays", "of": {"a/b~": "It was a dark and stormy night"}}), row("b", "a text of its own, which grows")]}),
    ("a text grows beside what changes", {"sections": [{"id": "one", "content": {"note": "a note of some length"}, "items": [row("a", {"n": 1, "text": "It was a dark and \u00e9"})]}]},
     {"sections": [{"id": "one", "content": {"note": "a note of some length, longer"}, "items": [row("a", {"n": 2, "text": "It was a dark and \u00e9\"stormy\" night"})]}]}),
    ("a kind changes", [row("a", kind="text"), "b"], [row("a", kind="photo"), "b"]),
    ("ids are integers", [1, 2, 3], [3, 1, 20]),
    ("ids are integers that a double does not hold", [row(FAR - 1), row(FAR, 1), FAR + 1, folder(-FAR - 1, [FAR + 2])],
     [FAR + 1, row(FAR, 2), folder(-FAR - 1, [FAR + 3, FAR + 2]), FAR - 1]),
    ("sections have such ids", lists((FAR, [FAR + 1, 1]), (FAR + 1, [FAR]), (2, [])), lists((FAR + 1, [FAR, FAR + 1]), (FAR, [1]), (FAR + 2, []))),
    ("ids of any characters", ["a/b~c", "é", "👩‍👩‍👧", "0", "\""], ["👩‍👩‍👧", "\"", "a/b~c", "\\u0041", "é"]),
    ("a section comes", lists(one=["a"]), lists(one=["a"], two=["b"])),
    ("a section goes", lists(one=["a"], two=["b"]), lists(one=["a"])),
    ("a section moves", lists(one=["a"], two=["b", "c"], three=["d"]), lists(three=["d"], one=["a"], two=["b", "c"])),
    ("a row goes to another section", lists(one=["a", "b"], two=["c"]), lists(one=["a"], two=["b", "c"])),
    ("a row goes to a section that comes", lists(one=["a", "b"]), lists(one=["a"], two=["b", "c"])),
    ("rows stay where their section goes", lists(one=["a", "b"], two=["c"]), lists(two=["a", "c", "b"])),
    ("sections and rows at once",
     lists(one=["a", "b", "c"], two=["d", "e"], three=["f"]), lists(three=["e", "f", "x"], four=["a", "y"], one=["c", "b"])),
    ("a section's header changes",
     {"sections": [{"id": "one", "content": {"title": "One"}, "items": ["a"]}, {"id": "two", "content": "Two", "items": []}]},
     {"sections": [{"id": "one", "content": {"title": "1"}, "items": ["a", "b"]}, {"id": "two", "items": []}]}),
    ("a section without rows comes and goes", lists(one=["a"], two=[]), lists(three=[], one=["a"])),
    ("a section is collapsed",
     lists(one=["a", "b"], two=["c"]),
     {"sections": [{"id": "one", "expanded": False, "items": ["a", "b"]}, {"id": "two", "items": ["c"]}]}),
    ("a section is expanded",
     {"sections": [{"id": "one", "expanded": False, "items": ["a", "b"]}, {"id": "two", "items": ["c"]}]},
     lists(one=["a", "b"], two=["c"])),
    ("a folder is collapsed", [folder("f", ["a", folder("g", ["b"])]), "c"], [folder("f", ["a", folder("g", ["b"])], expanded=False), "c"]),
    ("a folder is expanded", [folder("f", ["a", "b"], expanded=False), "c"], [folder("f", ["a", "b"]), "c"]),
    ("a row goes into a folder", [folder("f", ["a"]), "b", "c"], [folder("f", ["a", "b"]), "c"]),
    ("a row leaves a folder", [folder("f", ["a", "b"]), "c"], [folder("f", ["a"]), "c", "b"]),
    ("a folder moves with all in it", ["c", folder("f", ["a", folder("g", ["b"])])], [folder("f", ["a", folder("g", ["b"])]), "c"]),
    ("rows change in a folder that is collapsed", [folder("f", ["a", "b"], expanded=False)], [folder("f", ["b", "x", "y"], expanded=False)]),
    ("the list's own content changes", {"content": {"title": "Fires", "next": 2}, "items": ["a"]},
     {"content": {"title": "Fires"}, "items": ["a", "b"]}),
    ("the list's own content goes", {"content": "Fires", "items": ["a"]}, {"items": ["a"]}),
    ("a row is drawn anew", ["a", "b"], {"edits": [{"op": "reload", "items": ["b"]}]}),
    ("a row is filled again", [row("a", 1), "b"], {"edits": [{"op": "reconfigure", "items": ["a"]}]}),
    ("a section is drawn anew", lists(one=["a"], two=["b"]), {"edits": [{"op": "reload", "sections": ["two"]}]}),
    ("a view: rows change that it shows", ORDERS, BOUGHT, {"view": DEAREST}),
    ("a view: nothing changes that it shows", ORDERS, {"edits": [{"op": "delete", "items": [12]}]}, {"view": DEAREST}),
    ("a view with groups: a row goes to another, and one comes", SHOPS,
     {"edits": [{"op": "update", "items": [{"id": 3, "patch": {"shop": "South"}}, {"id": 0, "content": {"shop": "West"}}]}]}, {"view": BY_SHOP}),
    ("a view with groups: rows move in one that is folded", SHOPS, {"edits": [{"op": "move", "items": [4], "at": "start"}]},
     {"view": {**BY_SHOP, "collapsed": {"sections": ["S"]}}}),
    ("a day is a header: one ends, one begins, and one has no day", REMINDERS, LATER, {"shape": {"groupAt": "/due", "groupPrefix": 10}}),
    ("a boolean is a header: a favourite comes, and one goes", STARS, UNSTARRED, {"shape": {"groupAt": "/starred"}}),
    ("a row's content is patched and added to", [{"id": "a", "content": {"likes": 41, "title": "Eggs"}}, "b"],
     {"edits": [{"op": "update", "items": [{"id": "a", "patch": {"title": "Tea"}, "add": {"/likes": 1}}]}]}),
    ("a window: the last rows", ALPHABET, ALPHABET[1:] + ["x"], {"window": {"at": "end", "before": 4}}),
    ("a window: rows come before its anchor", ALPHABET, ["x", "y"] + ALPHABET, {"window": {"around": "f", "before": 2, "after": 2}}),
    ("a window: its anchor goes", ALPHABET, ALPHABET[:5] + ALPHABET[7:], {"window": {"around": "f", "before": 2, "after": 2}}),
    ("a window of a view", ORDERS, BOUGHT, {"view": DEAREST, "window": {"at": "start", "after": 1}}),
]
