"""What a client of the row dialects shows: sections of visible rows, and the strict reading of both."""

import copy

from ..jsontext import key

ITEM_MEMBERS = {"id", "content", "kind", "level", "parent", "expanded", "children"}
SECTION_MEMBERS = {"id", "content", "expanded"}


class Misfit(AssertionError):
    """A changeset that does not fit what the client shows."""


def require(claim, *words):
    if not claim:
        raise Misfit(" ".join(str(word) for word in words))


def members(operation, required, optional=()):
    """The operation has exactly these members."""
    found = set(operation)
    require(set(required) <= found <= set(required) | set(optional), "members of", operation)


def row(item, old=None):
    """A row as the client keeps it: defaults left out, a patch applied to the content it had."""
    item = copy.deepcopy(item)
    take_change(item, old)
    require(set(item) <= ITEM_MEMBERS and "id" in item, "members of the row", item)
    key(item["id"])
    for name in {"level", "children"} & set(item):
        item[name] = plain(item[name])
    if item.get("level", 0) == 0:
        item.pop("level", None)
        require(item.get("parent") is None, "a row at the root with a parent:", item)
        item.pop("parent", None)
    else:
        require(item.get("parent") is not None, "an indented row without a parent:", item)
        item["parent"] = key(item["parent"])
    if "children" in item:
        require(item["children"] > 0, "no children, yet counted:", item)
    require(item.get("expanded", False) is False, "a default is written:", item)
    item["id"] = key(item["id"])
    return item


def manner(operation, old=None, new=None):
    """Every update says how to redraw: in place, or in a new cell, as another kind requires."""
    require(operation["as"] in ("reconfigure", "reload"), "as what?", operation)
    if old is not None and old.get("kind") != new.get("kind"):
        require(operation["as"] == "reload", "another kind, yet not reloaded:", operation)


def header(section, old=None):
    """A section without its rows, as the client keeps it."""
    section = {name: value for name, value in copy.deepcopy(section).items() if name != "items"}
    take_change(section, old)
    require(set(section) <= SECTION_MEMBERS and "id" in section, "members of the section", section)
    require(section.get("expanded", False) is False, "a default is written:", section)
    section["id"] = key(section["id"])
    return section


def plain(number):
    return int(getattr(number, "token", number))


def take_change(owner, old):
    """Puts the content in place of what an update says of it."""
    if "patch" in owner or "append" in owner:
        require(old is not None and "content" in old and "content" not in owner, "a change of nothing:", owner)
        changed = merged(old["content"], owner.pop("patch")) if "patch" in owner else old["content"]
        owner["content"] = grown(changed, owner.pop("append")) if "append" in owner else changed


def grown(content, texts):
    """A content with texts put behind strings in it, which objects alone lead to."""
    require(isinstance(texts, dict) and texts, "no texts:", texts)
    for pointer, rest in texts.items():
        content = grown_at(content, [each.replace("~1", "/").replace("~0", "~") for each in pointer.split("/")[1:]], rest)
    return content


def grown_at(value, names, rest):
    if not names:
        require(isinstance(value, str) and isinstance(rest, str) and rest, "a text behind no text:", value, rest)
        return value + rest
    require(isinstance(value, dict) and names[0] in value, "a text at no place:", value, names)
    return {**value, names[0]: grown_at(value[names[0]], names[1:], rest)}


def merged(target, patch):
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


class Shown:
    """Sections in order, each its header and its rows."""

    def __init__(self, sections=()):
        self.sections = [(head, list(rows)) for head, rows in sections]

    def __eq__(self, other):
        return isinstance(other, Shown) and self.sections == other.sections

    def __repr__(self):
        return f"Shown({self.sections!r})"

    def copy(self):
        return Shown(self.sections)

    def order(self):
        return [head["id"] for head, _ in self.sections]

    def section(self, identity):
        for index, (head, _) in enumerate(self.sections):
            if head["id"] == key(identity):
                return index
        raise Misfit(f"there is no section {identity!r}")

    def has_section(self, identity):
        return key(identity) in self.order()

    def place(self, identity):
        for section, (_, rows) in enumerate(self.sections):
            for index, each in enumerate(rows):
                if each["id"] == key(identity):
                    return section, index
        return None

    def found(self, identity):
        place = self.place(identity)
        require(place is not None, "there is no row", identity)
        return place

    def check(self):
        """Ids are unique, and every child stands below its parent with one level more. In a window the ancestors of its first
        row are not shown."""
        require(len(set(self.order())) == len(self.sections), "a section is there twice")
        ids = [each["id"] for _, rows in self.sections for each in rows]
        require(len(set(ids)) == len(ids), "a row is there twice")
        first = next((each for _, rows in self.sections for each in rows), None)
        for _, rows in self.sections:
            path = [None] * first.get("level", 0) if first in rows[:1] else []
            for each in rows:
                level = each.get("level", 0)
                require(level <= len(path), "a level is jumped over at", each)
                del path[level:]
                if path and path[-1] is None:
                    require(each["parent"] not in ids, "its parent stands behind it:", each)
                    path[-1] = each["parent"]
                require(level == 0 or each["parent"] == path[-1], "not under its parent:", each)
                path.append(each["id"])
        return self


def shown(state):
    """The rows of a reset, as operations write them."""
    members(state, ["sections"], ["content"])
    sections = []
    for section in state["sections"]:
        members(section, ["id", "items"], ["content", "expanded"])
        rows = [row(each) for each in section["items"]]
        require(section.get("expanded", True) or not rows, "a collapsed section shows rows:", section)
        sections.append((header(section), rows))
    return Shown(sections).check()


def visible(document):
    """The rows of a whole state as GET writes it: those whose section and ancestors are expanded."""
    sections = []
    for section in document["sections"]:
        rows = []

        def walk(items, level, parent):
            for item in items:
                line = {name: value for name, value in item.items() if name != "items"}
                children = item.get("items") or []
                if level:
                    line["level"], line["parent"] = level, key(parent)
                if children:
                    line["children"] = len(children)
                rows.append(row(line))
                if item.get("expanded", True):
                    walk(children, level + 1, item["id"])

        if section.get("expanded", True):
            walk(section.get("items") or [], 0, None)
        sections.append((header(section), rows))
    return Shown(sections).check()
