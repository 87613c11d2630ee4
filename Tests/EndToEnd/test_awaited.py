"""Held requests and streams on a session that does not exist yet wait for it: CONTRACT §3."""

import threading
import time

from support.case import ServiceCase
from support.client import Client, session_path, target
from support.clock import wait_for
from support.events import Stream
from support.outside import figure, wait_until_held


def missing(name):
    return f'there is no session "{name}" yet; this stream waits for it'


class Awaited(ServiceCase):
    def setUp(self):
        self.asking = []

    def held(self, session, query):
        """A request that is held meanwhile; its answer comes from `answer()`."""
        found = []

        def ask():
            client = Client(self.server, 30)
            found.append(client.request("GET", target(session_path(session, "changes"), query)))
            client.close()

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        self.asking.append(thread)
        wait_until_held(self.server, sum(each.is_alive() for each in self.asking))
        self.assertEqual(found, [])

        def answer():
            thread.join(20)
            return found[0]
        return answer

    def stream(self, session, query=None, **headers):
        stream = Stream(self.server, session_path(session, "changes"), query, headers)
        self.addCleanup(stream.close)
        self.assertEqual(stream.status, 200)
        return stream

    def test_a_plain_read_is_404(self):
        for query in ({}, {"wait": 0}, {"since": "1-0123456789abcdef"}):
            self.assertProblem(self.get_changes("none", query), 404, "session-not-found")

    def test_a_held_request_gets_the_first_state(self):
        for make in (lambda name: self.made(["a"], name), lambda name: self.put_session(name, {"state": ["a"]})):
            name = self.new_name()
            answers = [self.held(name, {"wait": 20}) for _ in range(3)]
            make(name)
            for answer in answers:
                self.assertEqual((answer().status, answer().json["reset"]), (200, "initial"))
                self.assertEqual([item["id"] for item in answer().json["state"]["sections"][0]["items"]], ["a"])

    def test_a_held_request_in_vain_is_404_and_may_be_asked_again_at_once(self):
        start = time.monotonic()
        answer = self.get_changes(self.new_name(), {"wait": 1})
        self.assertProblem(answer, 404, "session-not-found")
        self.assertEqual(answer.headers["Retry-After"], "0")
        self.assertGreater(time.monotonic() - start, 0.9)

    def test_a_base_of_an_equal_state_is_usable(self):
        name, first = self.made(["a", "b"])
        self.delete_session(name)
        answer = self.held(name, {"since": first, "wait": 20})
        self.made(["b", "a"], name)
        self.assertEqual(answer().json["reset"], "unknown")

    def test_a_stream_gets_the_first_state_and_then_changes(self):
        name = self.new_name()
        stream = self.stream(name)
        self.assertEqual(stream.next().fields, {"retry": "1000"})
        self.made(["a"], name)
        event = stream.next_event()
        self.assertEqual((event.json["reset"], event.id), ("initial", event.json["to"]))
        self.wrote(name, ["a", "b"])
        self.assertEqual(len(stream.next_event().json["changes"]), 1)
        self.delete_session(name)
        self.assertEqual(stream.next_event().event, "end")
        self.assertIsNone(stream.next())

    def test_edits_make_no_session(self):
        name = self.new_name()
        stream = self.stream(name)
        self.assertEqual(stream.next().fields, {"retry": "1000"})
        self.assertEqual(stream.next().comments, [missing(name)])
        self.assertProblem(self.post_changes(name, {"edits": [{"op": "clear"}]}), 404, "session-not-found")
        self.assertTrue(stream.is_quiet(0.3))

    def test_a_comment_says_once_that_there_is_no_session(self):
        name = self.new_name()
        stream = self.stream(name)
        self.assertEqual([stream.next().lines for _ in range(2)], [["retry: 1000"], [f": {missing(name)}"]])
        self.made(["a"], name)
        self.assertEqual(stream.next().json["reset"], "initial")
        self.assertFalse([each for each in (self.stream(name).next(), self.stream(name).next_event()) if each.comments])

    def test_a_stream_of_several_says_which_are_not_there(self):
        here, gone, never = (self.new_name() for _ in range(3))
        for name in (here, gone):
            self.made(["a"], name)
        stream = Stream(self.server, "/v1/changes", [("session", each) for each in (here, never, gone)])
        self.addCleanup(stream.close)
        blocks = [stream.next() for _ in range(4)]
        self.assertEqual([each.comments for each in blocks if each.comments], [[missing(never)]])
        self.assertEqual(sorted(each.json["session"] for each in blocks if each.event), sorted((here, gone)))
        self.delete_session(gone)
        self.assertEqual([stream.next().event, stream.next().comments], ["end", [missing(gone)]])
        self.made(["b"], gone)
        self.assertEqual(stream.next().json["session"], gone)

    def test_whoever_leaves_leaves_nothing(self):
        name = self.new_name()
        for _ in range(3):
            self.stream(name).close()
        self.get_changes(name, {"wait": 1})
        self.assertProblem(self.get_session(name), 404, "session-not-found")
        self.made(["a"], name)
        self.assertEqual(self.stream(name).next_event().json["reset"], "initial")

    def test_a_session_that_is_waited_for_is_none(self):
        name = self.new_name()
        self.stream(name)
        self.assertProblem(self.get_session(name), 404, "session-not-found")
        self.assertProblem(self.get(session_path(name, "items"), {"id": "a"}), 404, "session-not-found")
        self.assertStatus(self.delete_session(name), 204)
        self.assertProblem(self.put_session(name, {"state": []}, If_Match='"1-0123456789abcdef"'), 412, "revision-mismatch", current=None)
        self.assertStatus(self.put_session(name, {"state": []}, If_None_Match="*"), 201)


class AwaitedLimits(ServiceCase):
    options = ("--max-streams", "2", "--max-sessions", "5")

    def test_as_many_wait_as_may_read(self):
        streams = [Stream(self.server, session_path("a", "changes")) for _ in range(2)]
        third = Stream(self.server, session_path("a", "changes"))
        self.assertEqual(third.status, 429)
        self.assertProblem(self.get_changes("a", {"wait": 1}), 429, "too-many-streams")
        for each in streams + [third]:
            each.close()

    def test_no_more_sessions_are_waited_for_than_there_may_be(self):
        streams = [Stream(self.server, session_path(f"b{i}", "changes")) for i in range(5)]
        self.assertProblem(self.get_changes("b5", {"wait": 1}), 503, "capacity")
        for each in streams:
            each.close()
        wait_for(lambda: figure(self.server, "diffserver_streams") == 0, "the streams have ended")
        self.assertProblem(self.get_changes("b5", {"wait": 1}), 404, "session-not-found")
