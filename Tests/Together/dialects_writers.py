"""Random lists whose contents gain, lose and change what is ignored, and random writes to them.

A write is a self-contained value: method, query and body. So a history can be printed, and played again without some of
its writes.
"""

import copy

from dialects_places import HOLE, tree, without
from intents import NOTHING, Unfit, intended
from model import Reading, own, said
from support.jsontext import Number, exact, key, text
from support.states import containers, items, spelled_otherwise

IDS = ["a", "b", "c", "d", "e", "f", "x/y~z", "é", "e\u0301", "with space", Number("1"), Number("22"), Number("9007199254740991")]
# A parser that reads numbers as doubles rounds these.
LARGE = [Number("9007199254740992"), Number("9007199254740993"), Number("-9007199254740993"), Number("184467440737095516170")]
SECTIONS = ["s", "t", "main", Number("7"), "é"]
# In contents numbers stay as written, however large.
LARGE_CONTENT = Number("12345678901234567890")
NUMBERS = [Number(token) for token in ("0", "1", "1.0", "1e0", "2", "-0", "2.50")] + [LARGE_CONTENT]
TEXTS = ["", "one", "two", "a text that is long enough to be worth a patch, and longer than what says where it stands"]
POINTERS = ["/ts", "/ts", "/seen", "/m/ts", "/m/ts", "/m", "/list/0/x", "/list/1", "/list/2/x", "/list", "/0", "/1/ts", "/2",
            "/nowhere", "/nowhere/at/all", "/t/below/a/text", "/a~1b/c~0d", "/", "", "/t", "/m/in/ts"]
FIELDS = ["/content/t", "/content/ts", "/content/n", "/content/m", "/content/m/k", "/content/m/ts", "/content/list", "/content/seen",
          "/content/long", "/content"]


def pointers(chance):
    """The places that a session ignores."""
    if chance.random() < 0.04:
        return []
    return chance.sample(POINTERS, chance.choice([1, 1, 2, 3, 6]))


def value(chance, depth=0):
    """A value for one member."""
    kind = chance.random()
    if kind < 0.5 or depth > 2:
        return chance.choice(NUMBERS + TEXTS + [True, False, None])
    if kind < 0.75:
        return {name: value(chance, depth + 1) for name in chance.sample(["ts", "k", "x", "in"], chance.randint(0, 3))}
    return [value(chance, depth + 1) for _ in range(chance.randint(0, 3))]


def member(chance, name):
    """A value that such a member has, most of the time."""
    if chance.random() < 0.12:
        return value(chance)
    match name:
        case "m":
            made = {each: chance.choice(NUMBERS) for each in chance.sample(["ts", "k", "x"], chance.randint(0, 3))}
            return {**made, **({"in": {"ts": chance.choice(NUMBERS), "k": Number("1")}} if chance.random() < 0.3 else {})}
        case "list":
            return [{each: chance.choice(NUMBERS) for each in chance.sample(["x", "y"], chance.randint(1, 2))}
                    for _ in range(chance.randint(0, 3))]
        case "long":
            return chance.choice(TEXTS[2:]) * chance.randint(1, 3)
        case "a/b":
            return {"c~d": chance.choice(NUMBERS), "k": chance.choice(NUMBERS)}
    return chance.choice(NUMBERS + TEXTS[:3] + [None])


MEMBERS = ["t", "n", "ts", "seen", "m", "list", "long", "a/b", ""]


def content(chance):
    """One value, or none."""
    kind = chance.random()
    if kind < 0.06:
        return []
    if kind < 0.12:
        return [chance.choice(NUMBERS + TEXTS + [None, True])]
    if kind < 0.2:
        return [[member(chance, chance.choice(["m", "ts"])) for _ in range(chance.randint(0, 3))]]
    names = chance.sample(MEMBERS, chance.randint(0, 5))
    made = {name: member(chance, name) for name in names}
    if chance.random() < 0.6:
        made["long"] = TEXTS[3]
    return [made]


