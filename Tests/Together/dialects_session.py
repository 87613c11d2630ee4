"""One session as its writer knows it: what GET showed at each revision, what was ignored when, and all writes."""


from dialects_places import is_same_state, shown, spelled, tree
from dialects_readers import LARGEST, UNQUOTED, Wrong, number, require_status
from dialects_writers import LARGE_CONTENT, marked, posted
from support.appliers import DIALECTS
from support.client import session_path, target
from support.jsontext import text
from support.states import canonical
from support.views import viewed


class Trouble:
    """A failure, its reader and entry, whether it was in a write's own answer, and what had been written."""

    def __init__(self, wrong, session, reader=None, entry=None):
        self.wrong, self.session, self.reader, self.entry = wrong, session, reader, entry
        self.written, self.is_own = list(session.written), session.is_answering


class Session:
    def __init__(self, server, client, name, chance, remembered=6, doctor=None):
        """`remembered` revisions before the head are certainly kept; a `doctor` alters answers for a check to find."""
        self.server, self.client, self.name, self.chance = server, client, name, chance
        self.remembered, self.doctor = remembered, doctor
        # Ignored pointers are stored with their first revision, and whether it began with them.
        self.documents, self.ignores, self.marks = {}, [], []
        self.shown, self.is_answering = {}, False
        self.cursor, self.floor, self.head = None, 0, 0
        # Failures after which the history can continue: the first of each kind.
        self.written, self.troubles, self.refused = [], {}, 0

    @property
    def document(self):
        return self.documents[self.head]

    def in_force(self, first, last):
        """The pointers ignored at some revision from the first to the last, each time they were set."""
        for index, (since, pointers, _) in enumerate(self.ignores):
            until = last
            if index + 1 < len(self.ignores):
                following, _, is_start = self.ignores[index + 1]
                until = following - 1 if is_start else following
            if since <= last and until >= first:
                yield pointers

    def places(self, first, last):
        """All places ignored at some revision from the first to the last."""
        return tree([each for pointers in self.in_force(first, last) for each in pointers])

    def ignored_at(self, number_of, views=()):
        """The places ignored at a revision that views show: several sets of them if settings changed meanwhile."""
        return [tree(shown(pointers, views)) for pointers in self.in_force(number_of, number_of)]

    def ignored(self, views=()):
        """The places ignored now."""
        return tree(shown(self.ignores[-1][1], views) if self.ignores else [])

    def has_other_settings(self, first):
        """Whether the ignored places have changed, without a new state, since a revision."""
        return any(since >= first and not is_start for since, _, is_start in self.ignores)

    def expected(self, dialect, number_of, views):
        """What the dialect shows of the state at a revision through views. Long lists are read through none."""
        if views:
            return DIALECTS[dialect].expected(viewed(self.documents[number_of], *views))
        place = (dialect if dialect in ("sequential", "json-patch") else "rows", number_of)
        if place not in self.shown:
            self.shown[place] = DIALECTS[dialect].expected(self.documents[number_of])
        return self.shown[place]

    def marks_after(self, base):
        """The items and the sections marked by revisions after this one."""
        items, sections = set(), set()
        for number_of, some, others in self.marks:
            if number_of > base:
                items, sections = items | some, sections | others
        return items, sections

    def write(self, write, reader=None, entry=None):
        """Writes. With a reader, the answer is what it asks for from the entry; returns the new entry."""
        query, headers = dict(write["query"]), {}
        if reader:
            headers = reader.headers(self)
            query.update(reader.query)
            if entry.cursor != self.cursor or self.chance.random() < 0.5:
                query["since"] = entry.cursor or ""
        path = session_path(self.name) if write["method"] == "PUT" else session_path(self.name, "changes")
        answer = self.client.request(write["method"], target(path, query), text(write["body"]), headers)
        self.written.append(write)
        if answer.status == 422 and "edits" in write["body"]:
            self.refused += 1
            return None
        require_status(answer, 200, 201)
        self.look(write)
        self.is_answering = reader is not None
        new = reader.take_answer(self, entry, answer) if reader else None
        self.is_answering = False
        return new

    def look(self, write):
        """What GET shows now, and whether it is what was written."""
        answer = self.client.request("GET", session_path(self.name))
        require_status(answer, 200)
        self.check_ids(answer.text)
        found = answer.exact
        cursor, document = found["revision"], found["state"]
        before, head = (self.document if self.documents else None), number(cursor)
        pointers = write["body"].get("ignore") if isinstance(write["body"], dict) and write["method"] == "PUT" else None
        state = posted(write)
        if state is not None:
            self.check_stored(write, canonical(state), before, document, cursor)
        if write["method"] == "PUT" and state is not None or "reload" in write["query"]:
            self.floor = head
        if pointers is not None:
            self.ignores.append((head, pointers, state is not None))
        if any(marked(write)):
            self.marks.append((head, *marked(write)))
        self.cursor, self.head = cursor, head
        self.documents[head] = document

    def check_stored(self, write, state, before, document, cursor):
        """A state is stored as written, unless it equals the head."""
        if write["method"] == "POST" and before is not None and is_same_state(state, before, self.ignored()):
            kept = [before] if "reload" not in write["query"] else [before, state]
            if spelled(document) not in map(spelled, kept) or "reload" not in write["query"] and cursor != self.cursor:
                raise Wrong("stored", "a state that equals the head is stored: expected", self.cursor, text(before),
                            "got", cursor, text(document))
        elif spelled(document) != spelled(state):
            raise Wrong("stored", "expected", text(state), "got", text(document))
        elif cursor == self.cursor:
            raise Wrong("stored", "another state has the same revision", cursor, text(before), text(document))

    def check_ids(self, written, reader=None, entry=None):
        """An integer id beyond the range of doubles is written as a string."""
        for found in UNQUOTED.findall(written):
            if abs(int(found)) > LARGEST and found != LARGE_CONTENT.token:
                self.trouble(Wrong("large id", f"{found} is written as a number in", written[:600]), reader, entry)

    def trouble(self, wrong, reader=None, entry=None):
        self.troubles.setdefault(wrong.kind, Trouble(wrong, self, reader, entry))

