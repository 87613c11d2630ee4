"""Random histories with all of the interface switched on at random: writers by states, shapes, edits, PUTs and settings; readers in
every dialect by answers, held requests and streams, alone or of many lists, compressed or not. Each shows what the server holds."""

import copy
import random

from support.appliers import DIALECTS
from support.case import ServiceCase
from support.client import session_path
from support.events import Stream
from support.replica import Replica
from support.states import CONTENTS, changed, items, random_state


class Reader:
    """A replica that asks in its own way, with its own options."""

    def __init__(self, case, session, dialect, chance):
        self.case, self.session, self.chance, self.replica = case, session, chance, Replica(dialect)
        self.way = chance.choice(["plain", "held", "stream", "packed", "many", "manyStream"])
        self.query = {"dialect": dialect}
        if chance.random() < 0.5:
            self.query["content"] = "patch"
        if chance.random() < 0.3:
            self.query["smallest"] = "true"
        if chance.random() < 0.2:
            self.query["maxChanges"] = 3
        if dialect == "staged" and chance.random() < 0.5:
            self.query["staging"] = "compact"
        self.stream = self.cursor = None

    def __repr__(self):
        return f"{self.way} {self.query} at {self.replica.revision}"

    def take(self, changeset):
        """Adopts an answer; `ask` is impossible, since nothing was lost on the way."""
        how = {"compact": True} if "staging" in self.query else {}
        self.case.assertIn(self.replica.receive(changeset, **how), ("adopted", "known"), (self, changeset))

    def follow(self, head):
        """Asks until it has reached the head."""
        if self.way in ("stream", "packed", "manyStream"):
            return self.listen(head)
        if self.way == "many":
            base = f"{self.session}@{self.replica.revision or ''}"
            found = self.case.get("/v1/changes", {"session": base, **self.query})
            return self.take(found.exact["answers"][0])
        since = {"since": self.replica.revision} if self.replica.revision else {}
        if self.way == "held" and self.replica.revision != head:
            since["wait"] = 5
        self.take(self.case.get_changes(self.session, {**self.query, **since}).exact)

    def listen(self, head):
        if self.stream is None or self.chance.random() < 0.15:
            self.open()
        while self.replica.revision is None or self.replica.revision.split("-")[1] != head.split("-")[1]:
            event = self.stream.next_event()
            if event is None or event.event == "end":
                if self.way != "manyStream":
                    self.open()
                continue
            self.cursor = event.id
            self.take(event.changeset)

    def open(self):
        self.close()
        headers = {"Accept-Encoding": None if self.way == "stream" else "gzip"}
        if self.way == "manyStream":
            query = {"session": f"{self.session}@", **self.query, "every": 0.05}
            self.stream = Stream(self.case.server, "/v1/changes", query, {**headers, "Last-Event-ID": self.cursor})
            return
        since = {"since": self.replica.revision} if self.replica.revision else {}
        self.stream = Stream(self.case.server, session_path(self.session, "changes"), {**self.query, **since}, headers)

    def close(self):
        if self.stream:
            self.stream.close()


class Everything(ServiceCase):
    options = ("--history-revisions", "12")

    def play(self, dialect, seed):
        chance = random.Random(f"{dialect} {seed}")
        session = self.new_name()
        self.settings = {"keep": ["expanded"]} if chance.random() < 0.5 else {}
        self.state = random_state(chance)
        self.assertStatus(self.post_changes(session, {"state": self.state, **self.settings}), 201)
        readers = [Reader(self, session, dialect, chance) for _ in range(4)]
        for reader in readers:
            self.addCleanup(reader.close)
        for _ in range(24):
            self.write(session, chance)
            found = self.get_session(session)
            self.state = found.json["state"]
            for reader in readers:
                if chance.random() < 0.6:
                    reader.follow(found.json["revision"])
                    self.assertTrue(reader.replica.shows(found.exact["state"]), (reader, reader.replica.model, found.text))

    def write(self, session, chance):
        deed = chance.choice(["state", "state", "state", "shape", "edits", "edits", "reload", "put", "settings", "again"])
        if deed == "state":
            answer = self.post_changes(session, self.unsaid(chance, changed(chance, self.state)))
        elif deed == "shape":
            answer = self.post_changes(session, *self.own(chance))
        elif deed == "edits":
            answer = self.post_changes(session, {"edits": self.edits(chance)})
        elif deed == "reload":
            answer = self.post_changes(session, changed(chance, self.state), {"reload": "true"})
        elif deed == "put":
            answer = self.put_session(session, {"state": changed(chance, self.state), **self.settings})
        elif deed == "settings":
            self.settings = {"keep": chance.choice([[], ["expanded"]])}
            answer = self.put_session(session, {"ttl": chance.randint(600, 900), **self.settings})
        else:
            if chance.random() < 0.5:
                self.delete_session(session)
            answer = self.put_session(session, {"state": random_state(chance), **self.settings})
        self.assertIn(answer.status, (200, 201), (deed, answer))

    def unsaid(self, chance, state):
        """Written by an upstream that knows nothing of expansion."""
        state = copy.deepcopy(state)
        for each in items(state["sections"]) + state["sections"]:
            if chance.random() < 0.5:
                each.pop("expanded", None)
        return state

    def own(self, chance):
        """A foreign document, whose ids are sometimes repeated, and the place of its list."""
        rows = [{"key": f"k{chance.randrange(12)}", "type": chance.choice(["ad", "post", None]), "open": chance.choice([True, False, None]),
                 "replies": [{"key": f"r{number}{child}"} for child in range(chance.randint(0, 2))], "value": chance.choice(CONTENTS)}
                for number in range(chance.randint(0, 8))]
        query = {"itemsAt": "/data/rows", "idAt": "/key", "kindAt": "/type", "childrenAt": "/replies", "expandedAt": "/open",
                 "duplicates": "first", "rest": chance.choice(["true", "/next"])}
        return {"data": {"rows": rows}, "next": chance.randrange(3), "at": chance.random()}, query

    def edits(self, chance):
        found = [each["id"] for each in items(self.state["sections"])]
        heads = [each["id"] for each in self.state["sections"]]
        made = []
        if found:
            some = chance.sample(found, min(len(found), 2))
            made += [{"op": chance.choice(["reload", "reconfigure", "expand", "collapse"]), "items": some},
                     {"op": "update", "items": [{"id": some[0], "content": chance.choice(CONTENTS)}]},
                     {"op": "move", "items": some[:1], "at": chance.choice(["start", "end"])}]
        if heads:
            made += [{"op": chance.choice(["reload", "reconfigure", "expand", "collapse"]), "sections": [chance.choice(heads)]},
                     {"op": "insert", "items": [{"id": f"new{chance.randrange(10**9)}"}], "into": {"section": chance.choice(heads)}}]
        chance.shuffle(made)
        return made[:3] or [{"op": "insert", "sections": [{"id": "main", "items": ["one"]}]}]

    def test_each_reader_shows_what_the_server_holds(self):
        for dialect in DIALECTS:
            for seed in range(2):
                with self.subTest(dialect, seed=seed):
                    self.play(dialect, seed)
