"""States: as servers answer them, and random ones that change like lists do."""

import copy

from .jsontext import Number, exact, key, text

IDS = ["a", "b", "c", "d", "e", "f", 1, 22, 5, "-7", 10, "é", "e\u0301", "\u4e2d", "x/y~z", "\U0001f600", "-", "0", "with space"]
SECTIONS = ["s", "t", "u", 7, 12, "main", "é"]
CONTENTS = [None, True, 1, 1.5, "", "text", "t\u00e9xt", [], {}, [1, {"a": None}], {"title": "one", "n": 1},
            {"title": "two", "n": 1, "tags": ["x", "y"]}, {"a/b": {"c~d": 1}, "": 0}, {"long": "x" * 60, "n": 2}]


def spelled_otherwise(identity):
    """The same id: a number as a string, or the other way round."""
    if not isinstance(identity, str):
        return key(identity)
    is_number = identity.lstrip("-").isdecimal() and identity.isascii() and str(int(identity)) == identity
    return Number(identity) if is_number else identity


def canonical(state):
    """The value of `state` as GET writes it: sections, items as objects, defaults left out; numbers as tokens."""
    content = {"content": state["content"]} if isinstance(state, dict) and "content" in state else {}
    return exact(text({**content, "sections": [section(each) for each in sections(state)]}))


def sections(state):
    if isinstance(state, list):
        return [{"id": "main", "items": state}]
    if "sections" not in state:
        return [{"id": "main", "items": state["items"]}]
    return state["sections"]


def section(given):
    kept = {name: given[name] for name in ("id", "content") if name in given}
    if not given.get("expanded", True):
        kept["expanded"] = False
    kept["items"] = [item(each) for each in given.get("items", [])]
    return kept


def item(given):
    if isinstance(given, (str, int, Number)):
        return {"id": given}
    kept = {name: given[name] for name in ("id", "content", "kind") if name in given}
    if not given.get("expanded", True):
        kept["expanded"] = False
    if given.get("items"):
        kept["items"] = [item(each) for each in given["items"]]
    return kept


def random_state(random, size=10, outline=True):
    """Up to `size` items over some sections, some of them nested, collapsed, or with a kind."""
    names = random.sample(SECTIONS, random.randint(0, 4))
    ids = random.sample(IDS, random.randint(0, min(size, len(IDS)))) if names else []
    chosen = [random_section(random, name) for name in names]
    places = [each["items"] for each in chosen]
    for identity in ids:
        new = random_item(random, identity)
        at = random.choice(places)
        at.insert(random.randint(0, len(at)), new)
        if outline and random.random() < 0.3 and len(places) < 9:
            new["items"] = []
            places.append(new["items"])
    content = {"content": random.choice(CONTENTS)} if random.random() < 0.3 else {}
    return {**content, "sections": chosen}


def random_section(random, name):
    new = {"id": name, "items": []}
    if random.random() < 0.5:
        new["content"] = random.choice(CONTENTS)
    if random.random() < 0.15:
        new["expanded"] = False
    return new


def random_item(random, identity):
    new = {"id": identity}
    if random.random() < 0.8:
        new["content"] = random.choice(CONTENTS)
    if random.random() < 0.3:
        new["kind"] = random.choice(["cell", "banner"])
    if random.random() < 0.15:
        new["expanded"] = False
    return new


def changed(random, state, outline=True):
    """A neighbour of the state: some items go, come, move or change; some sections too."""
    new = copy.deepcopy(state)
    for _ in range(random.randint(1, 4)):
        step(random, new, outline)
    if random.random() < 0.2:
        new.pop("content", None)
        if random.random() < 0.8:
            new["content"] = random.choice(CONTENTS)
    return new


def step(random, state, outline):
    chosen = state["sections"]
    held = [(place, index) for place in containers(chosen) for index in range(len(place))]
    deed = random.choice(["go", "come", "come", "move", "move", "change", "section", "flip"])
    if deed in ("go", "move", "change", "flip") and held:
        place, index = random.choice(held)
        if deed == "change":
            place[index]["content"] = random.choice(CONTENTS)
        elif deed == "flip":
            place[index]["expanded"] = not place[index].get("expanded", True)
        else:
            gone = place.pop(index)
            if deed == "move":
                put(random, chosen, gone, outline)
    elif deed == "come" and chosen:
        free = [each for each in IDS if key(each) not in {key(used["id"]) for used in items(chosen)}]
        if free:
            put(random, chosen, random_item(random, random.choice(free)), outline)
    elif deed == "section":
        section_step(random, chosen)


def section_step(random, chosen):
    free = [each for each in SECTIONS if key(each) not in {key(used["id"]) for used in chosen}]
    deed = random.choice(["go", "come", "move", "change"])
    if deed == "come" and free:
        chosen.insert(random.randint(0, len(chosen)), random_section(random, random.choice(free)))
    elif chosen and deed == "go":
        chosen.pop(random.randrange(len(chosen)))
    elif chosen and deed == "move":
        chosen.insert(random.randint(0, len(chosen) - 1), chosen.pop(random.randrange(len(chosen))))
    elif chosen and deed == "change":
        random.choice(chosen)["content"] = random.choice(CONTENTS)


def containers(chosen):
    """Every list of items, including those of children."""
    found = [each["items"] for each in chosen]
    for place in found:
        found.extend(each["items"] for each in place if "items" in each)
    return found


def items(chosen):
    return [each for place in containers(chosen) for each in place]


def put(random, chosen, new, outline):
    places = containers(chosen) if outline else [each["items"] for each in chosen]
    if places:
        place = random.choice(places)
        place.insert(random.randint(0, len(place)), new)
