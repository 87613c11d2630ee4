"""Ignored places: what a content is without them, and whether it has a value at one; documents compared with and without.

Values are as `jsontext.exact` reads them. A content is a list of one value, or of none.
"""

from support.jsontext import key

# Takes the place of an ignored element in an array; no JSON value equals it.
HOLE = ("an ignored element",)
END = None


def tree(pointers):
    """The places as nested names, END where a pointer ends. The whole content is not a place in it."""
    root = {}
    for pointer in pointers:
        place = root
        names = [name.replace("~1", "/").replace("~0", "~") for name in pointer.split("/")[1:]]
        for name in names[:-1]:
            place = place.setdefault(name, {})
            if place is END:
                break
        else:
            if names:
                place[names[-1]] = END
    return root


def without(value, places):
    """The value as equality sees it."""
    if not places or not isinstance(value, (dict, list)):
        return value
    if isinstance(value, dict):
        return {name: without(each, places.get(name, {})) for name, each in value.items() if places.get(name, {}) is not END}
    found = [HOLE if places.get(str(index), {}) is END else without(each, places.get(str(index), {}))
             for index, each in enumerate(value)]
    while found and found[-1] is HOLE:
        found.pop()
    return found


def holds(content, places):
    """Whether there is a value at one of the places."""
    pairs = []
    for value in content:
        if isinstance(value, dict):
            pairs += value.items()
        if isinstance(value, list):
            pairs += [(str(index), each) for index, each in enumerate(value)]
    return any(places.get(name, {}) is END or (places.get(name) and holds([each], places[name])) for name, each in pairs)


def content(owner):
    return [owner["content"]] if "content" in owner else []


def is_same(one, other, places):
    """Whether two items, rows or sections are equal, their contents without the places."""
    if one.keys() != other.keys():
        return False
    return all(without(value, places) == without(other[name], places) if name == "content" else value == other[name]
               for name, value in one.items())


def spelled(document):
    """A whole state, each id by its text."""
    def item(given):
        own = {**given, "id": key(given["id"])}
        return {**own, "items": [item(each) for each in given["items"]]} if "items" in given else own

    return {**document, "sections": [item(each) for each in document["sections"]]}


def is_same_state(one, other, places):
    """Whether two states are equal: only items have ignored places."""
    def stripped(given):
        own = {name: without(value, places) if name == "content" else value for name, value in given.items()}
        return {**own, "items": [stripped(each) for each in given["items"]]} if "items" in given else own

    def whole(state):
        state = spelled(state)
        return {**state, "sections": [{**each, "items": [stripped(item) for item in each["items"]]} for each in state["sections"]]}

    return whole(one) == whole(other)
