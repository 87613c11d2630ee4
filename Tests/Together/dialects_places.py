"""Ignored places: what a content is without them, whether it has a value at one, and what a patch says of them; documents compared
with and without.

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


def may_hold(content, places):
    """Whether there could be a value at one of the places: its object or array is there."""
    for value in content:
        if isinstance(value, list):
            if any(each is END and (name == "0" or name.isdecimal() and name[0] != "0") for name, each in places.items()):
                return True
            pairs = [(str(index), each) for index, each in enumerate(value)]
        elif isinstance(value, dict):
            if END in places.values():
                return True
            pairs = value.items()
        else:
            continue
        if any(places.get(name) and may_hold([each], places[name]) for name, each in pairs):
            return True
    return False


def untold(patch, value, places):
    """What is wrong with a merge patch that leads to an object: it names each place whose object is there, and none in an array, and
    can do no more than set or remove values. None if all is right."""
    for name, inner in places.items():
        if inner is END:
            if name not in value:
                if patch.get(name, END) is not None or name not in patch:
                    return f"{name} is not removed"
            elif value[name] is None or isinstance(value[name], dict):
                return f"{name} is patched with {value[name]}"
            elif name not in patch or patch[name] != value[name]:
                return f"{name} is not named"
        elif isinstance(value.get(name), dict):
            below = patch.get(name, {})
            wrong = untold(below if isinstance(below, dict) else {}, value[name], inner)
            if wrong:
                return f"{name}: {wrong}"
        elif may_hold([value.get(name)], inner):
            return f"{name} has a place in an array"
    return None


def shown(pointers, views):
    """The ignored pointers of which all views show something."""
    for fields in (each["fields"] for each in views if "fields" in each):
        names = [field.split("/")[2:] for field in fields if field == "/content" or field.startswith("/content/")]
        pointers = [each for each in pointers if any(
            all(one == other for one, other in zip(field, each.split("/")[1:])) for field in names)]
    return pointers


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
