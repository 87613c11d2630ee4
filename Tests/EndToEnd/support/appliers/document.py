"""json-patch: RFC 6902 on the whole state as GET writes it, with items as units."""

import copy

from ..jsontext import key
from .rows import members, require

__all__ = ["shown", "applied", "expected"]


def shown(state):
    members(state, ["sections"], ["content"])
    return copy.deepcopy(state)


expected = shown

ARGUMENTS = {"add": ["path", "value"], "remove": ["path"], "replace": ["path", "value"],
             "move": ["from", "path"], "copy": ["from", "path"], "test": ["path", "value"]}


def applied(before, patch):
    document = copy.deepcopy(before)
    for operation in patch:
        require(operation.get("op") in ARGUMENTS, "no operation of RFC 6902:", operation)
        members(operation, ["op"] + ARGUMENTS[operation["op"]])
        document = apply(document, operation)
    return document


def tokens(pointer):
    if pointer == "":
        return []
    require(pointer.startswith("/"), "no pointer:", pointer)
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/")]


def index(token, size):
    require(token.isdigit() and (token == "0" or token[0] != "0"), "no index:", token)
    require(int(token) < size, "the index is beyond the end:", token, size)
    return int(token)


def parent_of(document, path):
    place = document
    for token in path[:-1]:
        if isinstance(place, list):
            place = place[index(token, len(place))]
        else:
            require(isinstance(place, dict) and token in place, "nothing is at", path)
            place = place[token]
    return place, path[-1]


def take(document, path):
    place, last = parent_of(document, path)
    if isinstance(place, list):
        return place.pop(index(last, len(place)))
    require(isinstance(place, dict) and last in place, "nothing is at", path)
    return place.pop(last)


def put(document, path, value):
    place, last = parent_of(document, path)
    if isinstance(place, list):
        place.insert(index(last, len(place) + 1), value)
    else:
        require(isinstance(place, dict), "no object at", path)
        place[last] = value


def apply(document, operation):
    path = tokens(operation["path"])
    match operation["op"]:
        case "replace" if not path:
            return copy.deepcopy(operation["value"])
        case "replace":
            old = take(document, path)
            keep_identity(path, old, operation["value"])
            put(document, path, copy.deepcopy(operation["value"]))
        case "add":
            require(path, "the whole document is added")
            put(document, path, copy.deepcopy(operation["value"]))
        case "remove":
            take(document, path)
        case "move":
            source = tokens(operation["from"])
            require(path[:len(source)] != source or path == source, "a move into itself:", operation)
            put(document, path, take(document, source))
        case "copy":
            place, last = parent_of(document, tokens(operation["from"]))
            value = place[index(last, len(place))] if isinstance(place, list) else place[last]
            put(document, path, copy.deepcopy(value))
        case "test":
            place, last = parent_of(document, path)
            found = place[index(last, len(place))] if isinstance(place, list) else place[last]
            require(found == operation["value"], "the test fails:", operation)
    return document


def keep_identity(path, old, new):
    """One id is never replaced by another: not the id itself, nor an element of `sections` or `items`."""
    inside_content = "content" in path
    if inside_content:
        return
    if path[-1] == "id":
        require(key(old) == key(new), "an id is replaced at", path)
    elif path[-1] in ("sections", "items"):
        require([key(each["id"]) for each in old] == [key(each["id"]) for each in new], "a list is replaced at", path)
    elif len(path) > 1 and path[-2] in ("sections", "items"):
        require(key(old["id"]) == key(new["id"]), "an item is replaced by another at", path)
