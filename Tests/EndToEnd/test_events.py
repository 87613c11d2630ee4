"""The event stream of a session's changes: CONTRACT §3."""

import time

from support.appliers import DIALECTS
from support.case import ServiceCase
from support.client import session_path
from support.clock import let_pass, pause, wait_for
from support.events import Stream
from support.replica import Replica
from support.states import canonical


class StreamCase(ServiceCase):
    def stream(self, session, query=None, **headers):
        stream = Stream(self.server, session_path(session, "changes"), query, headers)
        self.addCleanup(stream.close)
        return stream

    def opened(self, session, since, **query):
        """A stream from a usable base, after its primer."""
        stream = self.stream(session, {"since": since, **query})
        self.assertEqual(stream.status, 200)
        self.assertEqual(self.primer(stream).id, since)
        return stream

    def primer(self, stream):
        """`retry:` and an event with only `id:`, in one block or two."""
        fields = {}
        while "id" not in fields:
            block = stream.next()
            self.assertLessEqual(set(block.fields), {"retry", "id"}, block)
            fields.update(block.fields)
        self.assertIn("retry", fields)
        block.fields = fields
        return block

    def assertBatch(self, event, dialect="keyed"):
        """`event: changes`, `id` is its `to`."""
        self.assertEqual(set(event.fields), {"event", "id", "data"}, event)
        self.assertEqual(event.event, "changes")
        self.assertEqual(event.id, event.json["to"])
        self.assertEqual(event.json["dialect"], dialect)
        return event.json

    def assertEnd(self, event, problem):
        self.assertIsNotNone(event)
        self.assertEqual(event.event, "end")
        self.assertEqual(event.json["type"], f"/problems/{problem}", event)
        self.assertRegex(event.json["instance"], "^/v1/sessions/[^/]+/changes$", event)


