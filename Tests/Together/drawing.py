"""Random choices: settings, shapes, documents, edits. What a run wants to see is chosen more often."""

import copy
import random
import zlib

from support import states, views
from support.jsontext import Number, exact, key, text

from intents import NOTHING
from model import every_item, own, seek, steps

IGNORED = ["/n", "/title", "/tags", "/a~1b/c~0d", "/deep/x", "/deep", "/long"]
BAD_IDS = [None, True, 1.5, "", "a\u0001b", {}, [1], "x" * 2049]
BIG = 2**53 + 1
DIALECTS = {"rows": ["keyed", "indexed", "staged", "diffable"], "sequential": ["sequential"], "json-patch": ["json-patch"],
            "counts": ["counts"]}


# Members of contents, and what they may be.
MEMBERS = {"n": [0, 1, 1.0, 2, 22], "title": ["one", "two", "t\u00e9xt"], "tags": [["x", "y"], [], None], "long": ["x" * 60, "y" * 60],
           "deep": [{"x": 1, "y": 2}, {"x": 2, "y": 2}, {"y": 2}, {}], "a/b": [{"c~d": 1}, {"c~d": 2, "e": 0}, 5], "big": [BIG, 10**30]}
# Features, and other named choices here, that are left out.
WITHOUT = set()


class Draw(random.Random):
    """Chances that favour some features."""

    def __init__(self, seed, wanted=()):
        super().__init__(seed)
        self.wanted = frozenset(wanted)

    def likes(self, feature, chance):
        return feature not in WITHOUT and self.random() < (0.9 if feature in self.wanted else chance)

    def one_of(self, features):
        """One of these, by their weights."""
        features = {name: weight for name, weight in features.items() if name not in WITHOUT}
        wanted = [each for each in features if each in self.wanted]
        if wanted and self.random() < 0.85:
            return self.choice(wanted)
        return self.choices(list(features), list(features.values()))[0]


# Settings


def settings(draw):
    """The settings of a session: what PUT takes beside `state`."""
    made = {}
    if draw.likes("ignore", 0.3):
        made["ignore"] = draw.sample(IGNORED, draw.choice([1, 1, 2]))
    if draw.likes("keep", 0.3):
        made["keep"] = ["expanded"]
    shaped = {"shape", "sections", "map", "rest", "duplicates", "missing", "invalid", "children", "kind", "parts", "expandedAt",
              "groups", "scope", "match"}
    if draw.likes("shape", 0.9 if shaped & draw.wanted else 0.35):
        made["shape"] = shape(draw)
    if draw.likes("public", 0.2):
        made["public"] = True
    return made


def shape(draw):
    made = {"itemsAt": draw.choice(["/rows", "/data/rows"])}
    has_sections = draw.likes("sections", 0.35)
    if has_sections:
        made["sectionsAt"] = draw.choice(["/groups", "/data/groups", ""])
    elif draw.random() < 0.2:
        made["itemsAt"] = ""
    is_matched = draw.likes("match", 0.15)
    is_map = not is_matched and draw.likes("map", 0.25) and not (has_sections and "nulls" in WITHOUT)
    if is_map:
        made["map"] = True
    if is_matched:
        made["idBy"] = "match"
    elif not is_map or has_sections and draw.random() < 0.4:
        made["idAt"] = draw.choice(["/uid", "/key/id"])
        if draw.likes("parts", 0.2):
            made["idAt"] = ["/type", "/no"]
    if has_sections and not is_map:
        made["sectionIdAt"] = draw.choice(["/gid", "/head/id"])
    if draw.likes("kind", 0.3):
        made["kindAt"] = draw.choice(["/kind", "/key/kind"])
    if not is_matched and draw.likes("children", 0.35):
        made["childrenAt"] = draw.choice(["/sub", "/deep/sub"])
    if draw.likes("expandedAt", 0.35):
        made["expandedAt"] = "/open"
        if has_sections and "sectionExpandedAt" not in WITHOUT:
            made["sectionExpandedAt"] = "/isExpanded"
    if draw.likes("groups", 0.2):
        made["groupAt"] = draw.choice(["/in", "/key/in"])
        if draw.random() < 0.3:
            made["groupPrefix"] = draw.choice([1, 2])
        if made.get("sectionsAt") == "":
            made["sectionsAt"] = "/groups"
    if not is_matched and draw.likes("scope", 0.2):
        made["idScope"] = "section"
    whole = made["sectionsAt" if has_sections else "itemsAt"]
    if whole and draw.likes("rest", 0.3):
        made["rest"] = draw.choice([True, ["/total"], ["/total", "/meta/v"]])
    for name, value in (("duplicates", "first"), ("missing", "empty"), ("invalid", "skip")):
        if (name == "missing" or not is_matched) and draw.likes(name, 0.2):
            made[name] = value
    return made


