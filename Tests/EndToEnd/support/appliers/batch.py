"""One batch in two-state indexes: what `indexed` is as a whole and what each stage of `staged` is.

`deleted` and `moved.from` are indexes before the batch, `inserted`, `moved.to` and `updated.at` after it; what no
operation names keeps its order and fills the gaps.
"""

from .rows import Shown, header, manner, members, plain, require, row


def pair(path):
    require(isinstance(path, list) and len(path) == 2, "no path:", path)
    return tuple(plain(each) for each in path)


def distinct(indexes, what):
    require(len(set(indexes)) == len(indexes), what, "named twice:", indexes)
    return set(indexes)


def lists(group):
    members(group, [], ["deleted", "inserted", "moved", "updated"])
    for name, each in group.items():
        require(isinstance(each, list) and each, "an empty list is written:", name)
    return [group.get(name, []) for name in ("deleted", "inserted", "moved", "updated")]


def applied(before, batch, whole_sections):
    """The model after the batch; `whole_sections`: inserted sections carry rows, deleted ones take them along."""
    deleted, inserted, moved, updated = lists(batch.get("sections", {}))
    gone = distinct([plain(each) for each in deleted], "deleted sections")
    sources = {}
    for each in moved:
        members(each, ["from", "to"])
        require(plain(each["from"]) not in sources, "moved twice:", each)
        sources[plain(each["from"])] = plain(each["to"])
    for index in gone | set(sources):
        require(0 <= index < len(before.sections), "no section", index)
    require(not gone & set(sources), "a section is both deleted and moved")

    rows = Rows(before, batch.get("items", {}), gone, whole_sections)

    size = len(before.sections) - len(gone) + len(inserted)
    slots = [None] * size
    fresh = set()
    for each in inserted:
        members(each, ["at", "section"])
        at, section = plain(each["at"]), each["section"]
        require(0 <= at < size and slots[at] is None, "no room for the section at", at)
        require(whole_sections or "items" not in section, "rows of an inserted section:", section)
        slots[at] = (None, header(section), [row(line) for line in section.get("items", [])])
        fresh.add(at)
    for source, to in sources.items():
        require(0 <= to < size and slots[to] is None, "no room for the section at", to)
        slots[to] = (source, *before.sections[source])
    staying = (index for index in range(len(before.sections)) if index not in gone and index not in sources)
    for at in range(size):
        if slots[at] is None:
            source = next(staying)
            slots[at] = (source, *before.sections[source])
    require(next(staying, None) is None, "sections are left over")

    result = Shown()
    for at, (source, head, carried) in enumerate(slots):
        kept = [] if source is None else rows.staying(source)
        own = carried if source is None else kept
        result.sections.append((head, rows.filled(at, own, at in fresh and whole_sections)))
    rows.all_placed()

    for each in updated:
        members(each, ["at", "section", "as"], ["from"])
        manner(each)
        at = plain(each["at"])
        require(0 <= at < size and at not in fresh, "no kept section at", at)
        if "from" in each:
            require(slots[at][0] == plain(each["from"]), "from and at name two sections:", each)
        head, lines = result.sections[at]
        new = header(each["section"], head)
        require(new["id"] == head["id"] and "items" not in each["section"], "the update is of another:", each)
        result.sections[at] = (new, lines)
    rows.update(result)
    return result


class Rows:
    """The row operations of a batch, checked against the model before it."""

    def __init__(self, before, group, gone_sections, whole_sections):
        self.before = before
        deleted, inserted, moved, self.updated = lists(group)
        self.deleted = distinct([pair(path) for path in deleted], "deleted rows")
        self.places = {}
        self.sources = {}
        for each in inserted:
            members(each, ["at", "item"])
            self._reserve(pair(each["at"]), row(each["item"]))
        for each in moved:
            members(each, ["from", "to"])
            source = pair(each["from"])
            require(source not in self.sources, "moved twice:", each)
            self.sources[source] = pair(each["to"])
            self._reserve(pair(each["to"]), self.line(source))
        require(not self.deleted & set(self.sources), "a row is both deleted and moved")
        for path in self.deleted:
            self.line(path)
        for section in gone_sections:
            for index in range(len(before.sections[section][1])):
                named = (section, index) in self.deleted or (section, index) in self.sources
                require(named != whole_sections, "rows of the deleted section", section)
        self.origin = {}
        self.used = set()

    def _reserve(self, path, line):
        require(path not in self.places, "two rows for", path)
        self.places[path] = line

    def line(self, path):
        section, index = path
        require(0 <= section < len(self.before.sections), "no section at", path)
        rows = self.before.sections[section][1]
        require(0 <= index < len(rows), "no row at", path)
        return rows[index]

    def staying(self, source):
        lines = self.before.sections[source][1]
        return [line for index, line in enumerate(lines)
                if (source, index) not in self.deleted and (source, index) not in self.sources]

    def filled(self, section, own, carried):
        """The rows of a section after the batch: each at its place, the others in the gaps."""
        named = {index for at, index in self.places if at == section}
        require(not (carried and named), "a row operation falls into an inserted section", section)
        others = iter(own)
        result = []
        for index in range(len(own) + len(named)):
            if index in named:
                self.used.add((section, index))
                result.append(self.places[section, index])
            else:
                line = next(others, None)
                require(line is not None, "a gap before", (section, index))
                result.append(line)
        return result

    def all_placed(self):
        require(self.used == set(self.places), "places beyond the end:", set(self.places) - self.used)

    def update(self, result):
        seen = set()
        for each in self.updated:
            members(each, ["at", "item", "as"], ["from"])
            section, index = at = pair(each["at"])
            require(at not in seen, "updated twice:", at)
            seen.add(at)
            require(section < len(result.sections) and index < len(result.sections[section][1]), "no row at", at)
            rows = result.sections[section][1]
            old = rows[index]
            if "from" in each:
                require(self.line(pair(each["from"]))["id"] == old["id"], "from and at name two rows:", each)
            rows[index] = row(each["item"], old)
            require(rows[index]["id"] == old["id"], "the update is of another row:", each)
            manner(each, old, rows[index])


def is_empty(batch):
    return not batch.get("sections") and not batch.get("items")