class Streams(StreamCase):
    def test_the_head_of_the_answer(self):
        session, first = self.made(["a"])
        stream = self.stream(session, {"since": first})
        self.assertEqual(stream.headers["Content-Type"].split(";")[0], "text/event-stream")
        self.assertIn("no-store", stream.headers["Cache-Control"])
        self.assertEqual(stream.headers["Incremental"], "?1")
        self.assertRegex(self.primer(stream).retry, "^[0-9]+$")

    def test_a_primer_then_one_event_a_batch(self):
        session, first = self.made(["a"])
        stream = self.opened(session, first)
        second = self.wrote(session, ["a", "b"])
        changeset = self.assertBatch(stream.next_event())
        self.assertEqual((changeset["from"], changeset["to"]), (first, second))
        third = self.wrote(session, ["b"])
        changeset = self.assertBatch(stream.next_event())
        self.assertEqual((changeset["from"], changeset["to"]), (second, third))

    def test_what_is_behind_comes_at_once(self):
        session, first = self.made(["a"])
        head = self.wrote(session, ["b"])
        stream = self.opened(session, first)
        changeset = self.assertBatch(stream.next_event())
        self.assertEqual((changeset["from"], changeset["to"]), (first, head))

    def test_without_a_usable_base_a_reset_comes_first_and_no_primer(self):
        session, head = self.made(["a"])
        cases = (({}, {}, "initial"), ({"since": ""}, {}, "initial"), ({"since": "9-0123456789abcdef"}, {}, "unknown"),
                 ({}, {"Last-Event-ID": "9-0123456789abcdef"}, "unknown"), ({}, {"Last-Event-ID": "nonsense"}, "unknown"),
                 ({"since": head}, {"Last-Event-ID": "nonsense"}, "unknown"))
        for query, headers, reason in cases:
            with self.subTest(query, headers=headers):
                stream = self.stream(session, query, **headers)
                block = stream.next()
                while not block.event:
                    self.assertNotIn("id", block.fields)
                    block = stream.next()
                changeset = self.assertBatch(block)
                self.assertEqual((changeset["reset"], changeset["to"]), (reason, head))
                self.assertEqual(block.changeset["state"], canonical(["a"]))

    def test_last_event_id_beats_since(self):
        session, first = self.made(["a"])
        second = self.wrote(session, ["b"])
        self.wrote(session, ["c"])
        stream = self.stream(session, {"since": first}, **{"Last-Event-ID": second})
        self.assertEqual(self.primer(stream).id, second)
        self.assertEqual(self.assertBatch(stream.next_event())["from"], second)

    def test_a_malformed_since_is_400(self):
        session, _ = self.made(["a"])
        stream = self.stream(session, {"since": "x"})
        self.assertEqual((stream.status, stream.problem["type"]), (400, "/problems/malformed-revision"))

    def test_a_missing_session_is_waited_for(self):
        stream = self.stream("none")
        self.assertEqual(stream.status, 200)

    def test_a_reconnect_resumes_where_it_was(self):
        session, first = self.made(["a"])
        stream = self.opened(session, first)
        self.wrote(session, ["b"])
        last = stream.next_event().id
        stream.close()
        self.wrote(session, ["c"])
        again = self.stream(session, {"since": first}, **{"Last-Event-ID": last})
        self.assertEqual(self.primer(again).id, last)
        self.assertEqual(self.assertBatch(again.next_event())["from"], last)

    def test_an_equal_write_sends_nothing(self):
        session, first = self.made(["a"])
        stream = self.opened(session, first)
        self.wrote(session, ["a"])
        self.assertTrue(stream.is_quiet(0.4))

    def test_marks_are_sent(self):
        session, first = self.made(["a"])
        stream = self.opened(session, first)
        self.post_changes(session, {"edits": [{"op": "reconfigure", "items": ["a"]}]})
        changes = self.assertBatch(stream.next_event())["changes"]
        self.assertEqual([(each["op"], each["as"]) for each in changes], [("update", "reconfigure")])

    def test_a_put_sends_a_reset_or_a_changeset_to_the_new_head(self):
        session, first = self.made(["a"])
        stream = self.opened(session, first)
        head = self.put_session(session, {"state": ["b"]}).json["revision"]
        self.assertEqual(self.assertBatch(stream.next_event())["to"], head)

    def test_every_dialect_and_its_options(self):
        session, first = self.made(["a"])
        streams = {dialect: self.opened(session, first, dialect=dialect, content="patch", staging="compact")
                   for dialect in DIALECTS}
        self.wrote(session, ["b"])
        for dialect, stream in streams.items():
            with self.subTest(dialect):
                event = stream.next_event()
                self.assertBatch(event, dialect)
                rules = DIALECTS[dialect]
                how = {"compact": True} if dialect == "staged" else {}
                shown = rules.applied(rules.expected(canonical(["a"])), event.changeset["changes"], **how)
                self.assertEqual(shown, rules.expected(canonical(["b"])))

    def test_more_than_max_changes_is_a_large_reset(self):
        session, first = self.made(["a"])
        stream = self.opened(session, first, maxChanges=1)
        self.wrote(session, ["b"])
        self.assertEqual(self.assertBatch(stream.next_event())["reset"], "large")

    def test_writes_on_one_stream_are_paced_and_squashed(self):
        session, first = self.made(["0"])
        stream = self.opened(session, first)
        replica = Replica("keyed")
        replica.model, replica.revision = replica.rules.shown(canonical(["0"])), first
        start = time.monotonic()
        for number in range(1, 101):
            head = self.wrote(session, [str(number)])
        took = time.monotonic() - start
        events = 0
        while replica.revision != head:
            event = stream.next_event()
            events += 1
            self.assertEqual(replica.receive(event.changeset), "adopted")
        self.assertLessEqual(events, took / 0.05 + 3)
        self.assertTrue(replica.shows(canonical(["100"])))

    def test_a_commit_after_a_pause_is_sent_without_delay(self):
        session, first = self.made(["a"])
        stream = self.opened(session, first)
        head = self.wrote(session, ["b"])
        # Before the comment that would come after fifteen seconds.
        self.assertEqual(stream.next().id, head)

    def test_the_end_when_the_session_is_deleted(self):
        session, first = self.made(["a"])
        stream = self.opened(session, first)
        self.delete_session(session)
        self.assertEnd(stream.next_event(), "session-not-found")
        self.assertIsNone(stream.next())

    def test_a_slow_reader_gets_one_changeset_to_the_head(self):
        session, first = self.made(["0"])
        stream = self.opened(session, first)
        for number in range(1, 40):
            head = self.wrote(session, [{"id": "0", "content": f"{number}" * 20000}])
        last, events = None, 0
        while last != head:
            last = stream.next_event().id
            events += 1
        self.assertLess(events, 40)

    def test_content_with_line_breaks_stays_one_line(self):
        session, first = self.made(["a"])
        stream = self.opened(session, first)
        self.wrote(session, '[{"id":"a",\r\n "content": {\n"x":\t1\r}}]')
        event = stream.next_event()
        self.assertEqual(event.json["changes"][0]["items"][0]["content"], {"x": 1})

    def test_head_of_a_stream_has_no_body(self):
        session, first = self.made(["a"])
        connection = self.raw()
        connection.send(f"HEAD {session_path(session, 'changes')} HTTP/1.1\r\nHost: localhost\r\n"
                        "Accept: text/event-stream\r\nConnection: close\r\n\r\n")
        self.assertStatus(connection.answer("HEAD"), 200)
        self.assertTrue(connection.is_closed(3))

    def test_a_stream_over_http_1_0_is_not_chunked_and_ends_with_the_connection(self):
        session, first = self.made(["a"])
        connection = self.raw()
        connection.send(f"GET {session_path(session, 'changes')}?since={first} HTTP/1.0\r\nHost: localhost\r\n"
                        "Accept: text/event-stream\r\n\r\n")
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += connection.file.readline()
        self.assertNotIn(b"chunked", head.lower())
        self.assertEqual(connection.file.readline()[:6], b"retry:")
        self.delete_session(session)
        self.assertIn(b"event: end\n", connection.file.read())

    def test_a_stream_by_accept_among_others(self):
        session, first = self.made(["a"])
        stream = self.stream(session, {"since": first}, Accept="application/json;q=0.5, text/event-stream")
        self.assertEqual(stream.headers["Content-Type"].split(";")[0], "text/event-stream")
        answer = self.get_changes(session, {"since": first}, Accept="application/json, text/event-stream;q=0.5")
        self.assertEqual(answer.media_type, "application/json")


