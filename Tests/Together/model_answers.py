"""One answer compared with the model: where it leads from and to, what it then shows, what else it says."""

import collections
import copy
import json

from support import least, minimum
from support.appliers import DIALECTS, NOT_ADOPTED, document
from support.appliers.rows import Shown
from support.jsontext import Number, key, text
from support.replica import Replica, content
from support.views import Window, folded, part_of, plain as number_of, row_of

from dialects_places import content as own_content, may_hold, shown as pointers_shown, tree, untold
from model import LARGEST, comparable, comparable_item, every_item


class Wrong(AssertionError):
    """An answer that violates the contract."""


def require(claim, *words):
    if not claim:
        raise Wrong(" ".join(str(word) for word in words))


def comparable_rows(shown, ignored):
    if not ignored:
        return shown
    return Shown((head, [comparable_item(row, ignored) for row in own]) for head, own in shown.sections)


class Reader:
    """What a reader shows, and which commit that is."""

    def __init__(self, board, family, credential, view=None):
        self.board, self.family, self.credential, self.view = board, family, credential, view
        self.through = tuple(each for each in (credential.view, view) if each)
        self.replica = Replica({"rows": "keyed", "counts": "keyed"}.get(family, family))
        # The commit that it shows, and which rows of it: those above, how many, the anchor's row.
        self.base = self.place = None
        # What it waits with, if it does: nothing else then asks for it. The anchor that a stream last named, and the
        # head it told.
        self.held = self.stream = self.anchor = self.told = None
        self.is_free = True

    @property
    def revision(self):
        return self.replica.revision

    def shows_head_before(self, head, cursor):
        """A writer that names no base is assumed to show the head before its write."""
        self.base = head
        self.replica.revision = cursor
        state, shown = self.board.seen(head, self.through)
        self.replica.content = content(state)
        self.replica.model = self.rules.flat(shown) if self.family == "sequential" else copy.deepcopy(
            state) if self.family == "json-patch" else shown.copy()
        return self

    @property
    def rules(self):
        return DIALECTS[self.replica.dialect]

    def place_differs(self, ask):
        """Whether another window is requested than the one it shows."""
        if self.family == "json-patch":
            return False
        wanted = next_window(self, ask, self.base).place if ask.window else None
        return wanted != (self.place and ".".join(map(str, self.place)))

    def old_rows(self, base):
        """The rows of a base that it shows."""
        state, shown = self.board.seen(base, self.through)
        if not self.place:
            return shown
        above, count, _ = self.place
        return Shown(part_of(shown.sections, above, above + count, sum(len(own) for _, own in shown.sections)))


class Ask:
    """How an answer was requested."""

    def __init__(self, dialect, query, window=None, since="", is_bare=False, features=()):
        self.dialect, self.query, self.window, self.since, self.is_bare = dialect, query, window, since, is_bare
        self.features = set(features)
        self.is_lenient = False
        self.may_warn = None
        self.initial = {"initial"}

    @property
    def maximum(self):
        return self.query.get("maxChanges")


def next_window(reader, ask, head):
    """What a window shows of the head, to a reader of the same rows."""
    state, _ = reader.board.seen(head, reader.through)
    base = None
    if reader.base is not None:
        shown, visible = reader.board.seen(reader.base, reader.through)
        ids = [row["id"] for _, own in visible.sections for row in own]
        # A reader of everything has no place of an anchor that it does not show.
        if reader.place or "around" in ask.window and row_of(shown, ids, ask.window["around"]) is not None:
            base = shown, reader.place[2] if reader.place else 0
    return Window(state, base, **ask.window)


def told_window(reader, ask, head, told):
    """The window that an answer has to be of, whoever else asked. Only of a base that is forgotten, whoever waits may have followed its
    anchor through what was not told, and its place may be all that is known."""
    found = [next_window(reader, ask, head)]
    state, _ = reader.board.seen(head, reader.through)
    if reader.base and ask.is_lenient and "around" in ask.window and not reader.board.is_remembered(reader.base, head):
        for commit in reader.board.between(reader.base, head):
            shown, visible = reader.board.seen(commit, reader.through)
            row = row_of(shown, [row["id"] for _, own in visible.sections for row in own], ask.window["around"])
            found += [] if row is None else [Window(state, (shown, row), **ask.window)]
    if reader.base and "reset" in told:
        found.append(Window(state, (None, reader.place[2]) if reader.place else None, **ask.window))
    return next((each for each in found if told["to"].endswith("~" + each.place)), found[0])