def put_content(chance, owner):
    """Changes the content a little, or completely."""
    old = owner.pop("content", None)
    if isinstance(old, dict) and chance.random() < 0.85:
        new = copy.deepcopy(old)
        for _ in range(chance.choice([1, 1, 2, 3])):
            name = chance.choice(MEMBERS)
            if name in new and chance.random() < 0.4:
                del new[name]
            elif isinstance(new.get(name), dict) and chance.random() < 0.7:
                inner = chance.choice(["ts", "k"])
                if inner in new[name] and chance.random() < 0.4:
                    del new[name][inner]
                else:
                    new[name][inner] = chance.choice(NUMBERS)
            else:
                new[name] = member(chance, name)
        owner["content"] = new
        return
    for each in content(chance):
        owner["content"] = each


def touch_ignored(chance, owner, pointers):
    """Changes the value at one of the places, or removes it, or adds one where the way exists."""
    if not pointers or "content" not in owner:
        return
    names = [name.replace("~1", "/").replace("~0", "~") for name in chance.choice(pointers).split("/")[1:]]
    place = owner["content"] = copy.deepcopy(owner["content"])
    for name in names[:-1]:
        if isinstance(place, list) and name.isdigit() and int(name) < len(place):
            place = place[int(name)]
        elif isinstance(place, dict) and name in place:
            place = place[name]
        else:
            return
    if not names:
        return
    if isinstance(place, dict):
        if names[-1] in place and chance.random() < 0.4:
            del place[names[-1]]
        else:
            place[names[-1]] = member(chance, names[-1])
    elif isinstance(place, list) and names[-1].isdigit() and int(names[-1]) < len(place):
        place[int(names[-1])] = value(chance)


