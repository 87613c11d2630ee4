"""Readers that keep their own model, each in one dialect and form, and compare it with what GET shows.

A reader has entries: what it showed at each cursor so far. It may ask from any of them.
"""

import copy
import re
import time

from dialects_places import content, holds, is_same, is_same_state, may_hold, spelled, untold
from support.appliers import document, rows, sequential
from support.client import session_path, target
from support.events import Stream
from support.jsontext import key, text, value
from support.replica import Replica
from support.replica import content as own_content
from support.states import items
from support.tokens import bearer, token
from support.views import Window, viewed

# The name of a reader: its dialect, and what more it asks for.
FORMS = {
    "keyed": ("keyed", {}), "staged": ("staged", {}), "compact": ("staged", {"staging": "compact"}), "diffable": ("diffable", {}),
    "sequential": ("sequential", {}), "indexed": ("indexed", {}), "json-patch": ("json-patch", {}), "bare": ("json-patch", {}),
}
BARE = "application/json-patch+json"
STREAMED = {"stream": None, "gzip": "gzip"}
UNQUOTED = re.compile(r'(?<![\w."-])-?[0-9]{16,}(?![\w."])')
LARGEST = 2 ** 53 - 1


class Wrong(AssertionError):
    """An answer that violates the contract; `kind` says how."""

    def __init__(self, kind, *told):
        super().__init__(kind)
        self.kind, self.told, self.is_planted = kind, told, False


class Entry:
    """What a reader shows at a cursor, and the entry from which it came there."""

    def __init__(self, replica, parent=None, writes=0, reset=0, is_empty=False):
        """How many writes there had been, which revision came whole, and whether nothing was told since the parent."""
        self.replica, self.parent, self.writes, self.reset, self.is_empty = replica, parent, writes, reset, is_empty

    @property
    def cursor(self):
        return self.replica.revision

    @property
    def number(self):
        """Of the revision."""
        return None if self.cursor is None else number(self.cursor)


def number(cursor):
    return int(cursor.split("-")[0])


