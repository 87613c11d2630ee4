"""Edits of a list that keeps a shape: what the shape reads in contents follows them (CONTRACT §2)."""

import itertools
import re

from intents import NOTHING
from model import Editing, Reading, Refused, escaped, every, every_item, is_id, key, seek, steps, within, written
from support import views

BAD = object()


def ids_in(item):
    """The ids of an item of an edit and of its children."""
    if not isinstance(item, dict):
        return [item]
    return [item["id"], *(each for inner in item.get("items", []) for each in ids_in(inner))]


def setting(content, names, value):
    """The content with the value there, NOTHING for none; the content itself where it cannot be."""
    if not isinstance(content, dict):
        return content
    name, *rest = names
    if not rest:
        return {**{each: own for each, own in content.items() if each != name or value is not NOTHING}, **({name: value} if value is not NOTHING else {})}
    inner = content.get(name, NOTHING)
    if inner is NOTHING:
        return content if value is NOTHING else {**content, name: setting({}, rest, value)}
    return {**content, name: setting(inner, rest, value)}


def group_alone(section):
    content = section.get("content")
    return isinstance(content, dict) and set(content) == {"group"}


class ShapedEditing(Editing):
    """The same, with contents that agree with what edits say."""

    def __init__(self, state, edits, shape, keeps, sequence):
        self.keeps, self.reading = keeps, Reading.__new__(Reading)
        # What new elements without ids must not be called: what the state and the whole batch have.
        self.new_ids = (f"{sequence}.{count}" for count in itertools.count())
        self.unfree = {key(each["id"]) for each in every_item(state)} | {
            key(each) for edit in edits if edit["op"] == "insert"
            for top in [*edit.get("items", []), *(item for section in edit.get("sections", []) for item in section.get("items", []))]
            for each in ids_in(top)}
        self.reading.shape, self.reading.warnings = {name: value for name, value in shape.items() if name not in ("duplicates", "invalid")}, []
        self.shape = shape
        super().__init__(state, edits)

    # What is read

    def fields(self, owner, is_section):
        """The parts of the id, the kind, whether it is expanded, the group, and whether there is a list."""
        content, shape = owner.get("content", NOTHING), self.shape
        name = "sectionIdAt" if is_section else "idAt"
        pointers = [] if shape.get("map") and name not in shape or "idBy" in shape and not is_section else shape.get(name, "/id")
        parts = [seek(content, each) for each in ([pointers] if isinstance(pointers, str) else pointers)]
        kind = None if is_section or "kindAt" not in shape else seek(content, shape["kindAt"])
        kind = None if kind is NOTHING or kind is None else key(kind) if isinstance(kind, str) or is_id(kind) else BAD
        place = "sectionExpandedAt" if is_section else "expandedAt"
        expanded = seek(content, shape[place]) if place in shape else None
        expanded = None if expanded is NOTHING else expanded if expanded is None or isinstance(expanded, bool) else BAD
        group = self.group(content) if "groupAt" in shape and not is_section else None
        inner = (shape.get("itemsAt", "/items") if "groupAt" not in shape else None) if is_section else shape.get("childrenAt")
        has_list = content is not NOTHING and inner is not None and seek(content, inner) is not NOTHING
        return {"parts": [BAD if each is not NOTHING and not is_id(each) else each for each in parts], "kind": kind, "expanded": expanded,
                "group": group, "list": has_list, "has": content is not NOTHING}

    def grouped(self, content):
        """The id of the section that a content belongs to, and what that says of its group."""
        value, most = seek(content, self.shape["groupAt"]), self.shape.get("groupPrefix")
        return views.group_of(None if value is NOTHING else value, most and int(key(most)))[:2]

    def group(self, content):
        return key(self.grouped(content)[0])

    def reads(self, is_section):
        return not is_section or "sectionsAt" in self.shape

    def own(self, identity):
        whole = key(identity)
        rest = whole.partition("/")[2]
        if self.shape.get("idScope") != "section" or "/" not in whole or re.search("~(?![01])", rest):
            return whole
        return rest.partition("/")[0].replace("~1", "/").replace("~0", "~")

    def row(self, owner):
        """The section of an item of the top level."""
        return next((each for each in self.heads if any(item is owner for item in each["items"])), None)

    # Following

    def write(self, owner, pointer, value, is_needed=True):
        if "content" in owner and (not is_needed or seek(owner["content"], pointer) is not NOTHING) and steps(pointer):
            owner["content"] = setting(owner["content"], steps(pointer), value)

    def follow(self, owner, is_section, old, kind=None, expanded=None, is_placed=False):
        """`old` is None for what is new."""
        if not self.reads(is_section):
            return
        shape, now = self.shape, self.fields(owner, is_section)
        if kind is not None and "kindAt" in shape and now["kind"] != kind:
            self.write(owner, shape["kindAt"], kind)
        place = "sectionExpandedAt" if is_section else "expandedAt"
        if expanded is not None and place in shape and now["expanded"] != expanded:
            self.write(owner, shape[place], expanded)
        now = self.fields(owner, is_section)
        before = old or {"parts": [NOTHING] * len(now["parts"]), "kind": None, "expanded": None, "list": False, "has": False}
        for one, other in zip(now["parts"], before["parts"]):
            if one is BAD and other is not BAD or one is NOTHING and old and now["has"] and not (other is NOTHING and before["has"]):
                raise Refused("id-changed")
        if now["list"] and not before["list"] or any(now[name] is BAD is not before[name] for name in ("kind", "expanded")):
            raise Refused("wrong-shape")
        identity = self.joined_id(now["parts"])
        if identity is not None and identity != (self.joined_id(before["parts"]) or self.own(owner["id"])):
            raise Refused("id-changed")
        (was_kind, is_kind), (was_open, is_open) = (
            [None if each[name] is BAD else each[name] for each in (before, now)] for name in ("kind", "expanded"))
        if kind is None and is_kind != was_kind:
            owner.pop("kind", None)
            owner.update({} if is_kind is None else {"kind": is_kind})
        if expanded is None and is_open is not was_open and not (is_open is None and self.keeps):
            owner["expanded"] = is_open is not False
        if old and not is_placed and self.row(owner) and now["group"] != before["group"]:
            self.regroup(owner)

    def joined_id(self, parts):
        if not parts or any(each is NOTHING or each is BAD for each in parts):
            return None
        return key(parts[0]) if len(parts) == 1 else "/".join(map(escaped, parts))

    def regroup(self, owner):
        home, section = self.row(owner), self.section_for(owner.get("content", NOTHING))
        if section is not home:
            home["items"][:] = [each for each in home["items"] if each is not owner]
            section["items"].append(owner)

    def section_for(self, content):
        """The section of a row's group, made at the end if need be."""
        group, told = self.grouped(content)
        found = next((each for each in self.heads if key(each["id"]) == key(group)), None)
        if found is None:
            found = {"id": written(group), "content": {"group": told}, "items": []}
            self.heads.append(found)
        return found

    def say_group(self, owner):
        section = self.row(owner)
        if "groupAt" not in self.shape or "groupPrefix" in self.shape or section is None:
            return
        before = self.fields(owner, False)
        if before["group"] == key(section["id"]):
            return
        value = NOTHING if key(section["id"]) == "none" else section["content"]["group"] if group_alone(section) else section["id"]
        if value is not NOTHING or seek(owner.get("content", NOTHING), self.shape["groupAt"]) is not NOTHING:
            self.write(owner, self.shape["groupAt"], value, is_needed=False)
        self.follow(owner, False, before, is_placed=True)

    def finish(self):
        if "groupAt" in self.shape:
            self.heads[:] = [each for each in self.heads if each["items"] or not group_alone(each)
                             or self.group_of(each["content"]["group"]) != key(each["id"])]

    def group_of(self, value):
        return self.group(setting({}, steps(self.shape["groupAt"]), value))

    # Edits

    def updates(self, owner):
        self.before = self.fields(owner, self.what == "sections")

    def updated(self, owner, update):
        self.follow(owner, self.what == "sections", self.before, update.get("kind"), update.get("expanded"))

    def fold(self):
        for each in self.named():
            before = self.fields(each, self.what == "sections")
            each["expanded"] = self.edit["op"] == "expand"
            self.follow(each, self.what == "sections", before, expanded=each["expanded"])

    def inserted(self, owner, is_section=False):
        self.follow(owner, is_section, None, owner.get("kind"), owner.get("expanded"))

    def move(self):
        super().move()
        if self.what == "items":
            for each in self.named():
                self.say_group(each)

    def insert(self):
        if self.what == "sections":
            super().insert()
            for each in self.named_again():
                self.inserted(each, True)
                for item in every(each["items"]):
                    self.inserted(item)
                for item in each["items"]:
                    self.say_group(item)
            return
        edit = self.edit
        is_placed = any(name in edit for name in ("before", "after", "into")) or edit.get("at") == "start"
        if "elements" in edit:
            new = self.read_elements(is_placed)
        else:
            new = self.read_items()
        if "groupAt" in self.shape and not is_placed:
            for each in new:
                self.section_for(each.get("content", NOTHING))["items"].append(each)
        else:
            self.put(new, {key(each["id"]) for each in new})
        for top in new:
            for each in every([top]):
                self.inserted(each)
            self.say_group(top)

    def named_again(self):
        names = {key(each["id"]) for each in self.edit["sections"]}
        return [each for each in self.heads if key(each["id"]) in names]

    def read_items(self):
        reading = Reading.__new__(Reading)
        reading.shape, reading.warnings, reading.codes = {}, [], []
        reading.taken = {"section": set(), "item": {key(each["id"]) for each in every_item(self.state)}}
        new = [reading.item(each) for each in self.edit["items"]]
        if reading.codes:
            raise Refused(*reading.codes)
        return new

    def read_elements(self, is_placed):
        shape, given = self.shape, self.edit["elements"]
        is_map = bool(shape.get("map") and "idAt" not in shape)
        if isinstance(given, dict) != is_map:
            raise Refused("wrong-shape")
        taken, new = {key(each["id"]) for each in every_item(self.state)}, []
        for name, element in given.items() if is_map else [(None, each) for each in given]:
            reading = self.reading
            reading.codes, reading.taken, reading.scope = [], {"section": set(), "item": set()}, ""
            name = self.new_id() if "idBy" in shape else name
            if shape.get("idScope") == "section":
                home = self.target_section() if is_placed or "groupAt" not in shape else self.grouped(element)[0]
                reading.enters_section(home)
            item = reading.shaped_item(name, element)
            found = [key(each["id"]) for each in every([item])] if item else []
            if reading.codes or not item or len(set(found)) < len(found) or taken & set(found):
                raise Refused("wrong-shape")
            taken |= set(found)
            new.append(item)
        return new

    def new_id(self):
        return next(each for each in self.new_ids if each not in self.unfree)

    def target_section(self):
        """The id of the section that the edit names."""
        anchor, into = self.anchor(set()), self.edit.get("into")
        if anchor is None and isinstance(into, dict) and "section" in into:
            return self.owner("sections", into["section"])["id"]
        inner = anchor if anchor is not None else into["item"] if into is not None else None
        if inner is not None:
            self.owner("items", inner)
            return next(each["id"] for each in self.heads if within(each["items"], inner))
        if not self.heads:
            raise Refused("no-section")
        return self.heads[0 if self.is_at_start else -1]["id"]
