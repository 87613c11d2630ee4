"""A failure reduced to what still shows it: fewer writes, reads, items and members."""

import copy
import itertools
import random

from dialects_readers import BARE, Entry, Reader, Wrong
from dialects_session import Session
from support.client import target
from support.jsontext import key, text
from support.replica import Replica

MOST_TRIES = 400
_numbers = itertools.count(1)


class Story:
    """Writes and reads in order, of which the last fails; a write does by its own answer, or without a reader."""

    def __init__(self, trouble):
        self.server, self.client, chain, entry = trouble.session.server, trouble.session.client, [], trouble.entry
        while trouble.reader and entry and entry.cursor is not None:
            chain.append(entry.writes)
            entry = entry.parent
        self.events = []
        for count, write in enumerate(trouble.written, 1):
            self.events.append(write)
            self.events += [None] * chain.count(count)
        self.is_own = trouble.is_own
        if trouble.reader and not self.is_own:
            self.events.append(None)

    def wrong(self, events, reader, kind):
        """The failure of this kind when it is played, and the session in which it occurred."""
        session = Session(self.server, self.client, f"r{next(_numbers)}", random.Random(0))
        entry = Entry(Replica(reader.dialect)) if reader else None
        try:
            for event in events:
                if event is None:
                    entry = reader.ask(session, entry)
                elif event is events[-1] and self.is_own:
                    session.write(event, reader, entry)
                else:
                    session.write(event)
        except Wrong as wrong:
            session.trouble(wrong)
        found = session.troubles.get(kind)
        return found and found.wrong


def reduced(trouble):
    """Lines that describe it."""
    story, kind, tries = Story(trouble), trouble.wrong.kind, itertools.count()
    events, reader = story.events, trouble.reader and plain(trouble.reader)

    def shows(events, reader):
        return next(tries) < MOST_TRIES and story.wrong(events, reader, kind) is not None

    if not shows(events, reader):
        return ["# Not seen again by GET and POST alone."] + told(trouble.wrong, trouble.reader, events, story.is_own)
    for other in simpler(reader):
        if shows(events, other):
            reader = other
    events = shortest(events, lambda events: shows(events, reader))
    return told(story.wrong(events, reader, kind), reader, events, story.is_own)


def plain(reader, **other):
    own = {"content": reader.content, "view": reader.view, "window": reader.window, "more": reader.more,
           "lent": reader.lent}
    return Reader(reader.form, "get", **{**own, **other})


def simpler(reader):
    """The reader without some of its requests' options."""
    if reader:
        none = {"view": None, "lent": None, "window": None, "more": {}}
        for other in ({"view": None, "lent": None}, {"window": None}, {"more": {}}, none, {"content": "full"}):
            yield plain(reader, **other)


def shortest(events, shows):
    while True:
        before = len(text([each or {} for each in events]))
        for at in reversed(range(len(events) - 1)):
            fewer = events[:at] + events[at + 1:]
            if shows(fewer):
                events = fewer
        for change in changes(events):
            fewer = [each and {**each, "body": change(copy.deepcopy(each["body"]))} for each in events]
            if fewer != events and shows(fewer):
                events = fewer
        if len(text([each or {} for each in events])) >= before:
            return events


def changes(events):
    """Ways to make all bodies smaller at once."""
    ids, names = set(), set()

    def look(value, inside):
        if isinstance(value, list):
            for each in value:
                look(each, inside)
        elif isinstance(value, dict):
            if "id" in value and not inside:
                ids.add(key(value["id"]))
            for name, each in value.items():
                if inside:
                    names.add(name)
                look(each, inside or name == "content")

    for each in events:
        look(each["body"] if each else None, False)
    for identity in sorted(ids):
        yield lambda body, identity=identity: without_item(body, identity)
    for name in sorted(names):
        yield lambda body, name=name: without_member(body, name, False)
    for name in ("kind", "expanded", "content"):
        yield lambda body, name=name: {each: value for each, value in body.items() if each != name}
        yield lambda body, name=name: without_own(body, name)
    pointers = {pointer for each in events if each and isinstance(each["body"].get("ignore"), list) for pointer in each["body"]["ignore"]}
    for pointer in sorted(pointers):
        yield lambda body, pointer=pointer: {**body, "ignore": [each for each in body["ignore"] if each != pointer]} \
            if "ignore" in body else body


def without_item(value, identity):
    if isinstance(value, list):
        kept = [each for each in value if not is_id(each.get("id") if isinstance(each, dict) else each, identity)]
        return [without_item(each, identity) for each in kept if not (isinstance(each, dict) and "op" in each
                and not without_item(each.get("items", each.get("sections", [])), identity))]
    if isinstance(value, dict):
        return {name: each if name == "content" else without_item(each, identity) for name, each in value.items()}
    return value


def is_id(value, identity):
    return not isinstance(value, (dict, list, bool)) and value is not None and key(value) == identity


def without_member(value, name, inside):
    if isinstance(value, list):
        return [without_member(each, name, inside) for each in value]
    if isinstance(value, dict):
        return {own: without_member(each, name, inside or own == "content") for own, each in value.items() if not (inside and own == name)}
    return value


def without_own(value, name):
    """Without a member of items and sections that are no update."""
    if isinstance(value, list):
        return [without_own(each, name) for each in value]
    if isinstance(value, dict) and "op" not in value:
        return {own: each if own == "content" else without_own(each, name) for own, each in value.items()
                if not (own == name and "id" in value)}
    return value


def told(wrong, reader, events, is_own):
    """The history as lines of a shell; R1 is the `to` of the first read."""
    lines, reads = ["S=localhost:8080/v1/sessions/s"], 0
    for event in events:
        if event is None:
            query = {**reader.query, **({"since": f"R{reads}"} if reads else {})}
            reads += 1
            accept = f" -H 'Accept: {BARE}'" if reader.form == "bare" else ""
            lent = f", by a token of the view {text(reader.lent)}" if reader.lent else ""
            lines.append(f"curl \"{target('$S/changes', query)}\"{accept}   # R{reads}{lent}")
        else:
            query = event["query"]
            if is_own and event is events[-1]:
                query = {**query, **reader.query, "since": f"R{reads}" if reads else ""}
            path = target("$S" if event["method"] == "PUT" else "$S/changes", query)
            body = text(event["body"]).replace("'", "'\\''")
            lines.append(f"curl {'-X PUT ' if event['method'] == 'PUT' else ''}\"{path}\" -d '{body}'")
    return lines + [str(each)[:1500] for each in wrong.told]
