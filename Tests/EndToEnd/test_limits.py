"""Each limit of CONTRACT §8 at the limit and one past it, with small limits."""

import gzip
import json
import os
import socket
import ssl
import tempfile
import time

from support.case import ServiceCase
from support.client import RawConnection, session_path
from support.clock import let_pass, pause, wait_for
from support.events import Stream
from support.server import Server, certify
from support.states import canonical
from support.store import memory_only


class Heads(ServiceCase):
    options = ("--max-request-line", "200", "--max-headers", "1000", "--max-fields", "10")

    def answer(self, target="/livez", fields=()):
        connection = self.raw()
        connection.send(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n" + "".join(f"{each}\r\n" for each in fields) + "\r\n")
        return connection, connection.answer()

    def refused(self, connection, answer, status, name):
        self.assertEqual((answer.status, answer.json["type"]), (status, f"/problems/{name}"), answer)
        self.assertTrue(connection.is_closed())

    def test_the_request_line(self):
        overhead = len("GET /problems/ HTTP/1.1")
        self.assertStatus(self.answer("/problems/" + "x" * (198 - overhead))[1], 404)
        self.refused(*self.answer("/problems/" + "x" * (201 - overhead)), 414, "uri-too-long")
        self.refused(*self.answer("/" + "x" * 5000), 414, "uri-too-long")

    def test_the_size_of_headers(self):
        self.assertStatus(self.answer(fields=["X: " + "x" * 900])[1], 200)
        self.refused(*self.answer(fields=["X: " + "x" * 1000]), 431, "headers-too-large")

    def test_the_number_of_fields(self):
        self.assertStatus(self.answer(fields=[f"X{n}: x" for n in range(9)])[1], 200)
        self.refused(*self.answer(fields=[f"X{n}: x" for n in range(10)]), 431, "headers-too-large")


class LargestHeads(ServiceCase):
    """The largest heads that the limits allow, in clear text and over TLS."""

    LARGEST = 256 << 10
    options = ("--max-request-line", "256KiB", "--max-headers", "256KiB")

    def head(self, line, headers, method="GET"):
        """A request of `/problems/` with a line and headers of these sizes in bytes."""
        start = f"{method} /problems/"
        fields = "Host: localhost\r\nX: "
        return f"{start}{'x' * (line - len(start) - 9)} HTTP/1.1\r\n{fields}{'y' * (headers - len(fields) - 2)}\r\n\r\n"

    def check(self, connect):
        largest = self.head(self.LARGEST, self.LARGEST)
        for gap in (0, 0.002):
            connection = connect()
            # Pipelines three, a small one and one with a body: all are answered in order.
            body = b'{"old":[],"new":["a"]}'
            data = largest.encode() * 3 + self.head(100, 100).encode()
            data += b"POST /v1/diff HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body) + largest.encode()
            for start in range(0, len(data), 50_000) if gap else [0]:
                connection.send(data[start:start + 50_000] if gap else data)
                pause(gap, "a slow client")
            self.assertEqual([connection.answer().status for _ in range(6)], [404, 404, 404, 404, 200, 404])
        for line, headers, status in ((1, 0, 414), (0, 1, 431), (1, 1, 414)):
            connection = connect()
            connection.send(self.head(self.LARGEST + line, self.LARGEST + headers))
            self.assertEqual(connection.answer().status, status)

    def test_in_clear(self):
        self.check(self.raw)

    def test_over_tls(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        certify(folder, days=1)
        server = Server(*self.options, "--tls-certificate", f"{folder}/certificate", "--tls-key", f"{folder}/key")
        self.addCleanup(server.stop)

        def connect():
            plain = socket.create_connection((server.host, server.port), 20)
            connection = RawConnection.to(ssl._create_unverified_context().wrap_socket(plain))
            self.addCleanup(connection.socket.close)
            self.addCleanup(connection.close)
            return connection
        server.host, server.port = "127.0.0.1", int(server.address.rsplit(":", 1)[1])
        self.check(connect)


class Timeouts(ServiceCase):
    options = ("--head-timeout", "1s", "--body-window", "1s", "--body-rate", "1KiB", "--idle-timeout", "1s")

    def test_headers_that_do_not_come_are_408_and_close(self):
        connection = self.raw()
        connection.send("GET /livez HTTP/1.1\r\nHost: localh")
        answer = connection.answer()
        self.assertEqual((answer.status, answer.json["type"]), (408, "/problems/request-timeout"))
        self.assertTrue(connection.is_closed())

    def test_headers_that_trickle_are_408_too(self):
        connection = self.raw()
        connection.send("GET /livez HTTP/1.1\r\n")
        with self.assertRaises(OSError):
            for _ in range(300):
                connection.send("X: y\r\n")
                pause(0.2, "a slow client")

    def test_a_body_that_does_not_keep_up_is_408_and_closes(self):
        connection = self.raw()
        connection.send("POST /v1/diff HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n[")
        answer = connection.answer()
        self.assertEqual((answer.status, answer.json["type"]), (408, "/problems/request-timeout"))
        self.assertTrue(connection.is_closed())

    def test_a_body_that_keeps_up_is_taken(self):
        connection = self.raw()
        body = json.dumps({"old": [], "new": [{"id": "a", "content": "x" * 8000}]}).encode()
        connection.send(f"POST /v1/diff HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n")
        for start in range(0, len(body), 1000):
            connection.send(body[start:start + 1000])
            pause(0.2, "a slow client")
        self.assertStatus(connection.answer(), 200)

    def test_an_idle_connection_is_closed_without_an_answer(self):
        connection = self.raw()
        connection.send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertStatus(connection.answer(), 200)
        connection.socket.settimeout(5)
        self.assertEqual(connection.file.read(), b"")

    def test_an_open_stream_and_a_held_poll_are_not_idle(self):
        session, first = self.made(["a"])
        stream = Stream(self.server, session_path(session, "changes"), {"since": first})
        self.addCleanup(stream.close)
        poll = self.raw()
        poll.send(f"GET {session_path(session, 'changes')}?since={first}&wait=20 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        let_pass(2.5, "idle timeout")
        self.wrote(session, ["b"])
        self.assertEqual(stream.next_event().event, "changes")
        self.assertStatus(poll.answer(), 200)


class Bodies(ServiceCase):
    options = ("--max-body", "1000")

    def body(self, size):
        start = b'{"old":[],"new":['
        return start + b" " * (size - len(start) - 2) + b"]}"

    def test_a_body_of_the_limit_and_one_byte_more(self):
        self.assertStatus(self.request("POST", "/v1/diff", self.body(1000)), 200)
        answer = self.request("POST", "/v1/diff", self.body(1001))
        self.assertEqual((answer.status, answer.json["type"]), (413, "/problems/content-too-large"), answer)
        self.assertEqual(answer.json["limit"], 1000)

    def test_a_chunked_body(self):
        for size, status in ((1000, 200), (1001, 413)):
            with self.subTest(size):
                connection = self.raw()
                connection.send("POST /v1/diff HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
                body = self.body(size)
                for part in (body[:600], body[600:]):
                    connection.send(f"{len(part):x}\r\n".encode() + part + b"\r\n")
                connection.send("0\r\n\r\n")
                self.assertStatus(connection.answer(), status)

    def test_a_body_inflated(self):
        for size, status in ((1000, 200), (1001, 413), (50_000_000, 413)):
            with self.subTest(size):
                body = gzip.compress(self.body(size)[:size])
                self.assertStatus(self.request("POST", "/v1/diff", body, Content_Encoding="gzip"), status)
                connection = self.raw()
                connection.send("POST /v1/diff HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n")
                connection.send(f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n")
                self.assertStatus(connection.answer(), status)


class States(ServiceCase):
    options = ("--max-sections", "3", "--max-items", "5", "--max-nesting", "2", "--max-edits", "3", "--max-depth", "16")

    def assertExceeded(self, answer, limit):
        problem = self.assertProblem(answer, 422, "limit-exceeded")
        self.assertEqual(problem.get("limit"), limit, answer)

    def both(self, good, bad, limit):
        session = self.new_name()
        self.assertStatus(self.put_session(session, {"state": good}), 201)
        self.assertStatus(self.diff([], good), 200)
        self.assertExceeded(self.put_session(session, {"state": bad}), limit)
        self.assertExceeded(self.post_changes(session, bad), limit)
        self.assertExceeded(self.diff([], bad), limit)
        self.assertEqual(self.get_session(session).exact["state"], canonical(good))

    def test_sections(self):
        three, four = ({"sections": [{"id": n, "items": []} for n in range(count)]} for count in (3, 4))
        self.both(three, four, 3)

    def test_items_children_included(self):
        self.both([1, 2, {"id": 3, "items": [4, 5]}], [1, 2, {"id": 3, "items": [4, 5, 6]}], 5)
        self.both([1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6], 5)

    def test_nesting(self):
        self.both([{"id": 1, "items": [2]}], [{"id": 1, "items": [{"id": 2, "items": [3]}]}], 2)

    def test_edits(self):
        session, _ = self.made(["a"])
        edits = [{"op": "expand", "items": ["a"]}] * 4
        self.assertStatus(self.post_changes(session, {"edits": edits[:3]}), 200)
        self.assertExceeded(self.post_changes(session, {"edits": edits}), 3)

    def test_what_edits_make_is_bound_too(self):
        session, head = self.made([1, 2, 3, {"id": 4, "items": [5]}])
        cases = [({"op": "insert", "items": [{"id": 6}]}, 5), ({"op": "move", "items": [3], "into": {"item": 5}}, 2)]
        for edit, limit in cases:
            with self.subTest(edit):
                self.assertExceeded(self.post_changes(session, {"edits": [edit]}), limit)
        self.post_changes(session, {"edits": [{"op": "insert", "sections": [{"id": n, "items": []} for n in (1, 2)]}]})
        answer = self.post_changes(session, {"edits": [{"op": "insert", "sections": [{"id": 3, "items": []}]}]})
        self.assertExceeded(answer, 3)

    def test_the_depth_of_json(self):
        for depth, status in ((14, 201), (15, 400)):
            with self.subTest(depth):
                content = "[" * depth + "]" * depth
                answer = self.post_changes(self.new_name(), '[{"id":1,"content":' + content + "}]")
                self.assertStatus(answer, status)
                if status == 400:
                    self.assertProblem(answer, 400, "malformed-json")

    def test_a_depth_without_end_is_refused_in_time(self):
        answer = self.post_changes(self.new_name(), "[" * 1_000_000)
        self.assertProblem(answer, 400, "malformed-json")


class Defaults(ServiceCase):
    """The default limits."""

    def test_depth_64_nesting_8_edits_1000_sections_10000(self):
        session, _ = self.made([])

        def nested(levels):
            item = {"id": levels}
            for level in range(levels - 1, 0, -1):
                item = {"id": level, "items": [item]}
            return [item]

        def deep(levels):
            return '[{"id":1,"content":' + "[" * (levels - 2) + "]" * (levels - 2) + "}]"

        edits = [{"op": "delete", "items": [1]}] * 1001
        sections = [{"id": n, "items": []} for n in range(10001)]
        for good, bad, status in ((nested(8), nested(9), 422), (deep(64), deep(65), 400),
                                  ({"edits": edits[:-1]}, {"edits": edits}, 422),
                                  ({"sections": sections[:-1]}, {"sections": sections}, 422)):
            self.assertStatus(self.post_changes(session, good, Prefer="return=minimal"), 200)
            self.assertStatus(self.post_changes(session, bad, Prefer="return=minimal"), status)

    def test_a_request_line_of_16_kib_headers_of_32_kib_100_fields(self):
        def sent(target="/livez", fields=()):
            connection = self.raw()
            connection.send(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n" + "".join(f"{each}\r\n" for each in fields) + "\r\n")
            return connection, connection.answer()

        line = 16_384 - len("GET /livez? HTTP/1.1\r\n")
        many = [f"X{number}: x" for number in range(100)]
        for good, bad, status in (((f"/livez?{'x' * line}",), (f"/livez?{'x' * (line + 3)}",), 414),
                                  (("/livez", ["X: " + "x" * 32600]), ("/livez", ["X: " + "x" * 32800]), 431),
                                  (("/livez", many[:99]), ("/livez", many), 431)):
            with self.subTest(status):
                self.assertStatus(sent(*good)[1], 200)
                connection, answer = sent(*bad)
                self.assertStatus(answer, status)
                self.assertTrue(connection.is_closed())

    def test_a_body_of_16_mib_on_the_wire_and_inflated(self):
        limit = 16 << 20
        digits = os.urandom(limit // 2).hex().encode()
        start, end = b'{"old":[],"new":[{"id":1,"content":"', b'"}]}'
        body = start + digits[:limit - len(start + end)] + end
        self.assertEqual(len(body), limit)
        self.assertStatus(self.request("POST", "/v1/diff", body), 200)
        self.assertStatus(self.request("POST", "/v1/diff", gzip.compress(body, 1), Content_Encoding="gzip"), 200)
        packed = gzip.compress(body + b" ", 1)
        inflated = self.request("POST", "/v1/diff", packed, Content_Encoding="gzip")
        self.assertProblem(inflated, 413, "content-too-large", limit=limit)
        connection = self.raw()
        connection.send(f"POST /v1/diff HTTP/1.1\r\nHost: localhost\r\nContent-Length: {limit + 1}\r\n\r\n")
        self.assertProblem(connection.answer(), 413, "content-too-large", limit=limit)

    def test_a_body_that_becomes_much_more_than_was_sent(self):
        for size, status in ((200 << 10, 200), (1 << 20, 413), (17 << 20, 413)):
            body = gzip.compress(b'{"old":[],"new":[' + b" " * size + b"]}")
            answer = self.request("POST", "/v1/diff", body, Content_Encoding="gzip")
            if status == 413:
                problem = self.assertProblem(answer, 413, "content-too-large")
                self.assertIn("64 times", problem["detail"])
            else:
                self.assertStatus(answer, status)

    def test_a_hundred_thousand_items(self):
        session, _ = self.made([])
        self.assertStatus(self.post_changes(session, list(range(100_000)), Prefer="return=minimal"), 200)
        answer = self.post_changes(session, list(range(100_001)))
        self.assertEqual(self.assertProblem(answer, 422, "limit-exceeded")["limit"], 100_000)


class Connections(ServiceCase):
    options = ("--max-connections", "4", "--loops", "1")

    def test_one_connection_more_is_503_and_close(self):
        self.client.close()
        open_ones = []
        for _ in range(4):
            connection = self.raw()
            connection.send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertStatus(connection.answer(), 200)
            open_ones.append(connection)
        past = self.raw()
        past.send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try:
            answer = past.answer()
            self.assertEqual((answer.status, answer.json["type"]), (503, "/problems/capacity"), answer)
            self.assertIn("Retry-After", answer.headers)
        except ConnectionResetError:
            pass
        self.assertTrue(past.is_closed())
        past.close()
        open_ones[0].close()

        def is_served():
            with RawConnection(self.server) as again:
                again.send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
                return again.answer().status == 200
        wait_for(is_served, "there is room for one more")


class Sessions(ServiceCase):
    options = ("--max-sessions", "3")

    def is_here(self, session):
        """A way to ask without using it: a 412 or 404 of a write that cannot succeed tells."""
        return self.get_session(session).status == 200

    @memory_only
    def test_the_least_recently_used_session_goes_and_those_with_streams_last(self):
        one, first = self.made(["1"])
        two, _ = self.made(["2"])
        three, _ = self.made(["3"])
        self.get_session(one)
        self.made(["4"])
        self.assertEqual([self.is_here(each) for each in (two, one, three)], [False, True, True])

        stream = Stream(self.server, session_path(one, "changes"), {"since": first})
        self.addCleanup(stream.close)
        stream.next()
        for number in range(5, 10):
            self.made([str(number)])
        self.assertTrue(self.is_here(one))

    @memory_only
    def test_when_streams_are_everywhere_the_least_recent_of_them_goes_or_503(self):
        streams = []
        for number in range(3):
            session, first = self.made([str(number)])
            stream = Stream(self.server, session_path(session, "changes"), {"since": first})
            self.addCleanup(stream.close)
            stream.next()
            streams.append((session, stream))
        answer = self.post_changes(self.new_name(), ["more"])
        if answer.status == 503:
            self.assertProblem(answer, 503, "capacity")
            self.assertIn("Retry-After", answer.headers)
        else:
            self.assertStatus(answer, 201)
            event = streams[0][1].next_event()
            self.assertEqual(event.event, "end")
            self.assertFalse(self.is_here(streams[0][0]))
            self.assertTrue(self.is_here(streams[1][0]) and self.is_here(streams[2][0]))


class EvictedWithReaders(ServiceCase):
    options = ("--max-sessions", "2")

    @memory_only
    def test_readers_of_a_session_that_made_room_hear_the_end_with_its_problem(self):
        readers = []
        for number in range(2):
            session, first = self.made([str(number)])
            stream = Stream(self.server, session_path(session, "changes"), {"since": first})
            self.addCleanup(stream.close)
            self.assertIsNone(stream.next().event)
            readers.append((session, stream))
        self.made(["more"])
        event = readers[0][1].next_event()
        self.assertEqual((event.event, event.json["type"], event.json["status"]), ("end", "/problems/session-not-found", 404))
        self.assertIsNone(readers[0][1].next())
        self.assertProblem(self.get_session(readers[0][0]), 404, "session-not-found")
        self.assertStatus(self.get_session(readers[1][0]), 200)


class Memory(ServiceCase):
    options = ("--memory", "2MiB")

    def state(self, kilobytes, mark=""):
        return [{"id": f"{mark}{number}", "content": "x" * 1000} for number in range(kilobytes)]

    @memory_only
    def test_the_budget_holds_and_the_least_recently_used_go(self):
        names = [self.new_name() for _ in range(40)]
        for name in names:
            self.assertStatus(self.post_changes(name, self.state(200), Prefer="return=minimal"), 201)
        here = [self.get_session(name).status == 200 for name in names]
        self.assertTrue(here[-1])
        self.assertFalse(here[0])
        self.assertLessEqual(sum(here), 10)
        self.assertEqual(here, sorted(here), "an older session outlived a newer one")

    def test_a_state_larger_than_the_budget_is_503_and_changes_nothing(self):
        session, head = self.made(["a"])
        answer = self.post_changes(session, self.state(4000))
        self.assertProblem(answer, 503, "capacity")
        self.assertIn("Retry-After", answer.headers)
        self.assertProblem(self.post_changes(self.new_name(), self.state(4000)), 503, "capacity")


class ResidentMemory(ServiceCase):
    options = ("--memory", "24MiB")

    @memory_only
    def test_the_process_stays_near_its_budget_whatever_is_posted(self):
        self.made(["a"])
        before = self.server.resident_bytes()
        most = 0
        for number in range(250):
            state = [{"id": f"{number}-{index}", "content": "x" * 1000} for index in range(200)]
            self.post_changes(f"resident-{number % 180}", state, Prefer="return=minimal")
            most = max(most, self.server.resident_bytes())
        self.assertLess(most - before, (24 << 20) * 1.25 + (8 << 20))


class AnswersInMemory(ServiceCase):
    options = ("--memory", "32MiB")

    def test_what_was_answered_is_not_kept_for_as_long_as_its_session(self):
        news = [{"id": "b", "content": "x" * 500_000}]
        names, bases = [f"answers-{number}" for number in range(50)], {}
        for name in names:
            _, bases[name] = self.made(["a"], name)
            self.post_changes(name, news, Prefer="return=minimal")
        before = self.server.resident_bytes()
        for name in names:
            self.assertChangeset(self.get_changes(name, {"since": bases[name]}))
        self.assertLess(self.server.resident_bytes() - before, 8 << 20)


class TimeToLive(ServiceCase):
    options = ("--ttl", "2s")

    def test_a_session_ends_after_its_ttl_and_streams_with_it(self):
        used = time.monotonic()
        session, _ = self.made(["a"])
        short = self.new_name()
        self.put_session(short, {"state": ["a"], "ttl": 1})
        by_post = self.new_name()
        self.post_changes(by_post, {"state": ["a"], "ttl": 1})
        let_pass(1.4, "time to live")
        self.assertProblem(self.get_session(short), 404, "session-not-found")
        self.assertProblem(self.get_session(by_post), 404, "session-not-found")
        for use in (self.get_session, self.get_changes, lambda session: self.post_changes(session, ["a"]), self.get_session):
            before, used = used, time.monotonic()
            answer = use(session)
            # A machine that is busy may take longer than the session lives.
            if time.monotonic() - before > 2:
                self.skipTest("the machine is too busy for a session of two seconds")
            self.assertStatus(answer, 200)
            let_pass(1.4, "time to live")
        let_pass(1.2, "time to live")
        self.assertProblem(self.get_session(session), 404, "session-not-found")

    def test_each_kind_of_use_is_one(self):
        def reading(*rest, query=None, method="GET", **headers):
            return lambda session: self.request(method, session_path(session, *rest), None, query, **headers)

        uses = {
            "the state": reading(), "its head": reading(method="HEAD"), "what is known already": reading(If_None_Match="*"),
            "changes": reading("changes"), "an item": reading("items", "a"), "items": reading("items", query={"at": "0,0"}),
            "a section": reading("sections", "main"), "sections": reading("sections", query={"at": 0}),
            "a state that changes it": lambda session: self.post_changes(session, ["b"]),
            "a state that equals it": lambda session: self.post_changes(session, ["a"]),
            "no edits": lambda session: self.post_changes(session, {"edits": []}),
            "a known key": lambda session: self.post_changes(session, ["a"], Idempotency_Key="k"),
        }
        began = time.monotonic()
        sessions = {name: self.new_name() for name in (*uses, "none")}
        for session in sessions.values():
            answer = self.post_changes(session, {"state": ["a"], "ttl": 3})
            self.assertStatus(answer, 201)
        self.post_changes(sessions["a known key"], ["a"], Idempotency_Key="k")
        let_pass(2, "time to live")
        statuses, used = {}, time.monotonic()
        for name, use in uses.items():
            statuses[name] = use(sessions[name]).status
        if time.monotonic() - began > 3:
            self.skipTest("the machine is too busy for sessions of three seconds")
        self.assertEqual({name: status for name, status in statuses.items() if status >= 400}, {})
        let_pass(1.6, "time to live")
        self.assertProblem(self.get_session(sessions["none"]), 404, "session-not-found")
        for name in uses:
            answer = self.get_session(sessions[name])
            if time.monotonic() - used > 3:
                self.skipTest("the machine is too busy for sessions of three seconds")
            with self.subTest(name):
                self.assertStatus(answer, 200)

    def test_a_ttl_of_seven_days_and_one_second_more(self):
        self.assertStatus(self.put_session(self.new_name(), {"state": [], "ttl": 7 * 86400}), 201)
        answer = self.put_session(self.new_name(), {"state": [], "ttl": 7 * 86400 + 1})
        self.assertEqual(answer.status, 422, answer)

    def test_a_ttl_that_is_none(self):
        for ttl in (0, -1, "1h", 1.5, True, []):
            with self.subTest(ttl):
                answer = self.put_session(self.new_name(), {"state": [], "ttl": ttl})
                self.assertEqual(answer.status, 422, answer)