class Heartbeat(StreamCase):
    def test_a_comment_comes_every_fifteen_seconds(self):
        session, first = self.made(["a"])
        stream = self.opened(session, first)
        start = time.monotonic()
        block = stream.next(25)
        self.assertTrue(block.comments and not block.fields, block)
        self.assertGreater(time.monotonic() - start, 10)
        self.assertIsNone(block.event)


class Expiry(StreamCase):
    def test_an_open_stream_keeps_a_session_that_would_expire(self):
        session = self.new_name()
        first = self.put_session(session, {"state": ["a"], "ttl": 1}).json["revision"]
        unread = self.new_name()
        self.put_session(unread, {"state": ["a"], "ttl": 1})
        stream = self.opened(session, first)
        let_pass(2.5, "time to live")
        self.assertProblem(self.get_session(unread), 404, "session-not-found")
        self.assertStatus(self.get_session(session), 200)
        stream.close()

    def test_a_held_poll_keeps_it_too(self):
        session = self.new_name()
        first = self.put_session(session, {"state": ["a"], "ttl": 1}).json["revision"]
        answer = self.get_changes(session, {"since": first, "wait": 3})
        self.assertStatus(answer, 200)
        self.assertStatus(self.get_session(session), 200)


class Life(StreamCase):
    options = ("--stream-life", "1s")

    def test_a_stream_ends_after_its_life_and_its_reader_resumes(self):
        session, first = self.made(["a"])
        start = time.monotonic()
        stream = self.opened(session, first)
        self.assertIsNone(stream.next(), "a break says nothing, so that readers resume at once")
        self.assertGreater(time.monotonic() - start, 0.7)
        head = self.wrote(session, ["b"])
        self.assertEqual(self.stream(session, None, Last_Event_ID=first).next_event().id, head)