class Reader:
    def __init__(self, form, way="get", content="full", view=None, window=None, more=None, lent=None):
        """`lent` is the view of a token by which it reads; its own `view` applies to the result."""
        self.form, self.way, self.content, self.view, self.window = form, way, content, view, window
        self.more, self.lent = more or {}, lent
        # A token shows contents of sections and of the list only if it says so.
        self.views = [{**({} if "group" in lent else {"sectionFields": []}), "listFields": [], **lent}] if lent else []
        self.views += [view] if view else []
        self.dialect, own = FORMS[form]
        self.how = {"compact": True} if form == "compact" else {}
        self.query = {**own, **self.more, **({} if content == "full" else {"content": content}), **(window or {})}
        if form != "bare":
            self.query["dialect"] = self.dialect
        if view:
            self.query["view"] = text(view)
        self.entries = [Entry(Replica(self.dialect))]
        self.stream = None
        self.is_listening = False

    def __repr__(self):
        lent = f", a token of the view {text(self.lent)}" if self.lent else ""
        return f"{self.form} by {self.way}, {self.query}{lent}"

    @property
    def last(self):
        return self.entries[-1]

    def since(self, entry):
        return {} if entry.cursor is None else {"since": entry.cursor}

    def headers(self, session):
        return {**({"Accept": BARE} if self.form == "bare" else {}),
                **(bearer(token(session.name, view=value(text(self.lent)))) if self.lent else {})}

    # Asking

    def ask(self, session, entry):
        """One answer over GET, checked; returns the entry that it leads to."""
        query = {**self.query, **self.since(entry)}
        if self.way == "many" and self.form != "bare":
            query = {**self.query, "session": f"{session.name}@{entry.cursor or ''}"}
            answer = session.client.request("GET", target("/v1/changes", query))
            require_status(answer, 200)
            return self.took(session, entry, answer.exact["answers"][0], answer.text)
        answer = session.client.request("GET", target(session_path(session.name, "changes"), query), None, self.headers(session))
        require_status(answer, 200)
        return self.take_answer(session, entry, answer)

    def take_answer(self, session, entry, answer):
        """The answer of a GET or a POST."""
        if self.form != "bare":
            return self.took(session, entry, answer.exact, answer.text)
        if answer.media_type != BARE:
            raise Wrong("form", "a bare patch has another type:", answer)
        base, to = (answer.headers.get(name, "").strip('"').removesuffix(";gzip") or None for name in ("Delta-Base", "ETag"))
        patch = answer.exact
        changeset = {"from": base, "to": to, "changes": patch}
        if len(patch) == 1 and patch[0]["op"] == "replace" and patch[0]["path"] == "":
            changeset = {"from": base, "to": to, "reset": "bare", "state": patch[0]["value"]}
        return self.took(session, entry, changeset, answer.text)

    def took(self, session, entry, changeset, written):
        """The entry after a changeset, checked."""
        planted = session.doctor(self, session, entry, changeset) if session.doctor else changeset
        if planted is changeset:
            return self.taken(session, entry, changeset, written)
        try:
            before = set(session.troubles)
            self.taken(session, entry, planted, written)
            found = [each.wrong for kind, each in session.troubles.items() if kind not in before]
            raise found[0] if found else Wrong("missed", text(planted))
        except Wrong as wrong:
            session.troubles.pop(wrong.kind, None)
            wrong.is_planted = wrong.kind != "missed"
            raise

    def taken(self, session, entry, changeset, written):
        replica = copy.copy(entry.replica)
        try:
            verdict = replica.receive(changeset, **self.how)
        except (rows.Misfit, KeyError, ValueError, TypeError, IndexError) as problem:
            raise Wrong("misfit", "it cannot be applied:", problem, text(changeset)) from problem
        if verdict == "known":
            return entry
        if verdict == "ask":
            raise Wrong("misfit", f"it leads from another base than {entry.cursor}:", text(changeset))
        reset = "reset" in changeset
        if reset:
            # A stream through a view is silent about a state that starts over and shows the same.
            is_empty = entry.cursor is not None and replica.content == entry.replica.content \
                and self.is_same(replica.model, entry.replica.model, session.ignored())
        else:
            is_empty = "list" not in changeset and is_nothing(changeset["changes"]) and replica.model == entry.replica.model
        new = Entry(replica, entry, len(session.written), number(replica.revision) if reset else entry.reset, is_empty)
        try:
            self.check(session, entry, new, changeset)
        except Wrong as wrong:
            wrong.told += ("the answer was", text(changeset))
            raise
        session.check_ids(written, self, entry)
        return new

    # Listening

    def listen(self, session):
        """Takes what a stream tells until there is no more to tell; returns whether there was anything."""
        begin, there = self.last, self.ask(session, self.last)
        if self.hears(session, there) and (self.stream is None or session.chance.random() < 0.2):
            self.open(session)
        while self.hears(session, there):
            self.entries.append(self.heard(session, there))
            there = self.ask(session, self.last)
        return self.last is not begin

    def hears(self, session, there):
        """Whether a stream must tell what a request would now be told."""
        if there.is_empty or self.last.cursor is None or not session.has_other_settings(number(self.last.cursor)):
            return not there.is_empty
        # It had nothing to tell of a change at places ignored then; a request compares them as they are ignored now.
        now, before = there.replica, self.last.replica
        return now.content != before.content \
            or not self.is_same(now.model, before.model, session.places(self.last.reset, number(there.cursor)))

    def heard(self, session, there):
        """The entry after the next event."""
        deadline = time.monotonic() + 20
        try:
            event = self.stream.next(20)
            while event and not event.fields:  # a heartbeat
                event = self.stream.next(max(0.001, deadline - time.monotonic()))
        except TimeoutError:
            raise Wrong("stream", f"nothing came since {self.last.cursor}, though {there.cursor} is the head") from None
        if event is None or event.event == "end":
            raise Wrong("stream", "it ended:", event)
        if event.event:
            if event.id != event.changeset["to"]:
                raise Wrong("stream", "its id is not where it leads:", event)
            self.is_listening = True
            try:
                return self.took(session, self.last, event.changeset, event.data)
            finally:
                self.is_listening = False
        # It begins with the reader's own cursor, and a new one comes before that is forgotten.
        if event.id is None or self.last.cursor is None:
            return self.last
        replica = copy.copy(self.last.replica)
        replica.revision = event.id
        if number(event.id) not in session.documents:
            raise Wrong("revision", "nobody knows the revision", event.id)
        shown = session.expected(self.dialect, number(event.id), self.views)
        if not self.window and not self.is_same(replica.model, shown, session.places(self.last.reset, number(event.id))):
            raise Wrong("stream", f"{event.id} is no change since {self.last.cursor}: expected", shown, "got", replica.model)
        return Entry(replica, self.last, len(session.written), self.last.reset, True)

    def open(self, session):
        self.close()
        named = {"Accept-Encoding": STREAMED[self.way], **self.headers(session)}
        query = dict(self.query)
        if session.chance.random() < 0.5:
            query.update(self.since(self.last))
        elif self.last.cursor:
            named["Last-Event-ID"] = self.last.cursor
        self.stream = Stream(session.server, session_path(session.name, "changes"), query, named)

    def close(self):
        if self.stream:
            self.stream.close()
            self.stream = None

    # Checks

    def check(self, session, old, new, changeset):
        to = number(changeset["to"])
        if to not in session.documents:
            raise Wrong("revision", "nobody knows the revision", changeset["to"])
        shown = viewed(session.documents[to], *self.views)
        reset = "reset" in changeset
        base = None if reset else viewed(session.documents[number(changeset["from"])], *self.views)
        if reset:
            self.check_reset(session, old, changeset)
        wanted = self.wanted(session, changeset, shown)
        brought = Brought(self, old, changeset)
        places = session.places(new.reset, to)
        listed = {} if self.dialect == "json-patch" and not reset else {"content": new.replica.content}
        if listed and new.replica.content != own_content(shown):
            raise Wrong("content", "the list's own content: expected", own_content(shown), "got", new.replica.content)
        compare = self.compare_documents if self.dialect == "json-patch" else self.compare_rows
        compare(new, wanted, brought, places, session, base)
        if not reset:
            self.check_updates(session, old, brought, base, shown, changeset)

    def check_reset(self, session, old, changeset):
        """A remembered base is used."""
        if old.number is None or set(self.more) & {"smallest", "maxChanges"} or old.number < session.floor:
            return
        if len([each for each in session.documents if each > old.number]) < session.remembered:
            raise Wrong("reset", f"{old.cursor} is remembered, yet the answer is a reset:", changeset.get("reset"))

    def wanted(self, session, changeset, shown):
        """The model that GET gives."""
        if not self.window:
            return session.expected(self.dialect, number(changeset["to"]), self.views)
        bases = [None]
        if changeset["from"] and number(changeset["from"]) in session.documents:
            before = viewed(session.documents[number(changeset["from"])], *self.views)
            anchor = changeset["from"].rpartition(".")[2] if "~" in changeset["from"] else "0"
            bases += [(before, int(anchor)), (None, int(anchor))]
        told = changeset["window"]
        windows = [Window(shown, base, **self.window) for base in bases]
        for each in windows:
            anchor = None if told["anchor"] is None else key(told["anchor"])
            if (str(each.above), str(each.below), each.anchor) == (told["above"].token, told["below"].token, anchor):
                return sequential.flat(each.rows) if self.dialect == "sequential" else each.rows
        raise Wrong("window", "expected one of", [each.told for each in windows], "got", told)

    def compare_rows(self, new, wanted, brought, places, session, base):
        got, want = lines(new.replica.model), lines(wanted)
        if [line[:2] for line in got] != [line[:2] for line in want]:
            raise Wrong("rows", "expected", [line[:2] for line in want], "got", [line[:2] for line in got])
        for (sort, identity, mine), (_, _, theirs) in zip(got, want):
            if sort == "section" and mine != theirs:
                raise Wrong("section", "expected", text(theirs), "got", text(mine))
            if sort == "row":
                self.compare(mine, theirs, identity, brought, places, session, base, new)

    def compare_documents(self, new, wanted, brought, places, session, base):
        mine, theirs = spelled(new.replica.model), spelled(wanted)

        def split(owner):
            return {name: each for name, each in owner.items() if name not in ("sections", "items")}

        def walk(got, want):
            if [each["id"] for each in got] != [each["id"] for each in want]:
                raise Wrong("rows", "expected", [each["id"] for each in want], "got", [each["id"] for each in got])
            for one, other in zip(got, want):
                self.compare(split(one), split(other), one["id"], brought, places, session, base, new)
                walk(one.get("items", []), other.get("items", []))

        if split(mine) != split(theirs):
            raise Wrong("content", "expected", text(split(theirs)), "got", text(split(mine)))
        if [split(each) for each in mine["sections"]] != [split(each) for each in theirs["sections"]]:
            raise Wrong("section", "expected", text([split(each) for each in theirs["sections"]]),
                        "got", text([split(each) for each in mine["sections"]]))
        for one, other in zip(mine["sections"], theirs["sections"]):
            walk(one["items"], other["items"])

    def compare(self, mine, theirs, identity, brought, places, session, base, new):
        """One row. What was brought now is as it is now, everything else as well except for ignored places."""
        if mine == theirs:
            return
        if not is_same(mine, theirs, places):
            raise Wrong("row", "expected", text(theirs), "got", text(mine))
        if not brought.is_whole and identity not in brought.items:
            return
        old = contents(base, {identity}).get(identity, []) if base else []
        known = holds(old, places) or holds(content(theirs), places)
        kind = "not as it is now" if known else "neither the base nor the head has the value"
        if session.has_other_settings(new.reset):
            kind += ", after other settings"
        # The history continues: only ignored places are wrong.
        wrong = Wrong(kind, "expected", text(theirs), "got", text(mine), "the answer was", text(brought.changeset))
        session.trouble(wrong, self, new.parent)

    def is_same(self, one, other, places):
        """Whether two models are equal except for ignored places."""
        if self.dialect == "json-patch":
            return is_same_state(one, other, places)
        mine, theirs = lines(one), lines(other)
        return len(mine) == len(theirs) and all(
            line[:2] == same[:2] and (line[2] == same[2] if line[0] == "section" else is_same(line[2], same[2], places))
            for line, same in zip(mine, theirs))

    def check_updates(self, session, old, brought, base, shown, changeset):
        """Nothing unchanged is updated, and a patch says what is at ignored places."""
        after = contents(shown, brought.patched) if brought.patched else {}
        # Settings may have changed while an event was on its way.
        ignored = session.ignored_at(number(changeset["to"]), self.views) if self.is_listening else [session.ignored(self.views)]
        for identity, patch in brought.patched.items():
            wrong = [may_hold(after[identity], each) if self.dialect == "json-patch" else untold(patch, after[identity][0], each)
                     for each in ignored]
            if all(wrong):
                session.trouble(Wrong("patched", f"{identity} is patched:", wrong, "it is", text(after[identity]),
                                      "the answer was", text(changeset)), self, old)
        ignored = session.ignored_at(number(changeset["to"])) if self.is_listening else [session.ignored()]
        if self.form in ("staged", "compact"):
            return
        marked, _ = session.marks_after(number(changeset["from"]))
        kept = brought.items - brought.added - marked
        mine, theirs = (self.some_rows(session, number(changeset[end]), kept) for end in ("from", "to"))
        for identity in kept & mine.keys() & theirs.keys():
            if all(is_same(mine[identity], theirs[identity], each) for each in ignored):
                raise Wrong("needless", "an update of what did not change:", identity, text(mine[identity]), text(theirs[identity]))

    def some_rows(self, session, number_of, ids):
        """The rows, or items of a document, that have these ids."""
        shown = session.expected(self.dialect, number_of, self.views)
        if self.dialect != "json-patch":
            return {identity: line for sort, identity, line in lines(shown) if sort == "row" and identity in ids}
        return {key(each["id"]): {name: value for name, value in each.items() if name not in ("items", "id")}
                for each in items(shown["sections"]) if key(each["id"]) in ids}


