"""Streams of events and held requests: who is woken, how often, in which order, and with what."""

import collections
import json
import time

from noninterference_callers import editor, key_holder, reader, several, several_viewed, stranger, view_reader
from noninterference_requests import DIALECTS, Script
from noninterference_secrets import EVERYTHING, Secrets
from noninterference_wire import Listener, Request, compared, cursors, difference, inflated, told
from noninterference_worlds import bearer
from support.client import session_path
from support.clock import let_pass

WHO = [view_reader, view_reader, view_reader, view_reader, several_viewed, several_viewed, several, reader, key_holder, editor, stranger]
# Seconds between two commits: longer than the pace of a stream, so that no two commits become one event.
SETTLE = 0.15
LONGER = 0.6


class Ear:
    """One stream or held request of a caller, in both worlds."""

    def __init__(self, chance, caller, given, script, revisions, worlds):
        self.chance, self.caller, self.given, self.revisions, self.worlds = chance, caller, given, revisions, worlds
        self.names = [caller.names for _ in worlds]
        self.request = self._drawn(script)
        self.listeners = []
        self.status = None
        self.kinds = collections.Counter()
        # What has come, a list per world: the same when all is well.
        self.heard = [[], []]
        self.open()

    def _drawn(self, script):
        chance, session = self.chance, self.chance.choice(self.caller.sessions)
        style = [each for each in script.style() if each[0] != "dialect"] + [("dialect", chance.choice(DIALECTS))] * (chance.random() < 0.6)
        encoding = [("Accept-Encoding", "gzip")] if chance.random() < 0.4 else []
        pace = [("every", chance.choice(["0.05", "0.1"]))] if chance.random() < 0.5 else []
        self.is_held = chance.random() < 0.35
        if self.is_held:
            # Counts are not held.
            style = [each for each in style if each != ("dialect", "counts")]
            query = script.since() + style + script.view(0.3) + script.window(0.3) + [("wait", "30")]
            return Request("held request", "GET", f"{session_path(session)}/changes", query, encoding)
        accept = [("Accept", "text/event-stream")]
        if len(self.caller.sessions) > 1 and chance.random() < 0.6:
            query = [("session", name + (f"@{script.revision()}" if chance.random() < 0.5 else "")) for name in self.caller.sessions]
            return Request("stream of many", "GET", "/v1/changes", query + style + pace, accept + encoding)
        last = [("Last-Event-ID", script.revision())] if chance.random() < 0.2 else []
        query = script.since() + style + pace + script.view(0.3) + script.window(0.3)
        return Request("stream", "GET", f"{session_path(session)}/changes", query, accept + encoding + last)

    def open(self):
        self.listeners = [Listener(world.server, self.request.octets(bearer(self.given), known))
                          for world, known in zip(self.worlds, self.revisions)]
        self.is_told = [False, False]

    def listen(self, when):
        """Notes what has come by now in each world."""
        was_open = not all(self.is_told)
        for index, (listener, heard, names) in enumerate(zip(self.listeners, self.heard, self.names)):
            listener.pump()
            if self.is_told[index] or listener.status is None:
                continue
            self.status = self.status or listener.status
            self.is_told[index] = listener.is_whole
            if listener.length is None:
                for event in listener.events() + (["the end"] if listener.is_whole else []):
                    self.note(index, when, [names.fixed(event)], self.kind_of(event))
            elif listener.is_whole:
                self.note(index, when, compared(listener.answer, names), "answer")
        # Silence is compared, too.
        if was_open and not any(each[0] == when for each in self.heard[0]):
            self.kinds["silence"] += 1

    def note(self, index, when, parts, kind):
        self.heard[index].append([when, *parts])
        if index == 0:
            self.kinds[kind] += 1

    @staticmethod
    def kind_of(event):
        names = [line.split(":")[0] for line in event.split("\n")]
        if names == ["id"]:
            return "id alone"
        return next((line[7:] for line in event.split("\n") if line.startswith("event: ")), "other")

    def again(self):
        """An answered held request is repeated, with what it was told."""
        if not self.is_held or not all(self.is_told) or any(each.status != 200 for each in self.listeners):
            return
        said = [json.loads(inflated(listener.answer)) for listener in self.listeners]
        if not all(isinstance(each, dict) and each.get("to") for each in said):
            return
        self.close()
        for known, each in zip(self.revisions, said):
            known.append(each["to"])
        query = [each for each in self.request.query if each[0] != "since"]
        self.request = Request("held request", "GET", self.request.path, [("since", told(len(self.revisions[0]) - 1)), *query],
                               self.request.headers)
        self.open()

    def close(self):
        for listener in self.listeners:
            listener.close()