def differs(reader, head, ask):
    """Whether anything that the reader shows differs in the head."""
    board, base = reader.board, reader.base
    if base is None:
        return True
    if base is head:
        return False
    old, new = (board.seen(each, reader.through)[0] for each in (base, head))
    # A mark is forgotten with its revision.
    if any(each.reload and board.is_remembered(each, head) for each in board.between(base, head)) or content(old) != content(new):
        return True
    if reader.family == "json-patch":
        return comparable(old, board.ignored) != comparable(new, board.ignored)
    before = comparable_rows(reader.old_rows(base), board.ignored)
    after = comparable_rows(next_window(reader, ask, head).rows if ask.window else board.seen(head, reader.through)[1], board.ignored)
    return before != after or bool(visible_marks(marks_seen(reader, base, head), before, after))


def marks_seen(reader, base, head):
    """The marks that may be on what the reader sees: sections that a view makes have none."""
    is_grouped = any("group" in json.loads(each) if isinstance(each, str) else "group" in each for each in reader.through)
    marks = reader.board.marks(base, head)
    return {name: manner for name, manner in marks.items() if name[0] != "section"} if is_grouped else marks


def visible_marks(marks, before, after):
    """Marks of what is seen at both ends."""
    found = {}
    for what, ids in (("section", set(before.order()) & set(after.order())),
                      ("item", set(dict(minimum.rows_of(before))) & set(dict(minimum.rows_of(after))))):
        found.update({(what, each): marks[what, each] for each in ids if (what, each) in marks})
    return found


def marked(shown, marks):
    """The rows, with those to redraw made to differ."""
    return Shown(({**head, "mark": 1} if ("section", head["id"]) in marks else head,
                  [{**each, "mark": 1} if ("item", each["id"]) in marks else each for each in own]) for head, own in shown.sections)


def judge(reader, ask, told, head):
    """Adopts a changeset, or raises its faults. Returns the table's features that were in force."""
    board, base = reader.board, reader.base if ask.since else None
    is_reset = "reset" in told
    beside = {"warnings", "window"} | ({"list"} if not is_reset else set())
    body = {"rows"} if ask.dialect == "counts" else {"state"}
    members = {"session", "from", "to", "dialect"} | ({"reset"} | body if is_reset else {"changes"})
    require(set(told) - beside == members, "members of", told)
    require((told["session"], told["dialect"], told["from"]) == (board.name, ask.dialect, ask.since or None), "the envelope of", told)
    check_cursor(board, reader.through, told["to"].split("~")[0], head)
    state, shown = board.seen(head, reader.through)
    window = told_window(reader, ask, head, told) if ask.window else None
    require(("window" in told) == bool(window), "a window in", told)
    if window:
        require(told["window"] == {name: value if name == "anchor" else Number(str(value)) for name, value in window.told.items()},
                "the window", told["window"], "in place of", window.told)
        require(told["to"].split("~")[1:] == [window.place], "the place in", told["to"], "is", window.place)
    else:
        require("~" not in told["to"], "a place in", told["to"])
    after = window.rows if window else shown
    features = set(ask.features)
    check_warnings(told, ask, reader.through)
    if base is None:
        require(is_reset and (ask.is_bare or told["reset"] in ask.initial), "no base, yet", told.get("reset"), "of", ask.initial)
        usable, reasons, marks = [], ask.initial, {}
    else:
        usable, reasons, marks = outcomes(reader, ask, base, head)
    if is_reset:
        reason = told["reset"]
        if ask.is_bare:
            require(reasons or ask.maximum is not None or "smallest" in ask.query, "a reset of a usable base:", told)
        elif reason == "large":
            require(usable, "large, of no base:", told)
            if "smallest" not in ask.query:
                is_large = ask.maximum is not None and (marks is None or counted(reader, usable[0], after, marks) > ask.maximum)
                require(is_large, "not large:", told)
        else:
            require(reason in reasons, "reset", reason, "where it is one of", reasons, "or changes" if usable else "")
        features |= head.features.union(*(each.features for each in board.between(base, head))) if base else head.features
    else:
        require(usable, "changes, where it is a reset:", reasons)
        features |= set().union(*(each.features for each in board.between(base, head))) or head.features
        if marks is not None and ask.maximum is not None:
            require(counted(reader, usable[0], after, marks) <= ask.maximum, "more than", ask.maximum, "changes")
    reader.told = head
    if ask.dialect == "counts":
        tell_counts(reader, told, head, usable, marks, after)
        # A stream's base stays, whatever it is told.
        if is_reset and (base is None or not ask.features & {"stream", "many-stream"}):
            reader.replica.revision, reader.base, reader.place = told["to"], head, None
        return features
    before = comparable_rows(reader.old_rows(usable[0]), board.ignored) if usable and not is_reset else None
    adopt(reader, ask, told, head, window, after, before, marks)
    if before is not None and reader.family != "json-patch":
        check_least(reader, ask, told, before, comparable_rows(after, board.ignored), marks, after)
    if before is not None:
        visible = visible_marks(marks_seen(reader, base, head), before, comparable_rows(after, board.ignored))
        features = (features - {"marks"}) | ({"marks"} if visible else set())
    reader.base = head
    reader.place = tuple(map(int, told["to"].split("~")[1].split("."))) if window else None
    return features