class Writer:
    """Makes the writes of one history, each from the current state."""

    def __init__(self, chance, has_large_ids=True):
        self.chance = chance
        self.pointers = pointers(chance)
        self.ids = IDS + (LARGE if has_large_ids else [])
        self.is_shaped = chance.random() < 0.3
        self.is_grouped = self.is_shaped and chance.random() < 0.5
        self.is_joined = self.is_grouped and chance.random() < 0.5
        self.is_scoped = self.is_shaped and chance.random() < 0.4
        self.heads = [{"id": name, "n": Number("1")} for name in chance.sample(["banner", "none", "empty"], 2)]
        self.changes_settings = chance.random() < 0.1
        self.gone = []

    # States

    def item(self, used):
        free = [each for each in self.ids if key(each) not in used]
        if self.gone and self.chance.random() < 0.5:
            old = copy.deepcopy(self.chance.choice(self.gone))
            if not used & {key(each["id"]) for each in items([{"items": [old]}])}:
                touch_ignored(self.chance, old, self.pointers)
                return old
        if not free:
            return None
        made = {"id": self.chance.choice(free)}
        for each in content(self.chance):
            made["content"] = each
        if self.chance.random() < 0.2:
            made["kind"] = self.chance.choice(["cell", "banner"])
        return made

    def section(self, identity):
        made = {"id": identity, "items": []}
        if self.chance.random() < 0.5:
            for each in content(self.chance):
                made["content"] = each
        return made

    def first(self):
        names = ["main"] if self.is_shaped else self.chance.sample(SECTIONS, self.chance.randint(1, 3))
        state = {"sections": [self.section(name) for name in names]}
        for _ in range(self.chance.randint(2, 8)):
            self.come(state)
        return state

    def come(self, state):
        made = self.item({key(each["id"]) for each in items(state["sections"])})
        if made is not None:
            self.put(state, made)

    def put(self, state, made):
        places = containers(state["sections"])
        nests = [each for each in items(state["sections"]) if "items" not in each]
        if nests and self.chance.random() < 0.25:
            parent = self.chance.choice(nests)
            if depth(state, parent) < 4:
                parent["items"] = []
                places = [parent["items"]]
        if places:
            place = self.chance.choice(places)
            place.insert(self.chance.randint(0, len(place)), made)

    def changed(self, state):
        """A neighbour of the state."""
        state = copy.deepcopy(state)
        for _ in range(self.chance.choice([1, 1, 2, 3, 5])):
            self.step(state)
        if self.chance.random() < 0.5:
            for each in items(state["sections"]):
                if self.chance.random() < 0.4:
                    touch_ignored(self.chance, each, self.pointers)
        if self.chance.random() < 0.15:
            put_content(self.chance, state)
        for each in [*state["sections"], *items(state["sections"])]:
            if self.chance.random() < 0.1:
                each["id"] = spelled_otherwise(each["id"])
        return tidy(state)

    def step(self, state):
        held = [(place, index) for place in containers(state["sections"]) for index in range(len(place))]
        deed = self.chance.choice(["content"] * 6 + ["come", "come", "go", "move", "move", "kind", "flip", "section"])
        if deed == "come":
            self.come(state)
        elif deed == "section":
            self.section_step(state)
        elif held:
            place, index = self.chance.choice(held)
            if deed == "content":
                put_content(self.chance, place[index])
            elif deed == "kind":
                place[index]["kind"] = self.chance.choice(["cell", "banner", "other"])
            elif deed == "flip":
                place[index]["expanded"] = not place[index].get("expanded", True)
            else:
                taken = place.pop(index)
                if deed == "move":
                    self.put(state, taken)
                else:
                    self.gone = (self.gone + [taken])[-6:]

    def section_step(self, state):
        chosen = state["sections"]
        free = [each for each in SECTIONS if key(each) not in {key(used["id"]) for used in chosen}]
        deed = self.chance.choice(["content", "content", "come", "go", "move", "flip"])
        if deed == "come" and free:
            chosen.insert(self.chance.randint(0, len(chosen)), self.section(self.chance.choice(free)))
        elif not chosen:
            return
        elif deed == "content":
            put_content(self.chance, self.chance.choice(chosen))
        elif deed == "go" and len(chosen) > 1:
            chosen.pop(self.chance.randrange(len(chosen)))
        elif deed == "move":
            chosen.insert(self.chance.randint(0, len(chosen) - 1), chosen.pop(self.chance.randrange(len(chosen))))
        elif deed == "flip":
            each = self.chance.choice(chosen)
            each["expanded"] = not each.get("expanded", True)

    def silent(self, state):
        """The state with other values at ignored places only."""
        state = copy.deepcopy(state)
        for each in items(state["sections"]):
            if self.chance.random() < 0.7:
                touch_ignored(self.chance, each, self.pointers)
        return state

    # Writes

    def creating(self):
        state = self.first()
        if self.is_shaped:
            query, body = self.shaped(state)
            return write("PUT", query, {"state": body, "ignore": self.pointers})
        return write("PUT", {}, {"state": state, "ignore": self.pointers})

    def back(self, documents):
        """An earlier state, whose ignored places hold other values or none, and perhaps with another change."""
        state, bare = copy.deepcopy(self.chance.choice(documents)), tree(self.pointers)
        for each in items(state["sections"]):
            if "content" in each and self.chance.random() < 0.5:
                each["content"] = without(each["content"], bare)
                if holds_a_hole(each["content"]):
                    del each["content"]
        state = self.silent(state) if self.chance.random() < 0.5 else state
        return self.changed(state) if self.chance.random() < 0.5 else state

    def next(self, state, documents):
        """The next write, given the states so far."""
        deed = self.chance.random()
        if deed < 0.3:
            return self.edits(state)
        if deed < 0.35:
            self.pointers = pointers(self.chance) if self.chance.random() < 0.5 else self.pointers
            return write("PUT", {}, {"state": self.changed(state), "ignore": self.pointers})
        if deed < 0.39 and self.changes_settings:
            self.pointers = pointers(self.chance)
            return write("PUT", {}, {"ignore": self.pointers})
        new = self.silent(state) if deed < 0.47 else self.back(documents) if deed < 0.6 else self.changed(state)
        query = {"reload": "true"} if self.chance.random() < 0.03 else {}
        if self.is_shaped:
            shape, body = self.shaped(new)
            return write("POST", {**query, **shape}, body)
        return write("POST", query, {"state": new} if self.chance.random() < 0.5 else new)

    def shaped(self, state):
        """The items as in a foreign document, and the place of its list."""
        taken = set()

        def element(item, group):
            content = item.get("content")
            content = {name: each for name, each in content.items() if name not in ("kids", "kind")} if isinstance(content, dict) else {}
            kind = {"kind": item["kind"]} if "kind" in item else {}
            group = group or kind.get("kind", "none")
            identity = key(item["id"]) if item["id"] in LARGE else item["id"]
            if self.is_scoped:
                identity = own(identity)
                if (self.is_grouped and group, identity) in taken:
                    return None
                taken.add((self.is_grouped and group, identity))
            kids = [each for each in (element(each, group) for each in item.get("items", [])) if each]
            return {**content, "id": identity, **kind, **({"kids": kids} if kids else {})}

        rows = [each for section in state["sections"] for item in section["items"] for each in [element(item, None)] if each]
        query = {"itemsAt": "/data/rows", "idAt": "/id", "kindAt": "/kind", "childrenAt": "/kids"}
        if self.is_scoped:
            query["idScope"] = "section"
        if self.is_grouped:
            query["groupAt"] = "/kind"
        if self.is_joined:
            query["sectionsAt"] = "/heads"
            return query, {"heads": self.heads, "data": {"rows": rows}}
        return query, {"data": {"rows": rows}, "took": Number("3")}

    def edits(self, state):
        made, state = [], copy.deepcopy(state)
        for _ in range(self.chance.choice([1, 1, 2, 3])):
            made += self.edit(state)
        return write("POST", {}, {"edits": made})

    def edit(self, state):
        """One edit that fits the state, or none; the state is kept as far as the next edit must know it."""
        chance, there, heads = self.chance, items(state["sections"]), state["sections"]
        deed = chance.choice(["update", "update", "update", "silent", "insert", "move", "delete", "fold", "mark", "section", "kind",
                              "marked silence", "intent", "intent"])
        if deed == "insert" and heads:
            new = self.item({key(each["id"]) for each in there})
            if new is None:
                return []
            section = chance.choice(heads)
            section["items"].append(new)
            return [{"op": "insert", "items": [copy.deepcopy(new)], "into": {"section": section["id"]}}]
        if deed == "section" and heads:
            section = chance.choice(heads)
            put_content(chance, section)
            if "content" not in section:
                return []
            return [{"op": "update", "sections": [{name: section[name] for name in ("id", "content")}]}]
        if not there:
            return []
        item = chance.choice(there)
        match deed:
            case "update" | "silent":
                if deed == "update":
                    put_content(chance, item)
                touch_ignored(chance, item, self.pointers)
                return [{"op": "update", "items": [{name: item[name] for name in ("id", "content")}]}] if "content" in item else []
            case "marked silence" if "content" in item:
                touch_ignored(chance, item, self.pointers)
                return [{"op": chance.choice(["reload", "reconfigure"]), "items": [item["id"]]},
                        {"op": "update", "items": [{name: item[name] for name in ("id", "content")}]}]
            case "intent":
                intents = self.intents(item.get("content", NOTHING))
                if intents:
                    item["content"] = intended(item.get("content", NOTHING), intents)
                return [{"op": "update", "items": [{"id": item["id"], **intents}]}]
            case "kind":
                item["kind"] = chance.choice(["cell", "banner", "other"])
                return [{"op": "update", "items": [{name: item[name] for name in ("id", "kind")}]}]
            case "move":
                other = chance.choice(there)["id"]
                if chance.random() < 0.3 and not item.get("items"):
                    return [{"op": "move", "items": [item["id"]], chance.choice(["before", "after"]): chance.choice([None, ["gone", other, None]])}]
                return [{"op": "move", "items": [item["id"]], "into": {"section": chance.choice(heads)["id"]},
                         "at": chance.choice(["start", "end"])}]
            case "delete":
                if "items" not in item:
                    self.gone = (self.gone + [copy.deepcopy(item)])[-6:]
                return [{"op": "delete", "items": [item["id"]]}]
            case "fold":
                return [{"op": chance.choice(["expand", "collapse"]), "items": [item["id"]]}]
            case "mark":
                section = {"sections": [chance.choice(heads)["id"]]}
                return [{"op": chance.choice(["reload", "reconfigure"]), **({"items": [item["id"]]} if chance.random() < 0.8 else section)}]
        return []


    def intents(self, content):
        """A patch, an addition, or both, or a text to append, that fit the content; perhaps nothing."""
        chance, made = self.chance, {}
        if chance.random() < 0.3:
            wanted = {"append": {chance.choice(["/long", "/long", "/m/k", "/list/0/x", "/a~1b/k", "/new/one", ""]): chance.choice(TEXTS)}}
            try:
                intended(content, wanted)
                return wanted
            except Unfit:
                pass
        if chance.random() < 0.7:
            names = chance.sample(MEMBERS, chance.choice([1, 1, 2]))
            made["patch"] = {name: None if chance.random() < 0.3 else member(chance, name) for name in names}
        pointer = chance.choice(["/n", "/ts", "/m/ts", "/m/k", "/list/0/x", "/a~1b/k", "/new/one", ""])
        try:
            wanted = {**made, "add": {pointer: Number(chance.choice(["1", "-1.50", "25e-2"]))}}
            intended(content, wanted)
            return wanted
        except Unfit:
            return made