# The shape that is guessed of what `guessable` draws.
GUESSED = {"itemsAt": "/rows", "idAt": "/id"}


def guessable(draw, may_be_empty):
    """An upstream's document that says where its rows are, and what their ids: no two are the same but for these."""
    ids = draw.sample("abcdefgh", 0 if may_be_empty and draw.random() < 0.1 else draw.randint(1, 6))
    return {"rows": [{"id": f"row-{each}", "title": f"about {each}" + draw.choice(["", ", and on"]), "long": "x" * draw.choice([1, 60]),
                      "n": draw.randint(0, 3), "done": draw.random() < 0.5} for each in ids]}


def features(settings):
    """Which of the table's settings these are."""
    found = {name for name in ("ignore", "keep", "public", "shape") if settings.get(name)}
    shape = settings.get("shape", {})
    found |= {name for name in ("map", "rest", "duplicates", "missing", "invalid") if name in shape}
    found |= {feature for feature, name in (("sections", "sectionsAt"), ("children", "childrenAt"), ("kind", "kindAt"),
                                            ("expandedAt", "expandedAt"), ("groups", "groupAt"), ("scope", "idScope"), ("match", "idBy")) if name in shape}
    return found | ({"parts"} if isinstance(shape.get("idAt"), list) else set())


# States


def content(draw, old=None):
    if draw.random() < 0.3:
        return copy.deepcopy(draw.choice(states.CONTENTS))
    made = dict(old) if isinstance(old, dict) else {}
    if draw.likes("gzip", 0):
        made["text"] = draw.choice("xyz") * 500
    if draw.random() < 0.25:
        made["text"] = (made.get("text") if isinstance(made.get("text"), str) else "It was") + draw.choice([" a dark night", "\u00e9", " a dark and stormy night;"])
    for _ in range(draw.randint(1, 3)):
        name = draw.choice(list(MEMBERS))
        value = draw.choice(MEMBERS[name])
        if draw.random() < 0.2:
            made.pop(name, None)
        else:
            made[name] = value
    return made


def native(draw, old=None, is_flat=False):
    """A state, or a neighbour of one."""
    if old is None or draw.random() < 0.1:
        made = states.random_state(draw, 10, not is_flat)
        if not made["sections"] and draw.random() < 0.8:
            made = states.random_state(draw, 10, not is_flat)
    else:
        old = copy.deepcopy(old)
        for each in [*old["sections"], *every_item(old)]:
            each["id"] = int(each["id"].token) if isinstance(each["id"], Number) else each["id"]
        made = states.changed(draw, old, not is_flat) if draw.random() < 0.8 else old
    for each in every_item(made):
        if draw.random() < 0.15:
            each["content"] = content(draw, each.get("content"))
    if draw.likes("big ids", 0.04) and made["sections"] and not any(key(each["id"]) == str(BIG) for each in every_item(made)):
        made["sections"][0]["items"].append({"id": BIG, "content": content(draw)})
    for each in [*made["sections"], *every_item(made)]:
        if draw.likes("spelling", 0.1):
            each["id"] = states.spelled_otherwise(each["id"])
    return exact(text(made))


def posted(draw, state):
    """The state as a writer may write it: shorthand, with parts left out."""
    state = copy.deepcopy(state)
    for each in [*state["sections"], *every_item(state)]:
        if "expanded" not in each and draw.random() < 0.2:
            each["expanded"] = True
        elif "expanded" in each and draw.random() < 0.4:
            del each["expanded"]
    for each in state["sections"]:
        each["items"] = [item["id"] if set(item) == {"id"} and draw.random() < 0.3 else item for item in each["items"]]
        if not each["items"] and draw.likes("nulls", 1):
            draw.choice([lambda each=each: each.pop("items"), lambda each=each: each.update(items=None), lambda: None])()
    if draw.random() < 0.04 and state["sections"]:
        state["sections"].append(copy.deepcopy(state["sections"][0]))
    if [key(each["id"]) for each in state["sections"]] == ["main"] and set(state["sections"][0]) <= {"id", "items"} and draw.random() < 0.5:
        items = state["sections"][0].get("items")
        kept = {name: state[name] for name in ("content",) if name in state}
        return {**kept, "items": items} if kept or items is None else items
    return state


