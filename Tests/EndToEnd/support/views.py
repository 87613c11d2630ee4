"""What a reader shows of a state, CONTRACT §10 word by word: slow, and obviously right.

States are as GET writes them, read by `jsontext.exact`: numbers are tokens, compared by their exact values.
"""

import json
import re

from .appliers import rows
from .jsontext import Number, key

# Views


def viewed(state, *views):
    """What several views show of a state, each of the previous one's result."""
    for view in views:
        state = one_view(state, view)
    return state


def one_view(state, view):
    sections = [each for each in state["sections"] if "sections" not in view or key(each["id"]) in map(key, view["sections"])]
    sections = [{**each, "items": passing(each["items"], view.get("where", []))} for each in sections]
    if "group" in view:
        sections = grouped(in_order([item for each in sections for item in each["items"]], view.get("order", [])), view["group"])
    else:
        sections = [{**each, "items": in_order(each["items"], view.get("order", []))} for each in sections]
    for order in reversed(view.get("sectionOrder", [])):
        places = [values_at(section, order["at"]) for section in sections]
        sections = [sections[index] for index in insertion_sorted(places, -1 if order.get("descending") else 1)]
    left = plain(view["limit"]) if "limit" in view else None
    shown = []
    for each in sections:
        items = each["items"]
        if left is not None:
            items = items[:left]
            left -= len(items)
        shown.append({**each, "items": items})
    if view.get("emptySections", True) is False:
        shown = [each for each in shown if each["items"]]
    folded_ids = {name: set(map(key, ids)) for name, ids in view.get("collapsed", {}).items()}
    shown = [collapsed({**each, "items": collapsed_items(each["items"], folded_ids.get("items", ()))}, folded_ids.get("sections", ()))
             for each in shown]
    state = {**state, "sections": shown}
    if "fields" in view:
        state["sections"] = [{**each, "items": with_fields(each["items"], view["fields"])} for each in shown]
    if "sectionFields" in view:
        state["sections"] = [cut(each, view["sectionFields"]) for each in state["sections"]]
    return cut(state, view["listFields"]) if "listFields" in view else state


def grouped(items, group):
    """Sections of the items, in the order of their first ones."""
    made = {}
    for item in items:
        value = key(item["id"]) if group["at"] == "/id" else next(iter(values_at(item, group["at"])), None)
        identity, told, _ = group_of(value, plain(group["prefix"]) if "prefix" in group else None)
        made.setdefault(key(identity), {"id": identity, "content": {"group": told}, "items": []})["items"].append(item)
    return list(made.values())


def group_of(value, prefix):
    """The id of the section that an item with this value goes into; what that says of the group where the item is its first; and
    whether the value could be a group, or is none."""
    if value is None or value == "":
        return "none", None, True
    if not isinstance(value, (bool, str, int, Number)):
        return "none", None, False
    text = value if isinstance(value, str) else json.dumps(value) if isinstance(value, bool) else key(value)
    if prefix is not None:
        value = text = text[:prefix]
    if len(octets(text)) > 2048 or re.search(r"[\x00-\x1f\x7f-\x9f]", text):
        return "none", None, False
    is_number = not isinstance(value, (bool, str)) and re.fullmatch(r"-?\d+", text)
    return value if is_number else text, value, True


def collapsed(each, ids):
    return {**each, "expanded": False} if key(each["id"]) in ids else each


def collapsed_items(items, ids):
    return [collapsed(with_items(item, collapsed_items(item.get("items", []), ids)), ids) for item in items]


def with_items(item, items):
    """The item with these children."""
    rest = {name: value for name, value in item.items() if name != "items"}
    return {**rest, "items": items} if items else rest


# Tests


def passing(items, tests):
    return [with_items(item, passing(item.get("items", []), tests)) for item in items
            if all(passes(item, test) for test in tests)]


