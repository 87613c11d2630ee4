"""States in pairs: both show the same to a caller, and differ in everything else."""

import copy

from model import Reading, said
from support.jsontext import exact, text
from support.states import CONTENTS, IDS, SECTIONS, canonical, changed, containers, items, random_state
from support.views import random_view, viewed

# Ids of what no caller with a view ever sees; the caller may name them all the same.
HIDDEN = [f"h{number}" for number in range(12)]
HIDDEN_SECTIONS = [f"hs{number}" for number in range(4)]
# Many rows in one world only: enough to move the server's work off the loop.
BULK = [{"id": f"bulk {number}", "kind": "secret", "content": {"secret": f"{number} " + "x" * 120}} for number in range(4000)]
SECRETS = [*CONTENTS, {"secret": "s"}, {"title": "a", "n": -1, "secret": 2}, {"title": "zz", "n": 99}, {"n": "9"}]
EVERYTHING, NOTHING = "everything", "nothing"
# What a session may ignore: hidden edits change none of it alone, so both worlds make a revision.
IGNORED = ["/n", "/title", "/other", "/tags", "/tags/0", "/a~1b", "/a~1b/c~0d", "/long"]
# How some writers write: ids are those of a row within its section.
SHAPE = {"sectionsAt": "/sections", "sectionIdAt": "/_id", "sectionExpandedAt": "/_open", "itemsAt": "/list", "idAt": "/_id",
         "kindAt": "/_kind", "childrenAt": "/_sub", "expandedAt": "/_open", "rest": "true", "idScope": "section"}


def random_sight(chance):
    """A token's view: it shows something of the states below, and hides something of most."""
    samples = [canonical(begun(chance)) for _ in range(4)]
    for _ in range(20):
        view = narrowed(chance)
        if sum(len(items(viewed(each, view)["sections"])) for each in samples) >= 6:
            break
    return view


def narrowed(chance):
    view = random_view(chance)
    if chance.random() < 0.4:
        view.setdefault("where", []).append({"at": chance.choice(["/content/secret", "/content/long"]), "exists": False})
    if chance.random() < 0.3:
        view["fields"] = chance.choice([["/content/title"], ["/content/title", "/content/n"], ["/content/a~1b/c~0d", "/content/tags"]])
    return view


def seen(state, sight):
    """What a caller sees of a state, as text: the order of members counts too. A token's view shows contents of sections and of
    the list only where it says so."""
    if sight in (EVERYTHING, NOTHING):
        return text(canonical(state)) if sight is EVERYTHING else ""
    return text(viewed(canonical(state), {**({} if "group" in sight else {"sectionFields": []}), "listFields": [], **sight}))


def begun(chance):
    """A state to begin with."""
    base = random_state(chance, size=12)
    base["sections"] = base["sections"] or [{"id": "main", "items": []}]
    for item in items(base["sections"]):
        if chance.random() < 0.5:
            item["content"] = {"title": chance.choice(["one", "two", "three"]), "n": chance.randint(0, 4)}
            # What many views ask for.
            item["content"] |= {"secret": 1} if chance.random() < 0.5 else {}
    return base


def elements(owners, lists):
    """Sections or items as the elements of a foreign document."""
    return [{**(each["content"] if isinstance(each.get("content"), dict) else {"v": each.get("content")}), "_id": each["id"],
             "_open": each.get("expanded", True), **({"_kind": each["kind"]} if "kind" in each else {}),
             lists: elements(each.get("items", []), "_sub")} for each in owners]