def one_section(draw, old, is_scoped):
    """A section's name, and a native body for it: its rows in a neighbour of the state, and what else may be said of it."""
    state = native(draw, old)
    found = draw.choice(state["sections"]) if state["sections"] and draw.random() < 0.9 else {"id": "new", "items": state["sections"][:0]}
    return key(found["id"]), body_of(draw, found, is_scoped)


def section_body(draw, old, name):
    """What the source of one section says next: its rows in a neighbour of the state, if it is there."""
    found = next((each for each in native(draw, old)["sections"] if key(each["id"]) == name), {"id": name, "items": []})
    return body_of(draw, found, True)


def screen(draw):
    """What a file says of sections that have sources of their own."""
    names = draw.sample(["s", "t", "u", "main"], draw.randint(1, 3))
    return {name: {"content": {"title": name}} if draw.random() < 0.3 else {} for name in names}


def body_of(draw, found, is_scoped):
    items = posted(draw, {"sections": [found, {"id": "other", "items": []}]})["sections"][0].get("items") or []
    items = exact(text(items))
    if is_scoped:
        items = [scoped_by_section(each) for each in items]
    body = {"items": items}
    if draw.random() < 0.5:
        return items
    if draw.random() < 0.5:
        body["content"] = exact(text(content(draw, found.get("content"))))
    if draw.random() < 0.3:
        body["expanded"] = draw.random() < 0.7
    if len(body) > 1 and draw.random() < 0.3:
        del body["items"]
    return body


def scoped_by_section(item):
    """A row with the part of its id that is its own."""
    if not isinstance(item, dict):
        return own(item) or "x"
    inner = {"items": [scoped_by_section(each) for each in item["items"]]} if item.get("items") else {}
    return {**item, "id": own(item["id"]) or "x", **inner}


# Documents


def put(value, pointer, inner):
    """The value with this at the place."""
    names = steps(pointer)
    if not names:
        return inner
    owner = value if isinstance(value, dict) else {}
    rest = "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in names[1:])
    return {**owner, names[0]: put(owner.get(names[0]), rest, inner)}