def passes(item, test):
    if "any" in test:
        return any(passes(item, each) for each in test["any"])
    name, operand = next((name, operand) for name, operand in test.items() if name not in ("at", "fold"))
    found = values_at(item, test["at"])
    if test["at"] == "/id":
        if name == "has":
            found = [key(item["id"])]
        elif name in ("is", "not", "in"):
            operand = list(map(as_id, operand)) if name == "in" else as_id(operand)
    if test.get("fold"):
        found = list(map(folded, found))
        operand = list(map(folded, operand)) if name == "in" else folded(operand)
    match name:
        case "exists":
            return bool(found) == operand
        case "not":
            return not any(same(value, operand) for value in found)
        case "is":
            return any(same(value, operand) for value in found)
        case "in":
            return any(same(value, each) for value in found for each in operand)
        case "has":
            return any(isinstance(value, str) and octets(operand) in octets(value) for value in found)
    signs = {"below": [-1], "above": [1], "atMost": [-1, 0], "atLeast": [0, 1]}[name]
    return any(rank([value]) == rank([operand]) and compare([value], [operand]) in signs for value in found)


def folded(value):
    """A string in lower case, scalar by scalar."""
    return "".join("i" if each == "\u0130" else each.lower() for each in value) if isinstance(value, str) else value


def values_at(item, pointer):
    """The item's value at a place: one, or none."""
    first, *names = [name.replace("~1", "/").replace("~0", "~") for name in pointer.split("/")[1:]]
    if first == "expanded":
        return [item.get("expanded", True)]
    if first == "id":
        return [as_id(key(item["id"]))]
    found = [item[first]] if first in item else []
    for name in names:
        found = [value[name] for value in found if isinstance(value, dict) and name in value]
    return found