def canonical(view):
    """One text for all spellings of a view: ids, pointers of fields and tests are sets, orders ascend, and tests regard case."""
    members = {name: sorted(value) if name == "sections" or "ields" in name else value for name, value in json.loads(view).items()}
    for order in members.get("order", []) + members.get("sectionOrder", []):
        order.setdefault("descending", False)
    if "collapsed" in members:
        members["collapsed"] = {name: sorted(map(str, ids)) for name, ids in members["collapsed"].items()}
    if "where" in members:
        members["where"] = canonical_tests(members["where"])
    return json.dumps(members, sort_keys=True)


def by_value(value):
    """A value with one spelling for equal numbers in it."""
    if isinstance(value, list):
        return list(map(by_value, value))
    if isinstance(value, dict):
        return {name: by_value(each) for name, each in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


def canonical_tests(tests):
    """The texts of tests, as a set. Values are equal as they are to the tests, but ids are compared by their text."""
    texts = set()
    for test in tests:
        if "any" in test:
            texts.add(json.dumps({"any": canonical_tests(test["any"])}))
            continue
        name, operand = next((name, operand) for name, operand in test.items() if name not in ("at", "fold"))
        folds = test.get("fold", False)

        def plain(value):
            value = folded(value) if folds else value
            return json.dumps(value if test["at"] == "/id" else by_value(value), sort_keys=True)

        texts.add(json.dumps([test["at"], name, sorted(set(map(plain, operand))) if name == "in" else plain(operand), folds]))
    return sorted(texts)


def check_cursor(board, through, cursor, head):
    """One revision and one view, one cursor; two, two. Equal states share the digest, others do not."""
    through = tuple(map(canonical, through))
    require(head.cursors.setdefault(through, cursor) == cursor, "the cursor of", head.number, "is", cursor, "and was", head.cursors)
    owner = board.cursors.setdefault(cursor, (head.number, through))
    require(owner == (head.number, through), "the cursor", cursor, "is that of", owner, "and of", (head.number, through))
    if not through:
        digest = cursor.split("-")[1]
        require(board.digests.setdefault(digest, head.digest) == head.digest, "two states share", digest, board.digests.get(digest), "AND", head.digest)
        require(board.digests.setdefault(head.digest, digest) == digest, "one state has two digests:", digest, board.digests[head.digest])


def check_warnings(told, ask, through):
    found = sorted(each["code"] for each in told.get("warnings", []) if each["code"] != "identity-churn")
    if ask.is_bare or ask.may_warn == "either":
        return
    if ask.may_warn is None:
        require("warnings" not in told, "a reader is warned:", told)
    else:
        wanted = sorted(ask.may_warn)
        if through:  # They only tell of what is seen.
            require(not collections.Counter(found) - collections.Counter(wanted), "the warnings", told.get("warnings"), "beyond", wanted)
            return
        # An omitted element may be reported with everything below it.
        require(len(found) == 20 or bool(found) == bool(wanted) and not collections.Counter(wanted) - collections.Counter(found),
                "the warnings", told.get("warnings"), "in place of", wanted)


def outcomes(reader, ask, base, head):
    """The possible bases of changes, the possible reasons for a reset, and the marks (None: unknown)."""
    board, reasons = reader.board, set()
    is_plain = not reader.through
    bases, may_reset = board.bases(base, head, is_plain)
    may_reset = may_reset or bool(reader.place) and bases != [base]
    if ask.is_lenient and base not in bases:
        bases, may_reset = [base, *bases], True
    usable = [each for each in bases if not any(later.reload and board.is_remembered(later, head) for later in board.between(each, head))]
    if any(later.reload for later in board.between(base, head)):
        reasons.add("reloaded")
    if may_reset:
        reasons |= board.reasons(base, head, is_plain)
        # Who waits was taken for a reader of a later revision with the same state, which may be forgotten meanwhile.
        for each in board.between(base, head) if ask.is_lenient and is_plain else ():
            if each.digest == base.digest and not board.is_remembered(each, head):
                reasons |= board.reasons(each, head, is_plain)
        if reader.place and not reader.through:
            reasons |= {"unknown"}
    is_known = bases == [base] and all(board.is_remembered(each, head) for each in board.between(base, head))
    return usable, reasons, marks_seen(reader, base, head) if is_known else None


def counted(reader, base, after, marks):
    """How many operations `indexed` counts."""
    before, after = (comparable_rows(each, reader.board.ignored) for each in (reader.old_rows(base), after))
    return sum(map(sum, minimum.counts(before, marked(after, visible_marks(marks, before, after))).values()))


def tell_counts(reader, told, head, usable, marks, after):
    if "reset" in told:
        require(number_of(told["rows"]) == sum(len(own) for _, own in after.sections), "rows of", told)
    elif marks is not None:
        before, after = (comparable_rows(each, reader.board.ignored) for each in (reader.old_rows(usable[0]), after))
        wanted = minimum.counts(before, marked(after, visible_marks(marks, before, after)))
        wanted = {group: {name: Number(str(count)) for name, count in zip(NOT_ADOPTED["counts"].NAMES, numbers) if count}
                  for group, numbers in wanted.items() if any(numbers)}
        require(told["changes"] == wanted, "counts", told["changes"], "in place of", wanted)


def adopt(reader, ask, told, head, window, after, before, marks):
    board, replica = reader.board, reader.replica
    state, _ = board.seen(head, reader.through)
    if reader.family == "rows":
        replica.dialect, replica.rules = ask.dialect, DIALECTS[ask.dialect]
    known = content(board.seen(reader.base, reader.through)[0]) if before is not None else None
    if before is not None and reader.family != "json-patch":
        require(("list" in told) == (known != content(state)), "list in", told, "where it was", known, "and is", content(state))
    if board.ignored and before is not None:
        check_ignored(reader, told, after, state)
    how = {"compact": True} if ask.query.get("staging") == "compact" and ask.dialect == "staged" else {}
    require(replica.receive({**told, "from": replica.revision} if "reset" not in told else told, **how) == "adopted", "not adopted:", told)
    check_spelling(told.get("changes", told.get("state")))
    require(replica.content == content(state), "the list's content is", replica.content, "in place of", content(state))
    if reader.family == "json-patch":
        found, wanted = comparable(replica.model, board.ignored), comparable(state, board.ignored)
    elif reader.family == "sequential":
        wanted = reader.rules.flat(comparable_rows(after, board.ignored))
        found = [{**line, "item": comparable_item(line["item"], board.ignored)} if "item" in line else line for line in replica.model]
    else:
        found, wanted = comparable_rows(replica.model, board.ignored), comparable_rows(after, board.ignored)
    require(found == wanted, "it shows", found, "in place of", wanted, "after", text(told))


def check_ignored(reader, told, after, head):
    """An update says what is at ignored places: a patch names each, and where it cannot, a content is sent whole, as it is now."""
    places = tree(pointers_shown(reader.board.ignored, [json.loads(each) if isinstance(each, str) else each for each in reader.through]))
    if reader.family == "json-patch":
        model, new = copy.deepcopy(reader.replica.model), {key(each["id"]): each for each in every_item(head)}
        for operation in told["changes"]:
            names = operation["path"].split("/")[1:]
            # Below the content of an item: /sections/0/items/1/content/…
            if "content" in names[4::2] and names[2] == "items" and names[-1] != "content":
                owner = document.parent_of(model, names[:names.index("content", 4) + 1])[0]
                now = own_content(new.get(key(owner["id"]), {}))
                require(not may_hold(now, places), "a patch beside ignored places:", operation, now)
            model = document.apply(model, operation)
        return
    new = {each["id"]: each for _, own in after.sections for each in own}
    for given in items_in(told["changes"]):
        identity = key(given["id"])
        if "patch" in given or "append" in given:
            wrong = untold(given.get("patch", {}), new[identity]["content"], places)
            require(not wrong, "a patch:", given, "of", new[identity], wrong)
        elif "content" in given and identity in new:
            require(given["content"] == new[identity].get("content"), "an old content:", given, new[identity])


def items_in(changes):
    """Every item that changes written as rows contain, however they are nested."""
    if isinstance(changes, list):
        for each in changes:
            yield from items_in(each)
    elif isinstance(changes, dict):
        if "id" in changes and not {"content", "patch", "append"}.isdisjoint(changes) and "items" not in changes:
            yield changes
            return
        for name, each in changes.items():
            if name not in ("section", "sectionContents"):
                yield from items_in(each)
            elif name == "section" and isinstance(each, dict):
                yield from items_in(each.get("items", []))


def check_spelling(value):
    """Integers beyond the range of doubles are no ids: they are written as strings."""
    if isinstance(value, list):
        for each in value:
            check_spelling(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            if name not in ("content", "patch", "append", "value"):
                check_spelling(each)
    elif isinstance(value, Number) and value.token.lstrip("-").isdigit():
        require(abs(int(value.token)) <= LARGEST, "an integer that parsers round:", value)


# Least, and drawn again as it is to be


def check_least(reader, ask, told, before, after, marks, whole):
    if marks is None:
        return
    drawn = visible_marks(marks, before, after)
    dialect = ask.dialect
    least.check(dialect, told["changes"], before, after if dialect == "sequential" else marked(after, drawn))
    old, new = dict(minimum.rows_of(before)), dict(minimum.rows_of(after))
    wanted = {("item", each): "reload" if old[each][1].get("kind") != new[each][1].get("kind") else drawn.get(("item", each), "reconfigure")
              for each in old.keys() & new.keys() if old[each][1] != new[each][1] or ("item", each) in drawn}
    heads = [{head["id"]: head for head, _ in model.sections} for model in (before, after)]
    wanted |= {("section", each): drawn.get(("section", each), "reconfigure")
               for each in heads[0].keys() & heads[1].keys() if heads[0][each] != heads[1][each] or ("section", each) in drawn}
    found = DRAWN[dialect](told["changes"])
    if dialect == "staged":
        kept = heads[0].keys() & heads[1].keys()
        wanted = {name: manner for name, manner in wanted.items()
                  if name[0] == "section" or {old[name[1]][0], new[name[1]][0]} <= kept}
    if dialect == "sequential":
        wanted = {name: manner for name, manner in wanted.items()
                  if name[0] == "item" or all("content" in each[name[1]] for each in heads)}
        moved = {name: manner for name, manner in found.items() if name not in wanted}
        require(all(name[0] == "item" and old[name[1]][0] != new[name[1]][0] and manner == "reconfigure" for name, manner in moved.items()),
                "drawn again for nothing:", moved)
        found = {name: manner for name, manner in found.items() if name in wanted}
    require(found == wanted, "drawn again", found, "in place of", wanted)


def of_updates(entries, found):
    for entry in entries:
        what = "section" if "section" in entry else "item"
        found[what, key(entry[what]["id"])] = entry["as"]
    return found


def of_keyed(changes):
    found = {}
    for each in changes:
        if each["op"] == "update":
            found.update({("item", key(item["id"])): each["as"] for item in each.get("items", [])})
            if "section" in each:
                found["section", key(each["section"]["id"])] = each["as"]
    return found


def of_groups(changes):
    found = {}
    for group in (changes if isinstance(changes, list) else [changes]):
        for name in ("sections", "items"):
            of_updates(group.get(name, {}).get("updated", []), found)
    return found


def of_diffable(changes):
    return {(what, key(each)): manner for name, what, manner in (
        ("reload", "item", "reload"), ("reconfigure", "item", "reconfigure"),
        ("reloadSections", "section", "reload"), ("reconfigureSections", "section", "reconfigure")) for each in changes[name]}


def of_splices(changes):
    found = {}
    for each in changes:
        if each["op"] == "update":
            of_updates([{**line, "as": each["as"]} for line in each["rows"]], found)
    return found


DRAWN = {"keyed": of_keyed, "indexed": of_groups, "staged": of_groups, "diffable": of_diffable, "sequential": of_splices}