class Document:
    """A state written by a shape, with the faults of other people's JSON."""

    def __init__(self, draw, state, shape):
        self.draw, self.shape = draw, shape
        # The own ids of the rows of one section.
        self.taken = set()
        state = exact(text(state))
        is_map = shape.get("map") and "idAt" not in shape
        if "groupAt" in shape:
            lists = {shape["itemsAt"]: self.listed(self.rows(state["sections"], is_map), is_map)}
            if "sectionsAt" in shape:
                heads = [each for each in state["sections"] if draw.random() < 0.9]
                lists[shape["sectionsAt"]] = self.listed([self.section(each, is_map) for each in heads], shape.get("map"))
        elif "sectionsAt" in shape:
            lists = {shape["sectionsAt"]: self.listed([self.section(each, is_map) for each in state["sections"]], shape.get("map"))}
        else:
            lists = {shape["itemsAt"]: self.list([item for each in state["sections"] for item in each["items"]], is_map)}
        rest = {"total": draw.randint(0, 2), "meta": {"v": draw.randint(0, 1), "at": draw.randint(0, 99)}}
        document = None if "" in lists else rest
        for place, elements in lists.items():
            document = put(document, place, elements)
        place = draw.choice(list(lists))
        if draw.random() < (0.25 if "missing" in shape else 0.02):
            document = self.lacking(document, place)
        elif draw.likes("nulls", 0.04):
            document = put(document, place, None)
        self.value = exact(text(document))

    def lacking(self, document, place):
        if not place:
            return None
        first = "/" + place.split("/")[1]
        if self.draw.random() < 0.5 and first != place:
            return put(document, first, None)
        return {name: value for name, value in document.items() if "/" + name != first}

    def empty(self, is_map):
        return None if self.draw.likes("nulls", 0.5) else {} if is_map else []

    def spoils(self, name):
        return self.draw.random() < (0.4 if name in self.shape else 0.02)

    def rows(self, sections, is_map):
        """The rows of all sections, each with what tells its own, in an order in which those of one follow each other."""
        lists = []
        for section in sections:
            self.taken = set()
            found = self.elements(section["items"], is_map)
            group = section["id"]
            values = [group, group, key(group)] + [None, "", NOTHING] * (key(group) == "none")
            lists.append([(name, element if value is NOTHING else put(element, self.shape["groupAt"], value))
                          for name, element in found for value in [self.draw.choice(values)]])
            if lists[-1] and self.draw.random() < 0.1:
                name, element = lists[-1].pop(self.draw.choice([0, -1]))
                value = self.draw.choice([True, False, 1.5, Number("1.0"), [], {}, "a\u0001", ""])
                lists[-1].append((name, put(element, self.shape["groupAt"], value)))
        if self.draw.random() < 0.5:
            return [each for some in lists for each in some]
        return [self.draw.choice([some for some in lists if some]).pop(0) for _ in range(sum(map(len, lists)))]

    def list(self, items, is_map):
        return self.listed(self.elements(items, is_map), is_map)

    def elements(self, items, is_map):
        return [self.element(each, is_map) for each in items if self.is_free(each)]

    def is_free(self, item):
        """Whether a row's own id is new in its section, or the document should repeat it."""
        if "idScope" not in self.shape:
            return True
        name = own(item["id"])
        if not name or name in self.taken and self.draw.random() < 0.98:
            return False
        self.taken.add(name)
        return True

    def listed(self, pairs, is_map):
        """Names and elements as an object, or as an array."""
        draw = self.draw
        if is_map:
            if draw.likes("nulls", 0.1):
                return [element if draw.random() < 0.7 else None for _, element in pairs]
            if self.spoils("invalid"):
                pairs.insert(draw.randint(0, len(pairs)), (draw.choice(["", "a\u0001"]), {"n": 1}))
            return {key(name): (draw.choice([None, 5, "text"]) if draw.random() < 0.03 else element) for name, element in pairs}
        elements = [element for _, element in pairs]
        if self.spoils("invalid"):
            bad = draw.choice([None, {"n": 1}, *[self.named({"n": 2}, each, each) for each in BAD_IDS]])
            elements.insert(draw.randint(0, len(elements)), bad)
        if elements and self.spoils("duplicates"):
            again = copy.deepcopy(draw.choice(elements))
            elements.insert(draw.randint(0, len(elements)), {**again, "again": 1} if isinstance(again, dict) else again)
        return elements

    def named(self, element, identity, section):
        shape = self.shape
        if isinstance(shape.get("idAt"), list):
            kind = ["p", "a/b", "x~y"][zlib.crc32(text(identity).encode()) % 3]
            return put(put(element, "/type", kind), "/no", identity)
        element = put(element, shape["idAt"], identity) if "idAt" in shape else element
        return put(element, shape["sectionIdAt"], section) if "sectionIdAt" in shape and section is not None else element

    def element(self, item, is_map):
        """The name and the element of an item."""
        shape, draw = self.shape, self.draw
        content = item.get("content")
        is_bare = "idBy" in shape and draw.random() < 0.5
        made = dict(content) if isinstance(content, dict) else content if is_bare else {"v": content}
        identity = item["id"]
        if "idScope" in shape:
            identity = own(identity)
            identity = Number(identity) if identity.isascii() and identity.isdigit() and str(int(identity)) == identity else identity
        if not is_map:
            made = self.named(made, identity, None)
        if "kindAt" in shape:
            if "kind" in item or draw.random() < 0.2:
                made = put(made, shape["kindAt"], item.get("kind", draw.choice([7, None])))
            if draw.random() < 0.004:
                made = put(made, shape["kindAt"], draw.choice([True, 1.5, []]))
        if "childrenAt" in shape and (item.get("items") or draw.random() < 0.1):
            made = put(made, shape["childrenAt"], self.list(item.get("items", []), is_map) or self.empty(is_map))
        if "expandedAt" in shape and draw.random() < 0.5:
            made = put(made, shape["expandedAt"], item.get("expanded", draw.choice([True, None])))
        return identity, made

    def section(self, section, is_map):
        shape, draw = self.shape, self.draw
        self.taken = set()
        content = section.get("content")
        made = dict(content) if isinstance(content, dict) else {"v": content}
        if "sectionIdAt" in shape:
            made = put(made, shape["sectionIdAt"], section["id"])
        if "sectionExpandedAt" in shape and draw.random() < 0.5:
            made = put(made, shape["sectionExpandedAt"], section.get("expanded", draw.choice([True, None])))
        if "groupAt" not in shape and (section["items"] or draw.random() < 0.7 or "nulls" in WITHOUT):
            made = put(made, shape["itemsAt"], self.list(section["items"], is_map) or self.empty(is_map))
        return section["id"], made


# Edits