def holds_a_hole(value):
    """Whether an element of an array was left out, so that this is not a JSON value."""
    if isinstance(value, dict):
        return any(map(holds_a_hole, value.values()))
    return value is HOLE or isinstance(value, list) and any(map(holds_a_hole, value))


def depth(state, wanted):
    """How many items are above this one."""
    def found(given, level):
        for each in given:
            if each is wanted:
                return level
            below = found(each.get("items", []), level + 1)
            if below is not None:
                return below
        return None

    return next(level for level in (found(section["items"], 1) for section in state["sections"]) if level is not None)


def tidy(state):
    """Defaults left out, as GET leaves them."""
    for each in items(state["sections"]) + state["sections"]:
        if each.get("expanded", True):
            each.pop("expanded", None)
    for each in items(state["sections"]):
        if not each.get("items", True):
            del each["items"]
    return state


def write(method, query, body):
    return {"method": method, "query": query, "body": body}


# What a write brings


def posted(write):
    """The state that it brings as GET writes it, or None for edits, and for mere settings."""
    body = write["body"]
    document = body.get("state") if "state" in body else None if "edits" in body or write["method"] == "PUT" else body
    if document is None:
        return None
    if "itemsAt" in write["query"]:
        return said(Reading(exact(text(document)), write["query"]).state)
    return document