def same(one, other):
    """Whether two JSON values are equal, numbers by value."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[name]) for name, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return rank([one]) == rank([other]) < 6 and compare([one], [other]) == 0


def as_id(value):
    """An id is the number that its text is, or else a string; 1 and "1" are one."""
    return Number(value) if isinstance(value, str) and re.fullmatch(r"-?(0|[1-9][0-9]*)", value, re.ASCII) else value


# Order: absent, null, false, true, numbers, strings, then arrays and objects. A list of one value or of none.


def in_order(items, orders):
    items = [with_items(item, in_order(item.get("items", []), orders)) for item in items]
    for order in reversed(orders):
        places = [values_at(item, order["at"]) for item in items]
        indexes = insertion_sorted(places, -1 if order.get("descending") else 1)
        items = [items[index] for index in indexes]
    return items


def insertion_sorted(places, sign):
    """The indexes of the values in order; equal ones keep theirs."""
    done = []
    for index, place in enumerate(places):
        at = len(done)
        while at > 0 and sign * compare(places[done[at - 1]], place) > 0:
            at -= 1
        done.insert(at, index)
    return done


def rank(place):
    if not place:
        return 0
    value = place[0]
    if isinstance(value, bool) or value is None:
        return {None: 1, False: 2, True: 3}[value]
    if isinstance(value, (Number, int, float)):
        return 4
    return 5 if isinstance(value, str) else 6


def compare(one, other):
    """-1, 0 or 1 as the one comes before the other, with it or behind it."""
    ranks = rank(one), rank(other)
    if ranks[0] != ranks[1] or ranks[0] not in (4, 5):
        return sign(*ranks)
    made = number if ranks[0] == 4 else octets
    return sign(made(one[0]), made(other[0]))


def sign(one, other):
    return (one > other) - (one < other)


def octets(text):
    return text.encode("utf-8")


def number(value):
    """What numbers are compared by, never expanded: the sign, the power of ten of the first digit, and the digits."""
    token = value.token if isinstance(value, Number) else repr(value)
    minus, whole, tenths, exponent = re.fullmatch(r"(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?", token).groups()
    digits = whole + (tenths or "")
    first = len(digits) - len(digits.lstrip("0"))
    digits = digits.strip("0")
    if not digits:
        return 0, 0, ()
    power = len(whole) - 1 - first + int(exponent or 0)
    if minus:
        # Nines' complements go down as digits go up; 10 stands behind all of them, so that -1.5 is below -1.
        return -1, -power, tuple(9 - int(digit) for digit in digits) + (10,)
    return 1, power, tuple(map(int, digits))


def plain(value):
    return int(getattr(value, "token", value))


# Fields


def with_fields(items, fields):
    return [cut(with_items(item, with_fields(item.get("items", []), fields)), fields) for item in items]


def cut(owner, fields):
    """What has a content with those members of it only."""
    paths = [[name.replace("~1", "/").replace("~0", "~") for name in field.split("/")[1:]] for field in fields]
    paths = [path[1:] for path in paths if path[0] == "content"]
    rest = {name: value for name, value in owner.items() if name != "content"}
    if "content" not in owner or not paths:
        return rest
    if [] not in paths and not isinstance(owner["content"], dict):
        return rest
    return {**rest, "content": part(owner["content"], paths) or {}} if [] not in paths else owner


def part(value, paths):
    """The members that the paths lead to; None where there are none."""
    if [] in paths:
        return value
    if not isinstance(value, dict):
        return None
    found = {}
    for name, inner in value.items():
        below = [path[1:] for path in paths if path[0] == name]
        shown = part(inner, below) if below else None
        if below and (shown is not None or [] in below):
            found[name] = shown
    return found or None


# Random ones

PLACES = ["/id", "/kind", "/expanded", "/content", "/content/n", "/content/n", "/content/title", "/content/title",
          "/content/tags", "/content/long", "/content/a~1b", "/content/a~1b/c~0d", "/content/none"]
OPERANDS = [None, True, "1", "22", False, 1, 1.0, 1.5, 2, 22, "", "a", "one", "two", "text", "banner", "x/y~z", [], {}, ["x", "y"], {"c~d": 1.0}]
MAX_TESTS = 16


def random_view(chance):
    """One that shows something of the states that `states` makes."""
    view = {}
    if chance.random() < 0.25:
        view["sections"] = chance.sample(["s", "t", "u", "7", "main", "é", "none"], 4)
    if chance.random() < 0.4:
        view["where"] = random_tests(chance)
    if chance.random() < 0.5:
        view["order"] = [{"at": chance.choice(PLACES), **chance.choice([{}, {"descending": True}, {"descending": False}])}
                         for _ in range(chance.randint(1, 3))]
    if chance.random() < 0.25:
        view["group"] = {"at": chance.choice(PLACES), **({"prefix": chance.randint(1, 2)} if chance.random() < 0.3 else {})}
    if chance.random() < 0.2:
        view["sectionOrder"] = [{"at": chance.choice(["/id", *(place for place in PLACES if place.startswith("/content"))]),
                                 **chance.choice([{}, {"descending": True}, {"descending": False}])}
                                for _ in range(chance.randint(1, 2))]
    if chance.random() < 0.2:
        view["emptySections"] = False
    if chance.random() < 0.15:
        view["collapsed"] = {"sections": chance.sample(["s", "t", "u", "7", "main", "none", "one", "1"], 3),
                             "items": chance.sample(["a", "b", "c", 1, "2", "é"], 3)}
    if chance.random() < 0.3:
        view["limit"] = chance.randint(0, 6)
    for name in ("fields", "sectionFields", "listFields"):
        if chance.random() < 0.3:
            view[name] = chance.sample([place for place in PLACES if place.startswith("/content/")], chance.randint(0, 3))
    return view


def random_tests(chance):
    """One or two, and what is inside them, within a view's limit."""
    while True:
        made = [random_test(chance) for _ in range(chance.randint(1, 2))]
        if count_of(made) <= MAX_TESTS:
            return made


def count_of(tests):
    """How many tests these are with those inside them."""
    return len(tests) + sum(count_of(each.get("any", [])) for each in tests)


