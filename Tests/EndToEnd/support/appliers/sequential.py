"""sequential: splices on one flat list; a section with content is one row, its header.

A move to another section says so itself; a row whose section changed without a move is an update (CONTRACT §6).
"""

from ..jsontext import key
from . import rows
from .rows import header, manner, members, plain, require, row

__all__ = ["shown", "applied", "expected"]


def flat(model):
    """The list a client of this dialect shows: (header, id) or (row, id, section)."""
    lines = []
    for head, own in model.sections:
        if "content" in head:
            lines.append({"section": head})
        lines.extend({"item": line, "in": head["id"]} for line in own)
    return lines


def shown(state):
    return flat(rows.shown(state))


def expected(document):
    return flat(rows.visible(document))


def identity(line):
    return ("section", line["section"]["id"]) if "section" in line else ("item", line["item"]["id"])


def read(line, old=None):
    if "section" in line:
        members(line, ["section"])
        require("items" not in line["section"], "a header with rows:", line)
        head = header(line["section"], old and old["section"])
        require("content" in head, "a header row without content:", line)
        return {"section": head}
    members(line, ["item", "in"])
    return {"item": row(line["item"], old and old["item"]), "in": key(line["in"])}


def applied(before, changes):
    lines = list(before)
    previous = None
    for operation in changes:
        previous = apply(lines, operation, previous)
    require(len({identity(line) for line in lines}) == len(lines), "a row is there twice")
    return lines


def apply(lines, operation, previous):
    match operation["op"]:
        case "remove":
            members(operation, ["op", "at", "count"])
            at, count = plain(operation["at"]), plain(operation["count"])
            require(count > 0 and 0 <= at and at + count <= len(lines), "no such rows:", operation)
            del lines[at:at + count]
            require(previous is None or previous[0] == "remove", "removals come first:", operation)
            require(previous is None or at + count < previous[1], "from the end, neighbours merged:", operation)
            return "remove", at
        case "insert":
            members(operation, ["op", "at", "rows"])
            at, new = plain(operation["at"]), operation["rows"]
            require(new and 0 <= at <= len(lines), "no such place:", operation)
            there = {identity(line) for line in lines}
            for line in map(read, new):
                require(identity(line) not in there, "it is there already:", line)
            lines[at:at] = [read(line) for line in new]
            require(previous is None or previous[0] != "update", "updates come last:", operation)
            return "insert", at
        case "move":
            members(operation, ["op", "from", "to"], ["in"])
            source, to = plain(operation["from"]), plain(operation["to"])
            require(0 <= source < len(lines) and 0 <= to < len(lines), "no such rows:", operation)
            line = lines.pop(source)
            if "in" in operation:
                require("item" in line and line["in"] != key(operation["in"]), "it is in this section already:", operation)
                line = {**line, "in": key(operation["in"])}
            lines.insert(to, line)
            require(previous is None or previous[0] != "update", "updates come last:", operation)
            return "move", to
        case "update":
            members(operation, ["op", "at", "rows", "as"])
            at, new = plain(operation["at"]), operation["rows"]
            require(new and 0 <= at and at + len(new) <= len(lines), "no such rows:", operation)
            for index, line in enumerate(new, at):
                old = lines[index]
                require(identity_of(line) == identity(old), "the update is of another row:", line)
                lines[index] = read(line, old)
                manner(operation, old.get("item", {}), lines[index].get("item", {}))
            if previous is not None and previous[0] == "update":
                alike = previous[2] == operation["as"]
                require(previous[1] < at if alike else previous[1] <= at, "neighbours merged:", operation)
            return "update", at + len(new), operation["as"]
    raise rows.Misfit(f"no operation of sequential: {operation}")


def identity_of(line):
    return ("section", key(line["section"]["id"])) if "section" in line else ("item", key(line["item"]["id"]))