def marked(write):
    """The ids of the items and of the sections to redraw."""
    edits = [each for each in write["body"].get("edits", []) if each["op"] in ("reload", "reconfigure")]
    return [{key(identity) for each in edits for identity in each.get(name, [])} for name in ("items", "sections")]


# Views and windows


def view(chance):
    """One that may cut ignored places away, or look at them."""
    made = {}
    if chance.random() < 0.6:
        made["fields"] = chance.sample(FIELDS, chance.randint(0, 5))
    if chance.random() < 0.3:
        made["where"] = [chance.choice([{"at": "/content/ts", "exists": chance.random() < 0.5}, {"at": "/content/n", "not": Number("1")},
                                        {"at": "/content/seen", "not": None}, {"at": "/kind", "not": "banner"},
                                        {"at": "/id", "not": chance.choice(["a", "b", Number("1"), "é"])}])]
    if chance.random() < 0.3:
        made["order"] = [{"at": chance.choice(["/content/t", "/content/ts", "/kind"]), "descending": chance.random() < 0.5}]
    if chance.random() < 0.2:
        made["group"] = {"at": chance.choice(["/content/t", "/content/ts", "/kind", "/content/n"])}
    if chance.random() < 0.15:
        made["sectionOrder"] = [{"at": chance.choice(["/id", "/content/t"]), "descending": chance.random() < 0.5}]
    if chance.random() < 0.15:
        made["emptySections"] = False
    if chance.random() < 0.1:
        made["collapsed"] = {"sections": chance.sample(SECTIONS, 2), "items": chance.sample(IDS, 2)}
    if chance.random() < 0.15:
        made["limit"] = Number(str(chance.randint(1, 6)))
    for name in ("sectionFields", "listFields"):
        if chance.random() < 0.2:
            made[name] = chance.sample(FIELDS, chance.randint(0, 3))
    return made or {"fields": ["/content/t", "/content/m/k"]}


def window(chance):
    place = {"around": key(chance.choice(IDS))} if chance.random() < 0.4 else {"at": chance.choice(["start", "end", 1, 2, 4])}
    return {**place, "before": chance.randint(0, 2), "after": chance.randint(0, 4)}