def is_nothing(changes):
    """Whether no operation is listed; diffable always lists the ids."""
    return not changes if isinstance(changes, list) else not any(each for name, each in changes.items() if name != "sections") \
        and (not changes.get("sections") or "reload" in changes)


def require_status(answer, *statuses):
    if answer.status not in statuses:
        raise Wrong(f"status {answer.status}", answer)


def lines(model):
    """(sort, place, members) of each section's header and each row."""
    found = []
    if isinstance(model, rows.Shown):
        for head, own in model.sections:
            found.append(("section", head["id"], head))
            found += [("row", line["id"], line) for line in own]
        return found
    for line in model:
        if "section" in line:
            found.append(("section", line["section"]["id"], line["section"]))
        else:
            found.append(("row", line["item"]["id"], {**line["item"], "in": line["in"]}))
    return found


def contents(state, ids):
    """The contents of the items that have these ids."""
    return {key(each["id"]): content(each) for each in items(state["sections"]) if key(each["id"]) in ids}


class Brought:
    """The items whose contents an answer brings: updated or inserted, patched among them, and added."""

    def __init__(self, reader, old, changeset):
        # The patches of rows by their ids; with json-patch only which rows.
        self.changeset, self.items, self.patched, self.added = changeset, set(), {}, set()
        self.is_whole = "reset" in changeset
        if self.is_whole:
            return
        if reader.dialect == "json-patch":
            self.of_patch(copy.deepcopy(old.replica.model), changeset["changes"])
        else:
            self.of_rows(changeset["changes"])
            self.added = self.items - {line[1] for line in lines(old.replica.model) if line[0] == "row"}

    def of_rows(self, node):
        if isinstance(node, list):
            for each in node:
                self.of_rows(each)
        if not isinstance(node, dict):
            return
        for name, value in node.items():
            if name == "item" and isinstance(value, dict):
                self.bring(value)
            elif name in ("items", "rows") and isinstance(value, list):
                for each in value:
                    if isinstance(each, dict):
                        self.bring(each) if "id" in each else self.of_rows(each)
            elif name not in ("content", "patch", "append"):
                self.of_rows(value)

    def bring(self, item):
        self.items.add(key(item["id"]))
        if "patch" in item or "append" in item:
            self.patched[key(item["id"])] = item.get("patch", {})

    def of_patch(self, model, patch):
        for operation in patch:
            path = document.tokens(operation["path"])
            if operation["op"] not in ("move", "copy", "test"):
                self.of_operation(model, path, operation)
            model = document.apply(model, operation)

    def of_operation(self, model, path, operation):
        """The value at the path before the operation says whose content it is about."""
        place, item = model, None
        for at, name in enumerate(path):
            if isinstance(place, dict) and name == "content":
                if item is not None:
                    self.items.add(item)
                    if at < len(path) - 1:
                        self.patched[item] = None
                return
            if name in ("sections", "items"):
                item = None
                if name not in place:
                    break
                place = place[name]
            elif isinstance(place, list):
                if at == len(path) - 1:
                    break
                place = place[int(name)]
                item = key(place["id"]) if "items" in path[:at] else None
            else:
                break
        if operation["op"] in ("add", "replace") and isinstance(operation["value"], (dict, list)):
            self.all_in(operation["value"], bool(path) and "items" in path)

    def all_in(self, value, is_item):
        if isinstance(value, list):
            for each in value:
                self.all_in(each, True)
            return
        if is_item:
            self.items.add(key(value["id"]))
            self.added.add(key(value["id"]))
        for each in value.get("items", []):
            self.all_in(each, True)
