"""Several sessions in one answer and on one stream, `GET /v1/changes`: CONTRACT §3."""

import hashlib
import random
import time
from urllib.parse import urlencode

from support.appliers import DIALECTS
from support.case import ServiceCase
from support.client import session_path
from support.clock import wait_for
from support.events import Stream
from support.replica import Replica
from support.states import canonical


class ManyCase(ServiceCase):
    def path(self, *bases, **query):
        return "/v1/changes?" + urlencode([("session", base) for base in bases] + list(query.items()))

    def many(self, *bases, **query):
        return self.get(self.path(*bases, **query))

    def answers(self, *bases, **query):
        answer = self.many(*bases, **query)
        self.assertStatus(answer, 200)
        self.assertEqual(set(answer.json), {"answers"})
        return answer.exact["answers"]

    def stream(self, *bases, query=None, **headers):
        stream = Stream(self.server, self.path(*bases, **(query or {})), None, headers)
        self.addCleanup(stream.close)
        return stream


class ManyAnswers(ManyCase):
    def test_each_as_it_would_come_alone(self):
        a, first = self.made(["a", "b"])
        b, _ = self.made(["x"])
        self.wrote(a, ["b", "c"])
        for dialect in DIALECTS:
            with self.subTest(dialect):
                found = self.answers(f"{a}@{first}", b, dialect=dialect)
                alone = [self.get_changes(a, {"since": first, "dialect": dialect}).exact, self.get_changes(b, {"dialect": dialect}).exact]
                self.assertEqual(found, alone)

    def test_one_that_is_missing_has_a_problem_in_its_place(self):
        a, first = self.made(["a"])
        found = self.answers("none", f"{a}@{first}")
        self.assertEqual((found[0]["session"], found[0]["problem"]["type"]), ("none", "/problems/session-not-found"))
        self.assertEqual((found[1]["session"], found[1]["changes"]), (a, []))

    def test_what_makes_it_too_long_comes_later(self):
        item = {"id": "a", "content": "x" * 9_000_000}
        names = [self.made([item])[0] for _ in range(3)]
        found = self.answers(*names)
        self.assertEqual(found[0]["reset"], "initial")
        self.assertEqual(found[1:], [{"session": name, "later": True} for name in names[1:]])
        self.assertIn("reset", self.answers(*names[1:])[0])

    def test_bad_queries_are_refused(self):
        a, first = self.made(["a"])
        for bases in ((), (a, a), (f"{a}@{first}", a), ("/",), ("",), ("..",)):
            self.assertProblem(self.many(*bases), 400, "malformed-request")
        self.assertProblem(self.many(f"{a}@x"), 400, "malformed-revision")
        self.assertProblem(self.many(f"{a}@{first}@{first}"), 400, "malformed-revision")
        self.assertProblem(self.many(a, wait=1), 400, "unknown-parameter")
        self.assertProblem(self.many(a, since=first), 400, "unknown-parameter")
        self.assertProblem(self.many(*[f"s{i}x" for i in range(65)]), 422, "limit-exceeded", limit=64, actual=65)
        self.assertEqual(len(self.answers(*[f"s{i}x" for i in range(64)])), 64)
        self.assertProblem(self.get(self.path(a), Accept="application/json-patch+json"), 406, "not-acceptable")
        self.assertProblem(self.request("POST", self.path(a), []), 405, "method-not-allowed")

    def test_smallest_and_counts(self):
        a, first = self.made(["a", "b"])
        self.wrote(a, ["c"])
        found = self.many(f"{a}@{first}", dialect="counts").json["answers"]
        self.assertEqual(found[0]["changes"], {"items": {"deleted": 2, "inserted": 1}})
        self.assertEqual(self.answers(f"{a}@{first}", maxChanges=1)[0]["reset"], "large")