def random_test(chance):
    if chance.random() < 0.1:
        return {"any": [random_test(chance) for _ in range(chance.randint(0, 3))]}
    test = random_value_test(chance)
    return {**test, "fold": chance.random() < 0.7} if chance.random() < 0.15 else test


def random_value_test(chance):
    at = chance.choice(PLACES)
    match chance.choice(["is", "not", "not", "not", "in", "exists", "has", "compare"]):
        case "in":
            return {"at": at, "in": chance.sample(OPERANDS, 6)}
        case "exists":
            return {"at": at, "exists": chance.random() < 0.7}
        case "has":
            return {"at": at, "has": chance.choice(["", "o", "e", "x", "~"])}
        case "compare":
            return {"at": at, chance.choice(["below", "above", "atMost", "atLeast"]): chance.choice([1, 1.5, "b", "one"])}
        case name:
            return {"at": at, name: chance.choice(OPERANDS)}


# Windows


class Window:
    """Some rows of what a view shows, as a reader with a window has them."""

    def __init__(self, state, base=None, at=None, around=None, before=None, after=None):
        """`base` is the state that the reader showed (None: it is forgotten) and which row was the anchor; `at` is a row's
        number, `start` or `end`."""
        every = rows.visible(state).sections
        ids = [row["id"] for _, own in every for row in own]
        last = max(0, len(ids) - 1)
        if around is not None:
            self.row = anchor_row(state, ids, around, base)
        else:
            self.row = {"start": 0, "end": last}.get(at) if at in ("start", "end") else min(int(at), last)
        first = max(0, self.row - (plain(before) if before is not None else 50 if at == "end" else 0))
        end = min(len(ids), self.row + (plain(after) if after is not None else 0 if at == "end" else 50) + 1)
        self.anchor = ids[self.row] if ids else None
        self.written = next((item["id"] for item in every_item(state) if key(item["id"]) == self.anchor), None)
        self.above, self.below = first, len(ids) - end
        self.rows = rows.Shown(part_of(every, first, end, len(ids)))

    @property
    def told(self):
        """The answer's member."""
        return {"anchor": self.written, "above": self.above, "below": self.below}

    @property
    def place(self):
        """What the cursor says of it."""
        return f"{self.above}.{len(list(self.ids()))}.{self.row}"

    def ids(self):
        return (row["id"] for _, own in self.rows.sections for row in own)


def part_of(sections, first, end, count):
    """The rows from the first up to the end, in their sections. Sections without rows are included between them, and at an
    end of the list that the window reaches."""
    shown, at = [], 0
    for head, own in sections:
        mine = [row for index, row in enumerate(own, at) if first <= index < end]
        is_between = (first == 0 or at > first) and (end == count or at < end)
        if mine or (not own and is_between):
            shown.append((head, mine))
        at += len(own)
    return shown


def anchor_row(state, ids, wanted, base):
    """The row of the item, or of what is in its place."""
    row = row_of(state, ids, wanted)
    if row is not None or not ids:
        return row or 0
    if base is None:
        return 0
    shown, place = base
    if shown is not None:
        old = [row["id"] for _, own in rows.visible(shown).sections for row in own]
        at = row_of(shown, old, wanted)
        at = min(place, len(old)) if at is None else at
        for other in old[at:] + old[:at][::-1]:
            if other in ids:
                return ids.index(other)
    return min(place, len(ids) - 1)


def row_of(state, ids, wanted):
    """The row of the item or of its nearest visible ancestor."""
    for section in state["sections"]:
        for lineage in lineages(section["items"], []):
            if lineage[0] == key(wanted):
                return next((ids.index(each) for each in lineage if each in ids), None)
    return None


def every_item(state):
    found = [item for section in state["sections"] for item in section["items"]]
    for item in found:
        found.extend(item.get("items", []))
    return found


def lineages(items, above):
    """Each item's id, its parent's, and so on."""
    for item in items:
        lineage = [key(item["id"]), *above]
        yield lineage
        yield from lineages(item.get("items", []), lineage)
