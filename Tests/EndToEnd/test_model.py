"""Three clients and one server, with messages dropped, repeated, delayed and reordered: all converge.

Each client follows the rule of CONTRACT §4 and nothing else. Writers are clients too: what they write may arrive, or
not, or arrive and its answer be lost. Whatever the network did, once it is quiet every client asks as the rule says
until `to` is its own, and then shows what the server holds.
"""

import random

from support.appliers import DIALECTS
from support.case import ServiceCase
from support.client import session_path
from support.clock import pause_at_random
from support.jsontext import exact, text
from support.readers import BreakingReader, PollingReader, problems
from support.replica import Replica
from support.states import canonical, changed, random_state


class Network:
    """Answers under way to one client."""

    def __init__(self, chance):
        self.chance = chance
        self.waiting = []

    def carry(self, changeset):
        fate = self.chance.random()
        if fate < 0.2:
            return
        self.waiting.append(changeset)
        if fate < 0.35:
            self.waiting.append(changeset)

    def delivered(self):
        """Some of those under way, in any order."""
        self.chance.shuffle(self.waiting)
        number = self.chance.randint(0, len(self.waiting))
        now, self.waiting = self.waiting[:number], self.waiting[number:]
        return now


class ModelCase(ServiceCase):
    options = ("--history-revisions", "6")

    def asked(self, session, replica, **query):
        since = {} if replica.revision is None else {"since": replica.revision}
        answer = self.get_changes(session, {"dialect": replica.dialect, **since, **query})
        self.assertStatus(answer, 200)
        return answer.exact

    def settled(self, session, replica):
        """Asks by the rule until it has reached the head."""
        for _ in range(5):
            changeset = self.asked(session, replica)
            verdict = replica.receive(changeset)
            self.assertIn(verdict, ("adopted", "known"))
            if changeset["to"] == replica.revision:
                return
        self.fail("asking again and again does not lead to the head")

    def assertConverged(self, session, replicas):
        state = self.get_session(session)
        for replica in replicas:
            self.settled(session, replica)
            self.assertEqual(replica.revision, state.json["revision"])
            self.assertTrue(replica.shows(state.exact["state"]), (replica.dialect, replica.model, state.text))


class Model(ModelCase):
    def play(self, seed, dialects):
        chance = random.Random(seed)
        state = random_state(chance)
        session, _ = self.made(state)
        replicas = [Replica(dialect) for dialect in dialects]
        networks = [Network(chance) for _ in dialects]
        for _ in range(25):
            number = chance.randrange(3)
            replica, network = replicas[number], networks[number]
            deed = chance.random()
            if deed < 0.45:
                state = changed(chance, state) if chance.random() < 0.9 else random_state(chance)
                query = {"dialect": replica.dialect}
                if replica.revision is not None:
                    query["since"] = replica.revision
                if chance.random() < 0.2:
                    query["maxChanges"] = 2
                if chance.random() < 0.05:
                    self.put_session(session, {"state": state})
                else:
                    network.carry(self.post_changes(session, state, query).exact)
            else:
                network.carry(self.asked(session, replica))
            for changeset in network.delivered():
                if replica.receive(changeset) == "ask":
                    network.carry(self.asked(session, replica))
        for replica, network in zip(replicas, networks, strict=True):
            for changeset in network.waiting:
                replica.receive(changeset)
        self.assertConverged(session, replicas)

    def test_clients_of_one_dialect_converge(self):
        for dialect in DIALECTS:
            for seed in range(8):
                with self.subTest(dialect, seed=seed):
                    self.play(seed, [dialect] * 3)

    def test_clients_of_mixed_dialects_converge(self):
        for seed in range(20):
            chance = random.Random(seed)
            dialects = [chance.choice(list(DIALECTS)) for _ in range(3)]
            with self.subTest(seed, dialects=dialects):
                self.play(100 + seed, dialects)

    def test_a_session_that_is_lost_and_made_again(self):
        for dialect in DIALECTS:
            with self.subTest(dialect):
                chance = random.Random(3)
                state = random_state(chance)
                session, _ = self.made(state)
                replicas = [Replica(dialect) for _ in range(3)]
                for replica in replicas:
                    self.settled(session, replica)
                self.delete_session(session)
                self.assertProblem(self.get_changes(session, {"since": replicas[0].revision}), 404, "session-not-found")
                state = changed(chance, state)
                answer = self.post_changes(session, state, {"since": replicas[0].revision, "dialect": dialect})
                self.assertEqual(replicas[0].receive(answer.exact), "adopted")
                self.assertConverged(session, replicas)


