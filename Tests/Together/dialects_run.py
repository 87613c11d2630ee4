"""A history: writes to one session, and readers that follow it in all ways."""

import collections
import copy
import itertools
import traceback

import dialects_writers as writers
from dialects_readers import FORMS, STREAMED, Entry, Reader, Wrong
from dialects_session import Session
from support.jsontext import Number

# Numbers never change, and long lists hold many: they are not copied.
Number.__deepcopy__ = lambda self, memo: self
_numbers = itertools.count(1)
CONTENTS = ["full", "patch", "delta"]
WAYS = ["GET", "older", "POST", "stream", "gzip", "many"]
THROUGH = ["view", "token", "window", "smallest"]


class Tally:
    """How many answers were right, by form and way."""

    def __init__(self):
        self.counts = collections.Counter()
        self.passed = self.silent = 0

    def count(self, reader, way):
        self.passed += 1
        self.silent += reader.last.is_empty
        name = f"{reader.form} {reader.content}"
        self.counts[name, way] += 1
        through = {"view": reader.view, "token": reader.lent, "window": reader.window, "smallest": "smallest" in reader.more}
        for what, there in through.items():
            if there:
                self.counts[name, what] += 1

    def add(self, other):
        self.counts += other.counts
        self.passed += other.passed
        self.silent += other.silent

    def table(self):
        columns = WAYS + THROUGH
        found = [f"{'':18}" + "".join(f"{each:>9}" for each in columns)]
        for form in FORMS:
            for content in CONTENTS:
                name = f"{form} {content}"
                found.append(f"{name:18}" + "".join(f"{self.counts[name, each]:9}" for each in columns))
        return "\n".join(found)


def readers(chance):
    """Some readers of all kinds."""
    made = []
    for form in chance.sample(list(FORMS), 6) + chance.choices(["json-patch", "bare", "keyed"], k=1):
        way = chance.choice(["get", "get", "many", "stream", "gzip"])
        if form == "bare":
            way = "get"
        more = {"smallest": "true"} if chance.random() < 0.12 else {"maxChanges": 3} if chance.random() < 0.05 else {}
        view = writers.view(chance) if way != "many" and chance.random() < 0.35 else None
        window = None
        if FORMS[form][0] != "json-patch" and way != "many" and chance.random() < 0.25:
            window = writers.window(chance)
            if way in STREAMED:
                # A stream follows the anchor that it last named, a request the one that it names.
                window = {"at": "start", **{name: window[name] for name in ("before", "after")}}
        lent = writers.view(chance) if way != "many" and chance.random() < 0.12 else None
        made.append(Reader(form, way, chance.choice(CONTENTS), view, window, more, lent))
    return made


def play(server, client, chance, tally, doctor=None, steps=14):
    """Plays one history; returns the troubles."""
    writer = writers.Writer(chance, has_large_ids=chance.random() < 0.25)
    session = Session(server, client, f"h{next(_numbers)}", chance, doctor=doctor)
    following, reader, entry = readers(chance), None, None
    try:
        session.write(writer.creating())
        restart = chance.randrange(steps) if not server.forgets and chance.random() < 0.1 else None
        for step in range(steps):
            if step == restart:
                for reader in following:
                    reader.close()
                server.restart()
            for reader in following:
                if chance.random() < 0.75:
                    entry = reader.last
                    follow(session, reader, tally)
                if chance.random() < 0.4 and len(reader.entries) > 2:
                    entry = chance.choice(reader.entries[-8:-1])
                    new = reader.ask(session, entry)
                    tally.count(reader, "older")
                    # The current rows came another way, and the reader continues from them.
                    if reader.stream is None and chance.random() < 0.6:
                        reader.entries.append(new)
            write = writer.next(session.document, list(session.documents.values()))
            # One of the readers writes, and takes its own answer.
            authors = [each for each in following if not each.lent]
            reader = chance.choice(authors) if authors and write["method"] == "POST" and chance.random() < 0.7 else None
            entry = reader and (reader.last if chance.random() < 0.6 else chance.choice(reader.entries[-8:]))
            new = session.write(write, reader, entry)
            if new is not None:
                tally.count(reader, "POST")
                if reader.stream is None:
                    reader.entries.append(new)
    except Wrong as wrong:
        session.trouble(wrong, reader, reader.last if reader and reader.stream else entry)
    except Exception:
        # Reported with the history, like any other failure.
        session.trouble(Wrong("broken", traceback.format_exc()), reader, entry)
    finally:
        for each in following:
            each.close()
    return list(session.troubles.values())