class Lives(StreamCase):
    options = ("--stream-life", "1s", "--max-streams", "2")

    def test_a_stream_that_ended_is_not_counted_any_more(self):
        session, first = self.made(["a"])
        for _ in range(3):
            streams = [self.opened(session, first) for _ in range(2)]
            for stream in streams:
                self.assertIsNone(stream.next())
        self.assertIn("diffserver_streams 0", self.get("/metrics").text)


class TooMany(StreamCase):
    options = ("--max-streams", "2")

    def test_one_stream_more_than_the_limit_is_429_with_retry_after(self):
        session, first = self.made(["a"])
        streams = [self.opened(session, first) for _ in range(2)]
        refused = self.stream(session, {"since": first})
        self.assertEqual((refused.status, refused.problem["type"]), (429, "/problems/too-many-streams"))
        self.assertIn("Retry-After", refused.headers)
        answer = self.get_changes(session, {"since": first, "wait": 5})
        self.assertProblem(answer, 429, "too-many-streams")
        self.assertStatus(self.get_changes(session, {"since": first}), 200)
        other, head = self.made(["a"])
        self.opened(other, head)
        streams[0].close()
        wait_for(lambda: self.stream(session, {"since": first}).status == 200, "a closed stream is not counted", 30, not_yet=())


class Readers(StreamCase):
    """Readers that go away, and readers that do not read."""

    options = ("--write-stall", "2s")

    def test_openings_and_closings_leak_no_descriptors(self):
        session, first = self.made(["a"])

        def open_and_close(times):
            for number in range(times):
                stream = Stream(self.server, session_path(session, "changes"), {"since": first})
                if number % 2:
                    stream.next()
                if number % 3 == 0:
                    stream.connection.socket.shutdown(1)
                stream.close()

        open_and_close(50)
        wait_for(lambda: len(self.server.sockets()) <= 3, "the first have gone")
        before = self.server.descriptors()
        open_and_close(1000)
        wait_for(lambda: self.server.descriptors() <= before + 2, lambda: f"{self.server.descriptors()} descriptors after {before}", 5)

    def test_readers_that_disconnect_are_gone_within_a_second(self):
        session, first = self.made(["a"])
        before = self.server.sockets()
        streams = [self.opened(session, first) for _ in range(50)]
        polls = [self.raw() for _ in range(50)]
        for poll in polls:
            poll.send(f"GET {session_path(session, 'changes')}?since={first}&wait=30 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_for(lambda: len(self.server.sockets() - before) >= 100, "all read")
        theirs = self.server.sockets() - before
        for each in streams + polls:
            each.close()
        wait_for(lambda: not self.server.sockets() & theirs, "all have gone", 1.5)

    def test_a_reader_that_does_not_read_is_closed_and_costs_no_memory_that_grows(self):
        session, first = self.made(["a"])
        before = self.server.sockets()
        stalled = Stream(self.server, session_path(session, "changes"), {"since": first})
        self.addCleanup(stalled.close)
        theirs = self.server.sockets() - before
        self.assertEqual(len(theirs), 1)
        rounds = 0
        deadline = time.monotonic() + 30
        sizes = []
        while self.server.sockets() & theirs and time.monotonic() < deadline:
            self.wrote(session, [{"id": "a", "content": str(rounds % 10) * 1_000_000}])
            rounds += 1
            sizes.append(self.server.resident_bytes())
            pause(0.03, "the writer")
        self.assertFalse(self.server.sockets() & theirs, "the stalled reader is still there")
        # A queue would hold a megabyte per write; on a busy machine there may be too few writes to tell.
        some = min(len(sizes), 8)
        self.assertLess(max(sizes) - max(sizes[:some]), 32 << 20)
