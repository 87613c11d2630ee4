"""Which element of a list without ids continues which item of the head: the rounds of the contract, one after the other.

Each element is compared with each other one, so that nothing has to be counted or hashed.
"""

import json

from support.jsontext import key

EDGES = ("beginning", "end")


def plain(value):
    """Equal only for equal values."""
    return json.dumps(value, sort_keys=True, default=lambda number: {"#": number.token})


def texts(value, place=()):
    """Each text with its place."""
    if isinstance(value, str):
        return {(place, value)}
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return {each for name, inside in inner for each in texts(inside, (*place, type(value).__name__, name))}


def members(value):
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    return {(name, plain(inside)) for name, inside in inner}


class Rounds:
    """The partners of the new entries, by index: what an entry is, and for an element its value, what counts of it and its texts."""

    def __init__(self, old, new, strip, strip_group):
        shared = {key(each["id"]) for each in old["sections"]} & {key(each["id"]) for each in new["sections"]}
        self.strip, self.strip_group = strip, strip_group
        self.old, self.new = self.entries(old, shared), self.entries(new, shared)
        fixed = {each["is"]: index for index, each in enumerate(self.old) if "value" not in each}
        self.partners = {index: fixed[each["is"]] for index, each in enumerate(self.new) if "value" not in each}
        self.pair_alike("value")
        self.pair_alike("texts")
        for before, after in self.gaps():
            if len(before) == len(after):
                self.partners.update((index, other) for other, index in zip(before, after) if self.may_be_one(self.old[other], self.new[index]))

    def entries(self, state, shared):
        made = [{"is": EDGES[0]}]
        for section in state["sections"]:
            made += [{"is": ("section", key(section["id"]))}] * (key(section["id"]) in shared)
            made += [self.entry(item) for item in section["items"]]
        return made + [{"is": EDGES[1]}]

    def entry(self, item):
        if "content" not in item:
            return {"item": item, "value": None, "texts": None, "given": None}
        given = self.strip(item["content"])
        found = texts(self.strip_group(given)) if isinstance(given, (dict, list)) else set()
        return {"item": item, "value": plain(given), "texts": (type(given).__name__, sorted(found, key=repr)) if found else None, "given": given}

    def may_be_one(self, one, other):
        values = one["given"], other["given"]
        return (type(values[0]) is type(values[1]) and isinstance(values[0], (dict, list))
                and (one["texts"] is None and other["texts"] is None or bool(members(values[0]) & members(values[1]))))

    def left(self):
        taken = set(self.partners.values())
        return [index for index in range(len(self.old)) if index not in taken], [index for index in range(len(self.new)) if index not in self.partners]

    def pair_alike(self, what):
        def alike(other, index):
            return self.old[other].get(what) is not None and self.old[other].get(what) == self.new[index].get(what)

        before, after = self.left()
        pairs = [(other, index) for other in before for index in after if alike(other, index)]
        self.partners.update((index, other) for other, index in pairs
                             if sum(each[0] == other for each in pairs) == 1 == sum(each[1] == index for each in pairs))
        for step, order in ((1, range(len(self.new) - 1)), (-1, range(len(self.new) - 1, 0, -1))):
            for index in order:
                before, after = self.left()
                if index in self.partners:
                    other = self.partners[index]
                    if other + step in before and index + step in after and alike(other + step, index + step):
                        self.partners[index + step] = other + step
        for before, after in self.gaps():
            for index in after:
                found = next((other for other in before if alike(other, index)), None)
                if found is not None:
                    before.remove(found)
                    self.partners[index] = found

    def gaps(self):
        """What is left between two pairs that follow each other in both lists."""
        pairs = sorted(self.partners.items())
        taken = set(self.partners.values())
        for (start, one), (end, other) in zip(pairs, pairs[1:]):
            before = list(range(one + 1, other))
            if other > one and not taken & set(before):
                yield before, list(range(start + 1, end))


def identified(state, head, sequence, strip, strip_group):
    """Gives the items of a state their ids: of the head's items that they continue, or new ones."""
    old = head or {"sections": []}
    rounds = Rounds(old, state, strip, strip_group)
    taken = {key(each["id"]) for each in every(item for section in old["sections"] for item in section["items"])}
    count = 0
    for index, entry in enumerate(rounds.new):
        if "item" not in entry:
            continue
        if index in rounds.partners:
            entry["item"]["id"] = rounds.old[rounds.partners[index]]["item"]["id"]
            continue
        while f"{sequence}.{count}" in taken:
            count += 1
        entry["item"]["id"] = f"{sequence}.{count}"
        count += 1


def every(items):
    for each in items:
        yield each
        yield from every(each.get("items", []))