def edits(draw, state, shape=None):
    """A few edits, some of which do not fit; those of a list with a shape change what it reads."""
    found = [each["id"] for each in every_item(state)]
    heads = [each["id"] for each in state["sections"]]
    if "intents" not in WITHOUT and draw.random() < 0.1:
        # The edits of PATCH.
        what, there = draw.choice([("items", found), ("items", found), ("sections", heads)])
        return [exact(text({"op": "update", what: [{"id": draw.choice([*there, "nobody"]), "patch": patch(draw)}]}))]
    made = [exact(text(edit(draw, found, heads))) for _ in range(draw.choice([1, 1, 2, 3]))]
    return [exact(text(shaped(draw, each, state, shape))) for each in made] if shape else made


def shaped(draw, edit, state, shape):
    """The edit with contents of elements, or one that inserts elements."""
    contents = {key(each["id"]): each.get("content") for each in [*state["sections"], *every_item(state)]}
    is_section, heads = "sections" in edit, [each["id"] for each in state["sections"]]
    if edit["op"] == "update":
        return {**edit, **{what: [with_shape(draw, each, contents.get(key(each["id"])), shape, is_section, heads) for each in edit[what]]
                           for what in ("items", "sections") if what in edit}}
    if edit["op"] != "insert" or is_section:
        return edit
    if draw.random() < 0.6:
        new = [each if isinstance(each, dict) else {"id": each} for each in edit["items"]]
        is_map = shape.get("map") and "idAt" not in shape
        elements = [(key(each["id"]), element_of(draw, each["id"], shape, heads)) for each in new]
        if "idBy" in shape:
            elements = [(name, draw.choice([element, element, content(draw)])) for name, element in elements]
        place = {name: value for name, value in edit.items() if name != "items"}
        return {**place, "elements": dict(elements) if is_map else [each for _, each in elements]}
    return {**edit, "items": [{**each, "content": element_of(draw, each["id"], shape, heads)}
                              if isinstance(each, dict) and draw.random() < 0.7 else each for each in edit["items"]]}


def element_of(draw, identity, shape, heads):
    """A new element."""
    made = {"v": draw.randint(0, 3)}
    for pointer in shaped_places(shape, "idAt"):
        made = put(made, pointer, identity if pointer != "/type" else "p")
    for pointer, values in read_values(shape, False, heads):
        if draw.random() < 0.6:
            made = put(made, pointer, draw.choice(values))
    if "childrenAt" in shape and draw.random() < 0.1:
        child = dict(made)
        for pointer in shaped_places(shape, "idAt"):
            child = put(child, pointer, f"{key(identity)}'s" if pointer != "/type" else "p")
        is_map = shape.get("map") and "idAt" not in shape
        made = put(made, shape["childrenAt"], {f"{key(identity)}'s": child} if is_map else [child])
    return made


def shaped_places(shape, name):
    """Where ids stand; nowhere in a map, nor in elements without."""
    if shape.get("map") and name not in shape or name == "idAt" and "idBy" in shape:
        return []
    found = shape.get(name, "/id")
    return [found] if isinstance(found, str) else found


def read_values(shape, is_section, heads):
    """What stands at the places that the shape reads besides ids, rarely something that it cannot read."""
    groups = [*heads, *heads, "new", 7, None, ""]
    places = {"sectionExpandedAt": [True, False, None]} if is_section else {
        "kindAt": ["k", "k2", 7, None], "expandedAt": [True, False, None], "groupAt": groups}
    return [(shape[name], values * 20 + [[]]) for name, values in places.items() if name in shape]


def with_shape(draw, update, old, shape, is_section, heads):
    """The update with a content that keeps its id, mostly, or with a patch of what the shape reads."""
    if "content" in update and draw.random() < 0.9:
        made = update["content"] if isinstance(update["content"], dict) else {"v": 1}
        for pointer in shaped_places(shape, "sectionIdAt" if is_section else "idAt"):
            found = seek(old, pointer)
            made = put(made, pointer, found) if found is not NOTHING else made
        for pointer, values in read_values(shape, is_section, heads):
            made = put(made, pointer, draw.choice(values)) if draw.random() < 0.5 else made
        return {**update, "content": made}
    if draw.random() < 0.6:
        made = {}
        for pointer, values in read_values(shape, is_section, heads):
            made = put(made, pointer, draw.choice(values)) if draw.random() < 0.6 else made
        more = {} if is_section or draw.random() < 0.7 else {"kind": draw.choice(["k", "7", "other"])}
        more |= {"expanded": draw.choice([True, False])} if draw.random() < 0.2 else {}
        return {"id": update["id"], "patch": {**made, "v": draw.randint(0, 3)}, **more}
    return update


