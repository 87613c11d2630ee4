"""A small model of the contract: what a list is after each write, and what an answer may say of it.

It is slow, and meant to be obviously right. States are as GET writes them, numbers as tokens (`jsontext.exact`); where a state
comes from a writer, `expanded` is a member wherever the writer said it.
"""

import copy
import json
import re

from intents import NOTHING, Unfit, intended
from matching import identified
from support import views
from support.appliers import rows
from support.jsontext import Number, exact, key

LARGEST = 2**53 - 1


class Refused(Exception):
    """A write that changes nothing: the codes of its faults."""

    def __init__(self, *codes):
        super().__init__(*codes)
        self.codes = codes


class Unsaid(Exception):
    """A document that the contract leaves open: whether omitted sections count."""


# Pointers


def steps(pointer):
    return [name.replace("~1", "/").replace("~0", "~") for name in pointer.split("/")[1:]]


def at(value, pointer):
    """The value at the pointer; NOTHING if the way ends at nothing or null; Refused if something else blocks it."""
    for name in steps(pointer):
        if value is None or isinstance(value, dict) and name not in value:
            return NOTHING
        if not isinstance(value, dict):
            raise Refused("not-found")
        value = value[name]
    return value


def seek(value, pointer):
    """The same for an optional value."""
    try:
        return at(value, pointer)
    except Refused:
        return NOTHING