def follow(session, reader, tally):
    if reader.way in STREAMED:
        if reader.listen(session):
            tally.count(reader, reader.way)
        else:
            tally.count(reader, "GET")
        return
    reader.entries.append(reader.ask(session, reader.last))
    tally.count(reader, "many" if reader.way == "many" and reader.form != "bare" else "GET")


# A long list

STEPS = 4


def large_history(server, client, chance, rows, tally):
    """A few steps of one list of this many rows, few of which change; returns the troubles."""
    session = Session(server, client, f"large{next(_numbers)}", chance)
    state = {"sections": [{"id": name, "items": []} for name in ("s", "t")]}
    for index in range(rows):
        made = {"t": Number(str(index)), "long": writers.TEXTS[3], "m": {"k": index % 7 == 0}}
        made.update({"ts": Number(str(index))} if index % 2 else {})
        state["sections"][index % 10 == 0]["items"].append({"id": f"row {index}", "content": made})
    pointers = ["/ts", "/m/ts", "/nowhere"]
    reader = entry = None
    try:
        session.write(writers.write("PUT", {}, {"state": state, "ignore": pointers}))
        following = large_readers(session)
        for step in range(STEPS):
            write = writers.write("POST", {}, few_changed(chance, session.document, pointers, step))
            author = chance.choice(following)
            for reader in [author] + following:
                entry = reader.last if step == 0 or chance.random() < 0.6 else chance.choice(reader.entries[-3:-1])
                new, way = (session.write(write, reader, entry), "POST") if write else (reader.ask(session, entry), "GET")
                write = None
                tally.count(reader, way if entry is reader.last else "older")
                # Long lists take much memory.
                new.parent = None
                reader.entries = (reader.entries + [new])[-3:]
    except Wrong as wrong:
        session.trouble(wrong, reader, entry)
    return list(session.troubles.values())


def large_readers(session):
    """One of each form and content. Those with equal models begin with the same answer."""
    made, models = [], {}
    for form, content in itertools.product(FORMS, CONTENTS):
        if form in ("json-patch", "bare") and content != ("patch" if form == "bare" else "full"):
            continue
        reader = Reader(form, "get", content)
        alike = "rows" if reader.dialect not in ("sequential", "json-patch") else reader.dialect
        if alike not in models:
            models[alike] = reader.ask(session, reader.last)
        replica = copy.copy(models[alike].replica)
        replica.dialect, replica.rules = reader.dialect, reader.last.replica.rules
        reader.entries.append(Entry(replica, None, 1, models[alike].reset))
        made.append(reader)
    return made


def few_changed(chance, state, pointers, step):
    """The state with some contents changed, some only at ignored places, some rows moved, removed, and new."""
    sections = [{**section, "items": list(section["items"])} for section in state["sections"]]
    for _ in range(12):
        for deed in ("content", "ignored", "both", "move"):
            own = chance.choice(sections)["items"]
            at = chance.randrange(len(own))
            item = copy.deepcopy(own.pop(at))
            if deed == "move":
                other = chance.choice(sections)["items"]
                other.insert(chance.randint(0, len(other)), item)
                continue
            if deed != "ignored":
                writers.put_content(chance, item)
            if deed != "content":
                writers.touch_ignored(chance, item, pointers)
            own.insert(at, item)
    for number in range(3):
        own = chance.choice(sections)["items"]
        own.pop(chance.randrange(len(own)))
        own.insert(chance.randint(0, len(own)), {"id": f"new {step} {number}", "content": {"t": Number("1"), "ts": Number("2")}})
    return {**state, "sections": sections}