def edit(draw, found, heads):
    marks = {"reload": 2, "reconfigure": 2} if "marks" in draw.wanted else {"reload": 1, "reconfigure": 1}
    verbs = {"insert": 3, "delete": 1, "move": 3, "update": 3, "expand": 1, "collapse": 1, "clear": 0.2, **marks}
    verb = draw.choices(list(verbs), list(verbs.values()))[0]
    what = draw.choice(["items", "items", "sections"])
    there = found if what == "items" else heads
    chosen = draw.sample(there, min(len(there), draw.choice([1, 1, 2])))
    if draw.random() < 0.03:
        chosen = [*chosen, "nobody"]
    if verb == "clear" and draw.random() < 0.3:
        return {"op": "clear"}
    if verb in ("insert", "move"):
        return {"op": verb, what: new(draw, found, heads, what) if verb == "insert" else chosen, **place(draw, found, heads, what)}
    if verb == "update":
        return {"op": verb, what: [{"id": each, **updated(draw)} for each in chosen]}
    return {"op": verb, what: chosen}


def updated(draw):
    """The change of an update: a content, intents about one, or whether it is expanded."""
    if "intents" in WITHOUT or draw.random() < 0.6:
        return {"content": content(draw)} if draw.random() < 0.8 else {"expanded": draw.choice([True, False])}
    made = {}
    if draw.random() < 0.7:
        made["patch"] = patch(draw)
    if draw.random() < 0.4:
        places = ["/title", "/title", "/text", "/a~1b/c~0d", "/new/one", "/tags/0", "", "/n"]
        made["append"] = {each: draw.choice(["", "x", " and more \u00e9", "\U0001f600" * 30]) for each in draw.sample(places, draw.choice([1, 1, 2]))}
    if draw.random() < 0.7 or not made:
        places = ["/n", "/n", "/n", "/deep/x", "/a~1b/c~0d", "/new/one", "/tags/0", "", "/title", "/big"]
        made["add"] = {each: draw.choice([1, -1, Number("0.10"), Number("25e-2"), 10**17]) for each in draw.sample(places, draw.choice([1, 1, 2]))}
    return made


def patch(draw):
    return draw.choice([content(draw), {name: draw.choice([None, *values]) for name, values in MEMBERS.items() if draw.random() < 0.3}])


def new(draw, found, heads, what):
    taken = {key(each) for each in (found if what == "items" else heads)}
    # Among them are some that elements without ids are given.
    free = [each for each in ([*states.IDS, "2.0", "3.0", "4.0", "4.1"] if what == "items" else states.SECTIONS) if str(each) not in taken or draw.random() < 0.01]
    chosen = draw.sample(free, min(len(free), draw.choice([1, 1, 2])))
    if what == "items":
        return [each if draw.random() < 0.2 else states.random_item(draw, each) for each in chosen]
    return [{"id": each, "content": content(draw), "items": []} for each in chosen]


def place(draw, found, heads, what):
    there = found if what == "items" else heads
    match draw.choice(["before", "after", "into", "at", "none"]):
        case "into" if what == "items" and found + heads:
            kind = draw.choice([name for name, ids in (("item", found), ("section", heads)) if ids])
            return {"into": {kind: draw.choice(found if kind == "item" else heads)}, **draw.choice([{}, {"at": "start"}, {"at": "end"}])}
        case "before" | "after" as side if there:
            if "intents" not in WITHOUT and draw.random() < 0.3:
                return {side: draw.choice([None, [*draw.sample(["nobody", *there], 1), draw.choice(there), *draw.choice([[], [None]])]])}
            return {side: draw.choice(there) if draw.random() < 0.97 else "nobody"}
        case "at":
            return {"at": draw.choice(["start", "end"])}
    return {}


def view(draw):
    """One that shows less than all."""
    while True:
        made = views.random_view(draw)
        if made and not (set(made) == {"fields"} and "/content" in made["fields"]):
            return text(made)


def window(draw, state):
    """Which rows of a state."""
    found = [each["id"] for each in every_item(state)] + ["nobody"]
    made = draw.choice([{"at": "start"}, {"at": "end"}, {"at": draw.randint(0, 9)}, {"around": key(draw.choice(found))}])
    made.update({name: draw.randint(0, 4) for name in ("before", "after") if draw.random() < 0.8})
    return made