def without(value, pointer):
    """The value without what is at the pointer; NOTHING if that is all of it."""
    names = steps(pointer)
    if not names:
        return NOTHING
    if not isinstance(value, dict) or names[0] not in value:
        return value
    inner = without(value[names[0]], "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in names[1:]))
    return {name: inner if name == names[0] else each for name, each in value.items() if name != names[0] or inner is not NOTHING}


def only(value, pointers):
    """These members of the value."""
    kept = {}
    for pointer in pointers:
        found, place = seek(value, pointer), kept
        if found is NOTHING:
            continue
        *way, last = steps(pointer)
        for name in way:
            place = place.setdefault(name, {})
        place[last] = found
    return kept


# Ids


def is_id(value):
    if isinstance(value, Number):
        return re.fullmatch(r"-?[0-9]+", value.token) is not None
    return isinstance(value, str) and 0 < len(value.encode()) <= 2048 and not any(ord(each) < 32 or ord(each) == 127 for each in value)


def written(identity):
    """An id as echoed."""
    return identity.token if isinstance(identity, Number) and abs(int(identity.token)) > LARGEST else identity


def escaped(identity):
    """An id as a part of another one."""
    return key(identity).replace("~", "~0").replace("/", "~1")


def own(identity):
    """The id of a row within its section, if that is a part of its id."""
    return key(identity).rpartition("/")[2].replace("~1", "/").replace("~0", "~")


# What writers post


class Reading:
    """A document, read natively or by a shape: a state, and warnings."""

    # The prefix of items' ids: their section's, if that is their scope.
    scope = ""

    def __init__(self, document, shape=None, head=None, sequence=1, ignored=()):
        self.shape, self.warnings, self.codes = shape or {}, [], []
        self.taken = {"section": set(), "item": set()}
        self.state = self.by_shape(document) if shape else self.natively(document)
        if self.codes:
            raise Refused(*self.codes)
        if "idBy" in self.shape:
            group = [self.shape["groupAt"]] if "groupAt" in self.shape else []
            identified(self.state, head, sequence, lambda value: stripped(value, ignored), lambda value: stripped(value, group))

    def enters(self, what, identity):
        """Whether an element with this id is accepted."""
        if not is_id(identity):
            if self.shape.get("invalid") == "skip":
                self.warnings.append("skipped")
            else:
                self.codes.append("missing-id" if identity is NOTHING else "invalid-id")
            return False
        scoped = (self.scope if what == "item" else "") + key(identity)
        if scoped in self.taken[what]:
            if self.shape.get("duplicates") == "first":
                self.warnings.append("duplicate-id")
            else:
                self.codes.append("duplicate-id")
            return False
        self.taken[what].add(scoped)
        return True

    def enters_section(self, identity):
        """Everything read from now on is in this section."""
        if self.shape.get("idScope") == "section":
            self.scope = escaped(identity) + "/"

    def whole(self, identity):
        """An item's id in the state."""
        return self.scope + escaped(identity) if self.scope else written(identity)

    def list_in(self, owner, name):
        found = owner.get(name)
        if found is not None and not isinstance(found, list):
            self.codes.append("not-an-array")
            return []
        return found or []

    def natively(self, document):
        if isinstance(document, list):
            document = {"items": document}
        if not isinstance(document, dict) or ("sections" in document) == ("items" in document):
            raise Refused("wrong-shape")
        kept = {name: document[name] for name in ("content",) if name in document}
        given = self.list_in(document, "sections") if "sections" in document else [{"id": "main", "items": document["items"]}]
        if set(document) - {"content", "sections", "items"}:
            self.codes.append("unknown-member")
        return {**kept, "sections": [each for each in map(self.section, given) if each]}

    def section(self, given):
        if set(given) - {"id", "content", "expanded", "items"}:
            self.codes.append("unknown-member")
        if not self.enters("section", given.get("id", NOTHING)):
            return None
        kept = {name: given[name] for name in ("content", "expanded") if name in given}
        return {"id": written(given["id"]), **kept, "items": self.items(given)}

    def items(self, owner):
        return [each for each in map(self.item, self.list_in(owner, "items")) if each]

    def item(self, given):
        if not isinstance(given, dict):
            given = {"id": given}
        if set(given) - {"id", "content", "kind", "expanded", "items"}:
            self.codes.append("unknown-member")
        if not self.enters("item", given.get("id", NOTHING)):
            return None
        kept = {name: given[name] for name in ("content", "kind", "expanded") if name in given}
        return views.with_items({"id": written(given["id"]), **kept}, self.items(given))

    def by_shape(self, document):
        shape = self.shape
        places = [shape[name] for name in ("sectionsAt", "itemsAt") if name in shape]
        if "groupAt" not in shape:
            places = places[:1]
        places = places or [""]
        found = [at(document, place) for place in places]
        if NOTHING in found and shape.get("missing") != "empty":
            raise Refused("not-found")
        lists = [self.elements(each, shape.get("map") and name not in shape)
                 for each, name in zip(found, (["sectionIdAt"] if "sectionsAt" in shape else []) + ["idAt"])]
        if "groupAt" in shape:
            sections = self.joined(*lists) if len(lists) == 2 else self.joined([], lists[0])
        elif "sectionsAt" in shape:
            sections = self.sections(lists[0])
        else:
            self.enters_section("main")
            sections = [{"id": "main", "items": self.shaped_items(lists[0])}]
        rest = shape.get("rest", False)
        content = only(document, rest) if rest and rest is not True else NOTHING
        if rest is True:
            content = document
            for place in places:
                content = without(content, place)
        return {**({} if content is NOTHING else {"content": content}), "sections": sections}

    def joined(self, heads, rows):
        """Flat rows in the sections of their groups: first the listed ones, then the others, in order of appearance."""
        made = {}
        for name, element in heads:
            identity = self.identity(name, element, "sectionIdAt")
            if self.enters("section", identity):
                made[key(identity)] = {"id": written(identity), **self.members(element, None, "sectionExpandedAt"), "items": []}
        for name, element in rows:
            value, most = seek(element, self.shape["groupAt"]), self.shape.get("groupPrefix")
            group, told, is_group = views.group_of(None if value is NOTHING else value, most and int(key(most)))
            self.enters_section(group)
            item = self.shaped_item(name, element)
            if item:
                made.setdefault(key(group), {"id": written(group), "content": {"group": told}, "items": []})["items"].append(item)
                self.warnings += [] if is_group else ["no-group"]
        return list(made.values())

    def elements(self, found, is_map):
        """The elements of a list, each with its name in a map."""
        if found is NOTHING or found is None:
            return []
        if is_map and isinstance(found, dict):
            return list(found.items())
        if not isinstance(found, list):
            self.codes.append("not-an-object" if is_map else "not-an-array")
            return []
        return [(str(index), each) for index, each in enumerate(found) if each is not None] if is_map else [(None, each) for each in found]

    def identity(self, name, element, member):
        if name is not None:
            return name
        if member == "idAt" and "idBy" in self.shape:
            # Until it is known what it continues.
            return f"element {len(self.taken['item'])}"
        pointers = self.shape.get(member, "/id")
        pointers = [pointers] if isinstance(pointers, str) else pointers
        parts = [seek(element, each) for each in pointers]
        if len(parts) == 1:
            return parts[0]
        if not all(map(is_id, parts)):
            return NOTHING
        return "/".join(map(escaped, parts))

    def sections(self, elements):
        place, made, has_items = self.shape.get("itemsAt", "/items"), [], False
        for name, element in elements:
            identity = self.identity(name, element, "sectionIdAt")
            if self.enters("section", identity):
                inner = at(element, place)
                has_items = has_items or inner is not NOTHING
                self.enters_section(identity)
                own = self.elements(inner, self.shape.get("map") and "idAt" not in self.shape)
                made.append({"id": written(identity), **self.members(element, place, "sectionExpandedAt"), "items": self.shaped_items(own)})
        if elements and not has_items and self.shape.get("missing") != "empty":
            raise Refused("not-found") if len(made) == len(elements) else Unsaid
        return made

    def shaped_items(self, elements):
        return [each for each in (self.shaped_item(*pair) for pair in elements) if each]

    def shaped_item(self, name, element):
        identity = self.identity(name, element, "idAt")
        if not self.enters("item", identity):
            return None
        children = self.shape.get("childrenAt")
        kind = seek(element, self.shape["kindAt"]) if "kindAt" in self.shape else NOTHING
        own = self.elements(seek(element, children), self.shape.get("map") and "idAt" not in self.shape) if children else []
        kept = {"id": self.whole(identity), **self.members(element, children, "expandedAt")}
        if isinstance(kind, str) or isinstance(kind, Number) and is_id(kind):
            kept["kind"] = key(kind)
        elif kind is not NOTHING and kind is not None:
            self.codes.append("wrong-type")
        return views.with_items(kept, self.shaped_items(own))

    def members(self, element, place, name):
        """The content of an element, and whether it is expanded."""
        content = element if place is None else without(element, place)
        kept = {} if content is NOTHING else {"content": content}
        expanded = seek(element, self.shape[name]) if name in self.shape else NOTHING
        if isinstance(expanded, bool):
            kept["expanded"] = expanded
        elif expanded is not NOTHING and expanded is not None:
            self.codes.append("wrong-type")
        return kept


def with_section(old, name, body, shape):
    """The state with one section as a native body says: what it leaves out stays. `shape`: what the session keeps."""
    if "groupAt" in shape:
        raise Refused("wrong-shape")
    given = {"items": body} if isinstance(body, list) else body
    read = Reading({"sections": [{"id": name, **given}]}).state["sections"][0]
    if shape.get("idScope") == "section":
        for each in every(read["items"]):
            each["id"] = escaped(name) + "/" + escaped(each["id"])
    state = copy.deepcopy(old)
    section = next((each for each in state["sections"] if key(each["id"]) == name), None)
    others = {key(item["id"]) for each in state["sections"] if each is not section for item in every(each["items"])}
    if others & {key(each["id"]) for each in every(read["items"])}:
        raise Refused("elsewhere")
    if section is None:
        section = {"id": name, "items": []}
        state["sections"].append(section)
    section.update((member, read[member]) for member in ("content", "expanded", "items") if member in given)
    return state


def every(items):
    for each in items:
        yield each
        yield from every(each.get("items", []))


def every_item(state):
    return (item for section in state["sections"] for item in every(section["items"]))


def said(state, head=None):
    """The state with `expanded` settled: by the writer, else as in the head, if that is kept; a default is left out."""
    known = [{key(each["id"]): each.get("expanded", True) for each in owners} for owners in (
        head["sections"] if head else (), every_item(head) if head else ())]
    state = copy.deepcopy(state)
    for owners, old in ((state["sections"], known[0]), (every_item(state), known[1])):
        for each in owners:
            if each.get("expanded", old.get(key(each["id"]), True)):
                each.pop("expanded", None)
            else:
                each["expanded"] = False
    return state


# Equality


def stripped(content, ignored):
    for pointer in ignored:
        content = without(content, pointer)
    return content


def comparable_item(item, ignored):
    kept = {**item, "id": key(item["id"])}
    if "content" in item and ignored:
        kept["content"] = stripped(item["content"], ignored)
    if "items" in item:
        kept["items"] = [comparable_item(each, ignored) for each in item["items"]]
    return kept


def comparable(state, ignored):
    """Equal only for equal states."""
    sections = [{**each, "id": key(each["id"]), "items": [comparable_item(item, ignored) for item in each["items"]]}
                for each in state["sections"]]
    return {**state, "sections": sections}


# Edits


def within(items, identity):
    """The list below these that contains an item, and its index."""
    for index, each in enumerate(items):
        found = (items, index) if key(each["id"]) == key(identity) else within(each.get("items", []), identity)
        if found:
            return found
    return None


class Editing:
    """Edits applied to a state, in order: the state after them, and what they mark."""

    def __init__(self, state, edits):
        self.state, self.marks = copy.deepcopy(state), {}
        for edit in edits:
            self.edit = edit
            self.what = "sections" if "sections" in edit else "items"
            getattr(self, {"expand": "fold", "collapse": "fold", "reload": "mark", "reconfigure": "mark"}.get(edit["op"], edit["op"]))()
        self.finish()
        for each in list(every_item(self.state)):
            if not each.get("items", True):
                del each["items"]
        self.state = said(self.state)
        there = {("section", key(each["id"])) for each in self.heads} | {("item", key(each["id"])) for each in every_item(self.state)}
        self.marks = {name: manner for name, manner in self.marks.items() if name in there}

    def finish(self):
        """What a batch does at its end."""

    @property
    def heads(self):
        return self.state["sections"]

    def place(self, identity):
        """The list that contains the section or item, and its index."""
        if self.what == "items":
            return next((found for section in self.heads for found in [within(section["items"], identity)] if found), None)
        return next(((self.heads, index) for index, each in enumerate(self.heads) if key(each["id"]) == key(identity)), None)

    def owner(self, what, identity):
        """A required section or item."""
        self.what, before = what, self.what
        found = self.place(identity)
        self.what = before
        if found is None:
            raise Refused("unknown-id")
        return found[0][found[1]]

    def named(self):
        return [self.owner(self.what, each) for each in self.edit[self.what]]

    def insert(self):
        reading = Reading.__new__(Reading)
        reading.shape, reading.warnings, reading.codes = {}, [], []
        reading.taken = {"section": {key(each["id"]) for each in self.heads}, "item": {key(each["id"]) for each in every_item(self.state)}}
        new = [(reading.section if self.what == "sections" else reading.item)(each) for each in self.edit[self.what]]
        if reading.codes:
            raise Refused(*reading.codes)
        self.put(new, {key(each["id"]) for each in new})

    def move(self):
        moved = self.named()
        batch = {key(each["id"]) for each in moved}
        below = {key(each["id"]) for item in moved for each in every(item.get("items", []))} if self.what == "items" else set()
        target, anchor = self.edit.get("into"), self.anchor(batch)
        if isinstance(target, dict) and "item" in target and key(target["item"]) in batch | below:
            raise Refused("cycle")
        if anchor is not None and key(anchor) in below - batch:
            raise Refused("cycle")
        self.put(moved, batch)

    def anchor(self, batch):
        """The sibling that the edit names; None if it names an end."""
        for name in ("before", "after"):
            given = self.edit.get(name)
            for each in given if isinstance(given, list) else []:
                if each is None or key(each) not in batch and self.place(each) is not None:
                    return each
            if isinstance(given, list):
                raise Refused("anchor-not-found")
            if given is not None and key(given) not in batch and self.place(given) is None:
                raise Refused("anchor-not-found")
            if given is not None:
                return given
        return None

    @property
    def is_at_start(self):
        return self.edit.get("at") == "start" or "after" in self.edit

    def put(self, new, batch):
        edit, anchor = self.edit, self.anchor(batch)
        if anchor is None:
            target = self.target()
        elif key(anchor) in batch:
            raise Refused("anchor-in-batch")
        if edit["op"] == "move":
            # An item below another one of the batch is taken out of it.
            for each in new:
                own, index = self.place(each["id"]) or next(
                    (found for other in new for found in [within(other.get("items", []), each["id"])] if found), None)
                del own[index]
        if anchor is not None:
            target, index = self.place(anchor)
            index += "after" in edit
        else:
            index = 0 if self.is_at_start else len(target)
        target[index:index] = new

    def target(self):
        if self.what == "sections":
            return self.heads
        into = self.edit.get("into")
        if into is not None:
            (what, identity), = into.items()
            return self.owner(what + "s", identity).setdefault("items", [])
        if not self.heads:
            raise Refused("no-section")
        return self.heads[0 if self.is_at_start else -1]["items"]

    def delete(self):
        for each in self.edit[self.what]:
            found = self.place(each)
            if found:
                del found[0][found[1]]

    def update(self):
        for each in self.edit[self.what]:
            owner = self.owner(self.what, each["id"])
            self.updates(owner)
            owner.update({name: value for name, value in each.items() if name not in ("id", "patch", "add", "append")})
            try:
                made = intended(owner.get("content", NOTHING), each)
            except Unfit as unfit:
                raise Refused(*unfit.args) from None
            if made is not NOTHING:
                owner["content"] = made
            self.updated(owner, each)

    def updates(self, owner):
        """Before an update is carried out."""

    def updated(self, owner, update):
        """What follows an update that was carried out."""

    def fold(self):
        for each in self.named():
            each["expanded"] = self.edit["op"] == "expand"

    def mark(self):
        for each in self.named():
            name = self.what[:-1], key(each["id"])
            self.marks[name] = "reload" if "reload" in (self.edit["op"], self.marks.get(name)) else "reconfigure"

    def clear(self):
        for each in self.named() if self.what in self.edit else self.heads:
            each["items"] = []


# Histories


class Commit:
    """A revision: its state, and what else a reader of an older one must be told."""

    def __init__(self, number, state, marks, reload, is_start, features):
        self.number, self.state, self.marks, self.reload, self.is_start, self.features = number, state, marks, reload, is_start, features
        self.cursors, self.seen = {}, {}


class Board:
    """A session: its settings, its commits, and how many before the head are remembered (None: unknown)."""

    def __init__(self, name, settings, remembered):
        self.name, self.settings, self.remembered = name, settings, remembered
        self.ignored = settings.get("ignore", [])
        self.commits, self.digests, self.cursors, self.sequences = [], {}, {}, {}

    @property
    def head(self):
        return self.commits[-1]

    def commit(self, state, marks=None, reload=False, is_start=False, features=()):
        """Whether the write makes a revision."""
        same = self.commits and not is_start and comparable(state, self.ignored) == comparable(self.head.state, self.ignored)
        if same and not marks and not reload:
            return False
        # A state that differs only at ignored places is not stored.
        made = Commit(len(self.commits), self.head.state if same else state, marks or {}, reload, is_start, frozenset(features))
        made.digest = json.dumps(comparable(made.state, self.ignored), sort_keys=True, default=lambda number: {"#": number.token})
        self.commits.append(made)
        return True

    def start(self, head):
        """The commit that the history begins with."""
        return max(each.number for each in self.commits[:head.number + 1] if each.is_start or not each.number)

    def is_remembered(self, commit, head):
        """None if unknown."""
        if commit is head:
            return True
        if commit.number < self.start(head):
            return False
        return None if self.remembered is None else head.number - commit.number <= self.remembered

    def bases(self, base, head, is_plain):
        """The commits that a reader's revision may match, and whether it may match none."""
        known = self.is_remembered(base, head)
        if known:
            return [base], False
        alike = [each for each in self.commits[:head.number + 1]
                 if is_plain and each is not base and each.digest == base.digest and self.is_remembered(each, head) is not False]
        sure = any(self.is_remembered(each, head) for each in alike)
        return ([base] if known is None else []) + alike, not sure

    def reasons(self, base, head, is_plain):
        if not is_plain:
            return {"expired", "unknown", "replaced"}
        return {"replaced"} if base.number < self.start(head) else {"expired"}

    def between(self, base, head):
        return self.commits[base.number + 1:head.number + 1]

    def marks(self, base, head):
        """What to redraw; a mark is forgotten with its revision."""
        found = {}
        for commit in self.between(base, head):
            for name, manner in commit.marks.items() if self.is_remembered(commit, head) else ():
                found[name] = "reload" if "reload" in (manner, found.get(name)) else "reconfigure"
        return found

    def seen(self, commit, through):
        """The state through views, each a JSON text, and its rows."""
        if through not in commit.seen:
            state = views.viewed(commit.state, *map(exact, through))
            commit.seen[through] = state, rows.visible(state)
        return commit.seen[through]
