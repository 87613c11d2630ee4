"""keyed: operations by id, in the contract's order, each anchor present when it is named."""

from ..jsontext import key
from .rows import Misfit, header, manner, members, require, row, shown, visible

__all__ = ["shown", "applied", "expected"]

expected = visible

PHASES = ["sections inserted and moved", "items removed", "items inserted and moved", "sections removed", "updates"]


def applied(before, changes):
    model = before.copy()
    phase = 0
    for operation in changes:
        mine = phase_of(operation)
        require(mine >= phase, "out of order:", operation, "after", PHASES[phase])
        phase = mine
        apply(model, operation)
    in_runs(changes)
    return model.check()


def in_runs(changes):
    """One operation removes items, one inserts each run of neighbours, and one updates those with each `as`."""
    of_items = [operation for operation in changes if "items" in operation]
    require(all(operation["items"] for operation in of_items), "no items:", of_items)
    require(sum(operation["op"] == "remove" for operation in of_items) <= 1, "removed in two operations")
    manners = [operation["as"] for operation in of_items if operation["op"] == "update"]
    require(len(set(manners)) == len(manners), "updated in two operations:", manners)
    starts = {key(operation["items"][0]["id"]) for operation in of_items if operation["op"] == "insert"}
    for operation in of_items:
        if operation["op"] == "insert" and operation["before"] is not None:
            require(key(operation["before"]) not in starts, "neighbours in two operations:", operation)


def phase_of(operation):
    of_item = "item" in operation or "items" in operation
    match operation["op"]:
        case "insert" | "move":
            return 2 if of_item else 0
        case "remove":
            return 1 if of_item else 3
        case "update":
            return 4
    raise Misfit(f"no operation of keyed: {operation}")


def apply(model, operation):
    verb = operation["op"]
    if "item" in operation or "items" in operation:
        ITEM[verb](model, operation)
    else:
        SECTION[verb](model, operation)


def insert_section(model, operation):
    members(operation, ["op", "section", "before"])
    section = operation["section"]
    require(not model.has_section(section["id"]), "it is there already:", operation)
    rows = [row(each) for each in section.get("items", [])]
    for each in rows:
        require(model.place(each["id"]) is None, "a row that is there comes as new:", operation)
    model.sections.insert(anchor(model, operation["before"]), (header(section), rows))


def move_section(model, operation):
    members(operation, ["op", "section", "before"])
    section = model.sections.pop(model.section(operation["section"]))
    model.sections.insert(anchor(model, operation["before"]), section)


def remove_section(model, operation):
    members(operation, ["op", "section"])
    del model.sections[model.section(operation["section"])]


def update_section(model, operation):
    members(operation, ["op", "section", "as"])
    manner(operation)
    at = model.section(operation["section"]["id"])
    require("items" not in operation["section"], "an update of a section holds rows:", operation)
    old, rows = model.sections[at]
    model.sections[at] = (header(operation["section"], old), rows)


def insert_items(model, operation):
    members(operation, ["op", "items", "in", "before"])
    for each in operation["items"]:
        item = row(each)
        require(model.place(item["id"]) is None, "it is there already:", operation)
        put(model, item, operation)


def move_item(model, operation):
    members(operation, ["op", "item", "in", "before"])
    section, index = model.found(operation["item"])
    put(model, model.sections[section][1].pop(index), operation)


def remove_items(model, operation):
    members(operation, ["op", "items"])
    for each in operation["items"]:
        section, index = model.found(each)
        del model.sections[section][1][index]


def update_items(model, operation):
    members(operation, ["op", "items", "as"])
    for each in operation["items"]:
        section, index = model.found(each["id"])
        rows = model.sections[section][1]
        old = rows[index]
        rows[index] = row(each, old)
        manner(operation, old, rows[index])


def put(model, item, operation):
    section = model.section(operation["in"])
    before = operation["before"]
    rows = model.sections[section][1]
    if before is None:
        rows.append(item)
        return
    where, index = model.found(before)
    require(where == section, "the anchor stands in another section:", operation)
    rows.insert(index, item)


def anchor(model, before):
    return len(model.sections) if before is None else model.section(before)


ITEM = {"insert": insert_items, "move": move_item, "remove": remove_items, "update": update_items}
SECTION = {"insert": insert_section, "move": move_section, "remove": remove_section, "update": update_section}