class Wakeups:
    """Several callers wait at once, each for its own sessions, while these are written."""

    def __init__(self, chance, worlds, name, doctor=None, given=None):
        self.chance, self.worlds, self.name, self.doctor = chance, worlds, name, doctor
        self.given = given or (lambda caller: caller.given)
        self.callers = [make(chance, f"{name}-{number}") for number, make in enumerate(WHO)]
        # A stream of several sessions sends first what is ready first. Many rows take time, so the order would reveal
        # them.
        self.secrets = {session: Secrets(chance, caller.sight, may_be_bulky=len(caller.sessions) == 1)
                        for caller in self.callers for session in caller.sessions}
        # Exists in one world only.
        self.unsure = [caller.sessions[0] for caller in self.callers if not caller.sees_existence]
        self.ears = []

    def run(self, settle, commits=10, ears=5):
        """The ears, with what they heard."""
        for session, secrets in self.secrets.items():
            self.write(session, "PUT", secrets.puts, query=secrets.query)
        for session in self.unsure:
            self.worlds[0].ask("DELETE", session_path(session))
        for caller in self.callers:
            revisions = self.first_told(caller)
            script = Script(self.chance, caller, caller.sessions, [], revisions[0])
            self.ears += [Ear(self.chance, caller, self.given(caller), script, revisions, self.worlds) for _ in range(ears)]
        try:
            self.rest(settle, "at first")
            for number in range(commits):
                self.commit_all()
                self.others()
                self.rest(settle, f"after commit {number + 1}")
                for ear in self.ears:
                    ear.again()
            self.end()
            self.rest(settle, "in the end")
        finally:
            for ear in self.ears:
                ear.close()
        if self.doctor:
            self.doctor(self.ears)
        return self.ears

    def first_told(self, caller):
        """What the caller knows before it waits."""
        revisions = [[], []]
        for world, known in zip(self.worlds, revisions):
            for session in caller.sessions:
                answer = world.ask("GET", session_path(session, "changes"), given=self.given(caller))
                known += cursors(answer)[:1] if answer.status == 200 else []
        return revisions

    def write(self, session, method, bodies, rest=(), query=None):
        for world, body in zip(self.worlds, bodies):
            answer = world.ask(method, session_path(session, *rest), body, query)
            assert answer.status < 300, (method, session, body, answer)

    def commit_all(self):
        """A revision for each session, of which its readers see something or not, or none."""
        for session, secrets in self.secrets.items():
            deed = self.chance.choice(["change", "change", "change", "hide", "hide", "hide", "mark", "nothing", "reload", "again"])
            if deed == "nothing":
                continue
            if deed == "again":
                if self.chance.random() < 0.7:
                    continue
                self.write(session, "DELETE", [None, None])
            if deed == "mark" and self.mark(session, secrets):
                continue
            if deed in ("hide", "mark"):
                secrets.hide()
            else:
                secrets.change()
            query = {"reload": "true"} if deed == "reload" and self.chance.random() < 0.5 else {}
            self.write(session, "POST", secrets.posts, ["changes"], {**query, **secrets.query})

    def mark(self, session, secrets):
        """Redraws rows that no view shows."""
        names = [secrets.hidden_ids(world)[0] for world in (0, 1)]
        if session in self.unsure or secrets.sight is EVERYTHING or not all(names):
            return False
        self.write(session, "POST", [{"edits": [{"op": "reload", "items": each[:1]}]} for each in names], ["changes"])
        return True

    def others(self):
        """Something happens in another session of one world."""
        self.chance.choice(self.worlds).ask("PUT", session_path(f"other:{self.name}:{self.chance.randint(0, 3)}"), {"state": ["a"]})

    def end(self):
        """Ends the sessions, or the tokens for them."""
        for session in self.secrets:
            for world in self.worlds:
                world.ask("DELETE", session_path(session, *(["tokens"] if len(session) % 2 else [])))

    def rest(self, settle, when):
        """A reader of everything is woken by each commit: once it was, and a pace has passed, all others have been."""
        deadline = time.monotonic() + settle
        while time.monotonic() < deadline:
            let_pass(0.03, "pace of a stream")
            for ear in self.ears:
                for listener in ear.listeners:
                    listener.pump()
        for ear in self.ears:
            ear.listen(when)


def compare_wakeups(chance_of, worlds, findings, name, **more):
    """Confirms a difference by playing the same again: on a busy machine two commits may have become one event, or an event may
    have come late. A real difference comes again when there is more time between the commits."""
    ears = Wakeups(chance_of(), worlds, name, **more).run(SETTLE)
    if any(ear.heard[0] != ear.heard[1] for ear in ears):
        ears = Wakeups(chance_of(), worlds, f"{name}b", **more).run(LONGER)
    for ear in ears:
        for kind, count in ear.kinds.items():
            findings.count(ear.caller.kind, f"{ear.request.endpoint}, {kind}", ear.status, count)
        if ear.heard[0] != ear.heard[1]:
            findings.differ(ear.caller.label, ear.request, *first_difference(*ear.heard))


def first_difference(one, other):
    """The difference of two lists of what was heard."""
    for mine, theirs in zip(one, other):
        if mine != theirs:
            if mine[0] != theirs[0]:
                return f"{mine}"[:300], f"{theirs}"[:300]
            return [f"{mine[0]}: {each}" for each in difference(mine, theirs)]
    at = min(len(one), len(other))
    return [str(each[at:at + 1] or "nothing more")[:300] for each in (one, other)]