class LosingWriters(ModelCase):
    """Three writers whose requests or answers are lost; each repeats its write until it knows the outcome."""

    def lost_or(self, chance, send):
        """Before the server, after it, or not at all."""
        fate = chance.random()
        if fate < 0.25:
            return None
        answer = send()
        return None if fate < 0.5 else answer

    def test_edits_by_idempotency_key_are_made_exactly_once(self):
        for dialect in DIALECTS:
            with self.subTest(dialect):
                chance = random.Random(dialect)
                session, _ = self.made([])
                replicas = [Replica(dialect) for _ in range(3)]
                written = []
                for number in range(24):
                    replica = replicas[number % 3]
                    body = {"edits": [{"op": "insert", "items": [{"id": number}], "at": chance.choice(["start", "end"])}]}
                    answer = None
                    while answer is None:
                        query = {"dialect": dialect, **({"since": replica.revision} if replica.revision else {})}
                        answer = self.lost_or(chance, lambda body=body, query=query, number=number: self.post_changes(
                            session, body, query, Idempotency_Key=f"write-{number}"))
                    self.assertStatus(answer, 200)
                    if replica.receive(answer.exact) == "ask":
                        self.settled(session, replica)
                    written.append(number)
                items = self.get_session(session).json["state"]["sections"][0]["items"]
                self.assertEqual(sorted(each["id"] for each in items), written)
                self.assertConverged(session, replicas)

    def test_states_by_if_match_lose_no_update(self):
        for dialect in DIALECTS:
            with self.subTest(dialect):
                chance = random.Random(dialect)
                session, _ = self.made([])
                replicas = [Replica(dialect) for _ in range(3)]
                for number in range(18):
                    replica = replicas[chance.randrange(3)]
                    self.add(chance, session, replica, number)
                items = self.get_session(session).json["state"]["sections"][0]["items"]
                self.assertEqual(sorted(each["id"] for each in items), list(range(18)))
                self.assertConverged(session, replicas)

    def add(self, chance, session, replica, number):
        """Reads, adds one item and writes on the condition that nobody wrote between; repeats what was lost."""
        while True:
            read = self.get_session(session)
            base = read.json["revision"]
            state = exact(text(read.exact["state"]))
            state["sections"][0]["items"].append({"id": number})
            if chance.random() < 0.3:
                self.interfere(session, chance)
            answer = None
            while answer is None:
                answer = self.lost_or(chance, lambda state=state, base=base: self.post_changes(
                    session, state, {"dialect": replica.dialect, "since": replica.revision or ""}, If_Match=f'"{base}"'))
            if answer.status == 412:
                self.assertProblem(answer, 412, "revision-mismatch")
                continue
            self.assertStatus(answer, 200)
            if replica.receive(answer.exact) == "ask":
                self.settled(session, replica)
            return

    def interfere(self, session, chance):
        edits = [{"op": "update", "sections": [{"id": "main", "content": chance.randrange(1000)}]}]
        self.assertStatus(self.post_changes(session, {"edits": edits}), 200)


class Following(ModelCase):
    """Readers that follow while a writer continues."""

    FINAL = {"sections": [{"id": "final", "items": ["last"]}]}

    def follow(self, kind, dialects):
        chance = random.Random(5)
        state = random_state(chance)
        session, _ = self.made(state)
        path = session_path(session, "changes")
        readers = [kind(self.server, path, dialect, canonical(self.FINAL), seed) for seed, dialect in enumerate(dialects)]
        for each in readers:
            each.start()
        for number in range(60):
            state = changed(chance, state)
            if number % 20 == 19:
                self.put_session(session, {"state": state})
            else:
                self.post_changes(session, state, Prefer="return=minimal")
            pause_at_random(chance, 0.04)
        self.wrote(session, self.FINAL)
        self.assertEqual(problems(readers), [])

    def test_event_streams_that_break_and_resume_converge(self):
        self.follow(BreakingReader, list(DIALECTS) * 2)

    def test_held_polls_converge(self):
        self.follow(PollingReader, DIALECTS)