class ManyStreams(ManyCase):
    def test_one_event_a_list_with_a_cursor_over_all(self):
        a, first = self.made(["a"])
        b, _ = self.made(["x"])
        stream = self.stream(f"{a}@{first}", b)
        self.assertEqual(stream.next().fields, {"retry": "1000"})
        event = stream.next_event()
        self.assertEqual((event.json["session"], event.json["reset"]), (b, "initial"))
        head = self.wrote(a, ["a", "b"])
        event = stream.next_event()
        self.assertEqual((event.json["session"], event.json["from"], event.json["to"]), (a, first, head))
        stream.close()
        b_head = self.wrote(b, ["y"])
        again = self.stream(f"{a}@{first}", b, Last_Event_ID=event.id)
        self.assertEqual(again.next().fields, {"retry": "1000"})
        self.assertEqual(again.next().fields, {"id": event.id})
        event = again.next_event()
        self.assertEqual((event.json["session"], event.json["to"]), (b, b_head))
        self.assertNotIn("reset", event.json)
        self.assertTrue(again.is_quiet(0.3))

    def test_a_cursor_of_other_lists_is_no_base(self):
        a, first = self.made(["a"])
        b, _ = self.made(["x"])
        for cursor in ("nonsense", "7=" + first, "0=x", "0=" + first + ",0=" + first, "", "0=" + first):
            stream = self.stream(f"{b}@", Last_Event_ID=cursor)
            self.assertEqual(stream.next_event().json["reset"], "unknown" if cursor else "initial")

    def test_one_that_ends_is_waited_for(self):
        a, first = self.made(["a"])
        b, second = self.made(["x"])
        stream = self.stream(f"{a}@{first}", f"{b}@{second}", "later")
        self.delete_session(a)
        event = stream.next_event()
        self.assertEqual((event.event, event.json["session"], event.json["type"]), ("end", a, "/problems/session-not-found"))
        self.wrote(b, ["y"])
        self.assertEqual(stream.next_event().json["session"], b)
        self.made(["b"], a)
        event = stream.next_event()
        self.assertEqual((event.json["session"], event.json["reset"]), (a, "unknown"))
        self.delete_session(a)
        self.assertEqual(stream.next_event().event, "end")
        back = self.made(["b"], a)[1]
        told = stream.next_event().json
        self.assertEqual((told["session"], told["from"], told["to"], told["changes"]), (a, event.json["to"], back, []))
        self.made(["l"], "later")
        event = stream.next_event()
        self.assertEqual((event.json["session"], event.json["reset"]), ("later", "initial"))
        self.delete_session("later")
        self.assertEqual(stream.next_event().event, "end")

    def test_spacing_is_of_each_list(self):
        names = [self.made(["a"]) for _ in range(2)]
        stream = self.stream(*[f"{name}@{revision}" for name, revision in names], query={"every": 1.5})
        (a, _), (b, _) = names
        self.wrote(a, ["b"])
        self.assertEqual(stream.next_event().json["session"], a)
        start = time.monotonic()
        self.wrote(a, ["c"])
        self.wrote(a, ["d"])
        self.wrote(b, ["b"])
        self.assertEqual(stream.next_event().json["session"], b)
        event = stream.next_event()
        self.assertEqual((event.json["session"], len(event.json["changes"])), (a, 2))
        self.assertGreater(time.monotonic() - start, 1)

    def test_sixty_four_lists_one_of_them_busy(self):
        made = [self.made([f"row{n}" for n in range(20)]) for _ in range(64)]
        stream = self.stream(*[f"{name}@{revision}" for name, revision in made], Accept_Encoding="gzip")
        busy = made[0][0]
        for step in range(20):
            self.wrote(busy, [f"row{n}" for n in range(20)] + [f"new{step}"])
            quiet = made[1 + step][0]
            self.wrote(quiet, ["one"])
            seen = set()
            while quiet not in seen:
                seen.add(stream.next_event().json["session"])
        self.assertLess(stream.octets, 16 * 1024)

    def test_replicas_follow_random_writes(self):
        chance = random.Random(5)
        for dialect in DIALECTS:
            with self.subTest(dialect):
                names = [self.new_name() for _ in range(6)]
                replicas = {name: Replica(dialect) for name in names}
                states = {}
                stream = self.stream(*names, query={"dialect": dialect})
                cursor = None
                for step in range(30):
                    name = chance.choice(names)
                    states[name] = {"sections": [{"id": "s", "items": chance.sample([f"i{n}" for n in range(12)], 6)}]}
                    self.assertIn(self.post_changes(name, states[name]).status, (200, 201))
                    if chance.random() < 0.2:
                        stream.close()
                        stream = self.stream(*names, query={"dialect": dialect}, Last_Event_ID=cursor)
                    while any(not replicas[name].shows(canonical(state)) for name, state in states.items()):
                        event = stream.next_event()
                        self.assertEqual(event.event, "changes", event)
                        cursor = event.id
                        self.assertNotEqual(replicas[event.json["session"]].receive(event.changeset), "ask")


class ManyByToken(ManyCase):
    options = ("--key", "all:" + hashlib.sha256(b"secret").hexdigest(), "--key", "some:" + hashlib.sha256(b"other").hexdigest() + ":a")

    def test_one_that_may_not_be_read_refuses_all(self):
        every = {"Authorization": "Bearer secret"}
        for name in ("a1", "a2", "b1"):
            self.assertStatus(self.post_changes(name, ["x"], **every), 201)
        self.assertStatus(self.get(self.path("a1", "b1"), **every), 200)
        some = {"Authorization": "Bearer other"}
        self.assertStatus(self.get(self.path("a1", "a2"), **some), 200)
        self.assertProblem(self.get(self.path("a1", "b1"), **some), 403, "forbidden")
        self.assertProblem(self.get(self.path("a1")), 401, "unauthenticated")
        token = self.request("POST", session_path("a1", "tokens"), {"scope": ["read"]}, **every).json["token"]
        mine = {"Authorization": f"Bearer {token}"}
        self.assertStatus(self.get(self.path("a1"), **mine), 200)
        self.assertProblem(self.get(self.path("a1", "a2"), **mine), 403, "forbidden")
        stream = self.stream("a1", "a2", **mine)
        self.assertEqual(stream.status, 403)


class Ended(ManyCase):
    # All bodies and streams together may take 8 MiB: 512 streams of 64 lists.
    options = ("--memory", "32MiB", "--max-body", "1MiB")

    def test_a_stream_that_is_over_takes_no_memory_any_more(self):
        names = [self.made(["a"])[0] for _ in range(64)]
        for _ in range(24):
            streams = [self.stream(*names) for _ in range(25)]
            self.assertEqual({stream.status for stream in streams}, {200})
            for stream in streams:
                stream.close()
            wait_for(lambda: "diffserver_streams 0" in self.get("/metrics").text, "a closed stream is not counted", 30, not_yet=())
        self.wrote(names[0], ["b"])