class Secrets:
    """The states of one session in both worlds, as its writer has them: as states, or as documents for a shape."""

    def __init__(self, chance, sight, may_be_bulky=True):
        self.chance, self.sight = chance, sight
        self.query = SHAPE if chance.random() < 0.25 else {}
        self.counter = 0
        self.is_bulky = may_be_bulky and isinstance(sight, dict) and chance.random() < 0.1
        self.base = begun(self.chance)
        self.pair = None
        self.hide()

    def document(self, state):
        """What the writer writes."""
        if not self.query:
            return state
        content = state.get("content")
        return {**(content if isinstance(content, dict) else {}), "sections": elements(state["sections"], "list")}

    def held(self, state):
        """The state that the session then holds."""
        return said(Reading(exact(text(self.document(state))), {**SHAPE, "rest": True}).state) if self.query else state

    def seen(self, state):
        return seen(self.held(state), self.sight)

    @property
    def puts(self):
        """Bodies of PUT."""
        return [{"state": self.document(state)} for state in self.pair]

    @property
    def posts(self):
        """Bodies of POST."""
        return [self.document(state) for state in self.pair] if self.query else self.puts

    def change(self):
        """Changes what is seen, most likely, and with it everything else."""
        self.base = changed(self.chance, self.base)
        self.hide()

    def restart(self):
        self.base = begun(self.chance)
        self.hide()

    def hide(self):
        """New secrets beside unchanged visible parts. Each state is new, so that both worlds make a revision."""
        self.counter += 1
        if self.sight is EVERYTHING:
            self.pair = (self._noisy(self.base, 0),) * 2
        else:
            self.pair = tuple(self._noisy(self._hidden(world), world + 1) for world in (0, 1))
        assert self.seen(self.pair[0]) == self.seen(self.pair[1])

    def _noisy(self, state, world):
        """The list's own content has a unique number; a view shows nothing of it except that it is an object."""
        content = state.get("content")
        noise = {"noise": f"{self.counter}/{world}"}
        return {**state, "content": {**noise, **content} if isinstance(content, dict) else noise}

    def _hidden(self, world):
        state, shown = self.base, self.seen(self.base)
        for _ in range(self.chance.choice([0, 0, 4, 8, 12, 16])):
            other = copy.deepcopy(state)
            self._mutate(other)
            if self.sight is NOTHING or self.seen(other) == shown:
                state = other
        return self._bulky(state, shown) if self.is_bulky and world else state

    def _bulky(self, state, shown):
        """The state with many more rows, in a separate section or after all others, if they are not seen there."""
        own = {**state, "sections": [*state["sections"], {"id": "bulk", "items": BULK}]}
        *heads, last = state["sections"] or [{"id": "none", "items": []}]
        behind = {**state, "sections": [*heads, {**last, "items": [*last["items"], *BULK]}]}
        return next((each for each in (own, behind) if self.seen(each) == shown), state)

    def _mutate(self, state):
        chance, sections = self.chance, state["sections"]
        found = items(sections)
        # Callers who may edit know ids by their refusals: what it names stays in place, more often than not.
        deeds = ["row", "row", "content", "content", "content", "member", "kind", "flip", "section", "header"]
        deeds += ["go", "move", "swap", "drop"] if self.sight is not NOTHING or chance.random() < 0.1 else []
        deed = chance.choice(deeds)
        if deed == "row" and sections:
            self._insert(state, {"id": None, "content": chance.choice(SECRETS), **chance.choice([{}, {"kind": "secret"}])})
        elif deed == "section":
            name = chance.choice(HIDDEN_SECTIONS)
            if all(each["id"] != name for each in sections):
                sections.insert(chance.randint(0, len(sections)), {"id": name, "content": chance.choice(SECRETS), "items": []})
        elif deed == "header" and sections:
            chance.choice(sections)["content"] = chance.choice(SECRETS)
        elif found:
            self._alter(deed, chance.choice(found), sections)

    def _insert(self, state, new):
        free = [each for each in HIDDEN if each not in [used["id"] for used in items(state["sections"])]]
        if free:
            place = self.chance.choice(containers(state["sections"]))
            place.insert(self.chance.randint(0, len(place)), {**new, "id": self.chance.choice(free), "items": []})

    def _alter(self, deed, item, sections):
        chance, lists = self.chance, containers(sections)
        place = next(each for each in lists if any(one is item for one in each))
        index = next(index for index, one in enumerate(place) if one is item)
        if deed == "content":
            item["content"] = chance.choice(SECRETS)
        elif deed == "member" and isinstance(item.get("content"), dict):
            item["content"] = {**item["content"], chance.choice(["secret", "n", "title", "other"]): chance.choice(SECRETS)}
        elif deed == "kind":
            item["kind"] = chance.choice(["cell", "banner", "secret"])
        elif deed == "flip":
            item["expanded"] = not item.get("expanded", True)
        elif deed == "go":
            del place[index]
        elif deed == "swap" and index:
            place[index - 1], place[index] = place[index], place[index - 1]
        elif deed == "move":
            del place[index]
            chance.choice(containers(sections)).append(item)
        elif deed == "drop":
            sections.remove(chance.choice(sections))

    def hidden_ids(self, world):
        """Items and sections of a world that no view ever shows."""
        own = self.held(self.pair[world])["sections"]
        return ([each["id"] for each in items(own) if str(each["id"]).rpartition("/")[2] in HIDDEN],
                [each["id"] for each in own if each["id"] in HIDDEN_SECTIONS])

    def stays_hidden(self, world, identity, **members):
        """Whether an item with other members would still be invisible."""
        state = copy.deepcopy(self.held(self.pair[world]))
        before = seen(state, self.sight)
        next(each for each in items(state["sections"]) if each["id"] == identity).update(members)
        return seen(state, self.sight) == before

    def common_ids(self):
        """Items that exist in both worlds."""
        there = [{str(each["id"]): each["id"] for each in items(self.held(state)["sections"])} for state in (*self.pair, self.base)]
        return [identity for name, identity in there[2].items() if name in there[0] and name in there[1]]


NAMED = [*IDS, *HIDDEN[:4], "none", "s/a", "t/22", "u/h0", "main/h1", "7/x~1y~0z"]
NAMED_SECTIONS = [*SECTIONS, *HIDDEN_SECTIONS[:2], "none"]
