"""Lists that fetch themselves: when their sources are asked, and what becomes of the answers. CONTRACT §11."""

import gzip
import hashlib
import time
import zlib

from support.client import session_path
from support.clock import let_pass, stays, wait_for
from support.events import Stream
from support.sources import KEY, KEYS, EditableCase, SourceCase, ids
from support.tokens import bearer, token
from support.upstream import Held, brotli, dated, never_answers, says, tagged

# The share of the time that some intervals take at least: the first request may have been noted late.
ALMOST = 0.7


class FirstReads(EditableCase):
    def test_the_first_read_waits_for_the_first_fetch(self):
        held = Held(["a", "b"])
        name, path = self.new_list(held)
        asked = self.ask(session_path(name))
        self.upstream.wait_for(path, 1)
        self.assertFalse(asked.is_done)
        held.release()
        answer = asked.answer()
        self.assertEqual((answer.status, ids(answer.json["state"])), (200, ["a", "b"]))
        self.assertNotIn("Diffserver-Stale", answer.headers)

    def test_each_way_to_read_makes_it(self):
        ways = (("",), {}), (("changes",), {}), (("changes",), {"wait": 20}), (("items",), {"id": "a"}), (("items", "a"), {}), \
            (("sections",), {"id": "main"}), (("sections", "main"), {})
        for rest, query in ways:
            with self.subTest(rest=rest, query=query):
                name, path = self.new_list(["a"])
                answer = self.get(session_path(name, *filter(None, rest)), query)
                self.assertStatus(answer, 200)
                self.assertEqual(self.upstream.count(path), 1)
        name, _ = self.new_list(["a"])
        self.assertEqual(self.get("/v1/changes", {"session": name}).json["answers"][0]["reset"], "initial")
        name, _ = self.new_list(["a"])
        self.assertStatus(self.request("HEAD", session_path(name)), 200)
        name, _ = self.new_list(["a"])
        self.assertEqual(self.stream(name).next_event().json["reset"], "initial")
        name, _ = self.new_list(["a"])
        stream = Stream(self.server, "/v1/changes", {"session": name})
        self.addCleanup(stream.close)
        self.assertEqual(stream.next_event().json["reset"], "initial")

    def test_edits_make_it_too(self):
        name, _ = self.new_list(["a"], "h")
        answer = self.post_changes(name, {"edits": [{"op": "insert", "items": ["b"]}]})
        self.assertEqual([each["op"] for each in self.assertChangeset(answer)["changes"]], ["insert"])

    def test_many_first_readers_are_one_request(self):
        held = Held(["a"])
        name, path = self.new_list(held)
        asked = [self.ask(session_path(name, *rest), query) for rest, query in
                 [([], {})] * 10 + [(["changes"], {})] * 10 + [(["changes"], {"wait": 5})] * 5]
        self.upstream.wait_for(path, 1)
        stays(lambda: not any(each.is_done for each in asked), "all wait for the one request", 0.1)
        held.release()
        self.assertEqual({each.answer().status for each in asked}, {200})
        self.assertEqual(self.upstream.count(path), 1)

    def test_what_is_not_there_is_not_asked_for_again_soon(self):
        for status in (404, 410):
            name, path = self.new_list(says({"detail": "none"}, status))
            for _ in range(3):
                self.assertProblem(self.get_session(name), 404, "session-not-found")
            self.assertProblem(self.get_changes(name, {"wait": 5}), 404, "session-not-found")
            stream = Stream(self.server, session_path(name, "changes"))
            self.assertEqual((stream.status, stream.problem["type"]), (404, "/problems/session-not-found"))
            stream.close()
            self.assertEqual(self.upstream.count(path), 1)

    def test_a_failure_is_told_and_when_to_ask_again(self):
        name, path = self.new_list(says("oh", 500))
        problem = self.get_session(name)
        self.assertProblem(problem, 503, "source-unavailable")
        self.assertGreaterEqual(int(problem.headers["Retry-After"]), 1)
        stream = Stream(self.server, session_path(name, "changes"))
        self.assertEqual((stream.status, stream.problem["type"]), (503, "/problems/source-unavailable"))
        stream.close()
        self.assertProblem(self.get_changes(name, {"wait": 5}), 503, "source-unavailable")
        # A source's own message is for callers who may know, not for readers.
        self.assertNotIn("500", problem.json["detail"])
        self.upstream.set(path, ["a"])
        self.shows(name, "a")

    def test_a_stream_of_several_waits_for_one_that_fails(self):
        (bad, path), (good, _, _) = self.new_list(says("oh", 500)), self.fetched(["g"])
        stream = Stream(self.server, "/v1/changes", {"session": [bad, good]})
        self.addCleanup(stream.close)
        self.assertEqual(stream.next_event().json["session"], good)
        self.upstream.set(path, ["b"])
        self.assertEqual(stream.next_event().json["session"], bad)

    def test_a_name_of_no_list_is_as_ever(self):
        name = self.new_name()
        self.assertProblem(self.get_session(name), 404, "session-not-found")
        self.made(["a"], name)
        self.assertStatus(self.put_session(name, {"state": ["b"]}), 200)

    def test_states_come_from_the_source_alone(self):
        name, _, revision = self.fetched(["a"])
        self.assertProblem(self.post_changes(name, {"state": ["b"]}), 409, "has-source")
        self.assertProblem(self.post_changes(name, ["b"]), 409, "has-source")
        # After JSON, and before shape.
        for write in (self.post_changes, self.put_session):
            for body in ({"ttl": 60}, 7, "null", {}, {"edits": [], "state": []}, {"state": {"x": 1}}, [{"no": "id"}]):
                with self.subTest(write.__name__, body=body):
                    self.assertProblem(write(name, body), 409, "has-source")
            for body in ("", "{", '{"edits":[', "[1,]", '{"a":1,"a":2}'):
                with self.subTest(write.__name__, body=body):
                    self.assertProblem(write(name, body), 400, "malformed-json")
        self.assertProblem(self.put_session(name, {"edits": []}), 409, "has-source")
        self.assertEqual(self.get_session(name).json["revision"], revision)

    def test_without_a_hook_so_do_edits(self):
        """Where all is open nobody has a key."""
        name, _, revision = self.fetched(["a"])
        patch = lambda name, body: self.request("PATCH", session_path(name, "items", "a"), body, Content_Type="application/merge-patch+json")
        for body in ({"edits": []}, {"edits": 7}, {"edits": [{"op": "delete", "items": ["nobody"]}]}):
            with self.subTest(body=body):
                problem = self.assertProblem(self.post_changes(name, body, If_Match='"1-0123456789abcdef"'), 409, "has-source")
                self.assertIn("key", problem["detail"])
        self.assertProblem(patch(name, {"n": 1}), 409, "has-source")
        self.assertProblem(patch(name, "{"), 400, "malformed-json")
        self.assertProblem(self.request("PATCH", session_path(name, "items", "a"), {}), 415, "unsupported-media-type")
        self.assertProblem(self.post_changes(name, '{"edits":['), 400, "malformed-json")
        self.assertEqual(self.get_session(name).json["revision"], revision)
        hooked = self.fetched(["a"], "h")[0]
        self.assertProblem(self.post_changes(hooked, {"edits": 7}), 422, "invalid-edit")
        self.assertStatus(patch(hooked, {"n": 1}), 200)

    def test_neither_makes_one(self):
        name, path = self.new_list(["a"])
        self.assertProblem(self.post_changes(name, ["b"]), 409, "has-source")
        self.assertProblem(self.put_session(name, {"state": ["b"]}), 409, "has-source")

    def test_a_deleted_one_is_made_again_by_the_next_read(self):
        name, path, _ = self.fetched(["a"])
        stream = self.stream(name)
        stream.next_event()
        self.upstream.set(path, ["b"])
        self.assertStatus(self.delete_session(name), 204)
        while (event := stream.next_event()).event == "changes":
            pass
        self.assertEqual((event.event, event.json["type"]), ("end", "/problems/session-not-found"))
        answer = self.get_session(name)
        self.assertEqual((answer.status, ids(answer.json["state"])), (200, ["b"]))

    def test_a_stream_of_several_goes_on_with_one_that_was_deleted(self):
        name, path, _ = self.fetched(["a"])
        stream = Stream(self.server, "/v1/changes", {"session": name})
        self.addCleanup(stream.close)
        stream.next_event()
        self.upstream.set(path, ["b"])
        self.assertStatus(self.delete_session(name), 204)
        events = []
        while not events or events[-1].json.get("reset") is None:
            events.append(stream.next_event())
        self.assertIn("end", [each.event for each in events])
        self.assertEqual(ids(events[-1].json["state"]), ["b"])


    def test_one_that_is_deleted_while_it_is_asked_for_comes_back_for_who_reads_it(self):
        name, path, _ = self.fetched(["a"])
        held = self.upstream.set(path, Held(["late"]))
        let_pass(self.interval, "interval of a source")
        asked = self.ask(session_path(name))
        self.upstream.wait_for(path, 2)
        # After a second, it is answered with the existing state.
        self.assertStatus(asked.answer(), 200)
        self.assertStatus(self.delete_session(name), 204)
        held.release()
        wait_for(lambda: self.upstream.connections and not self.listed(name), "it stays away")
        stays(lambda: (self.listed(name), self.upstream.count(path)) == ([], 2), "it stays away, and nobody asks", 0.3)
        self.upstream.set(path, ["new"])
        self.assertEqual(ids(self.get_session(name).json["state"]), ["new"])

    def listed(self, prefix):
        return self.get("/v1/sessions", {"prefix": prefix}).json["sessions"]

    def test_a_large_list(self):
        """It is read, compared and written by workers, between small ones."""
        rows = [{"id": f"row-{number}", "content": {"n": 0, "text": "x" * 60}} for number in range(4000)]
        name, path, first = self.fetched(rows, "h")
        stream = self.stream(name, {"since": first})
        for number in (7, 3999):
            rows[number]["content"] = {"n": 1, "text": "y"}
            self.upstream.set(path, [dict(row) for row in rows])
            changes = self.news(stream)["changes"]
            self.assertEqual([(each["op"], [row["id"] for row in each["items"]]) for each in changes], [("update", [f"row-{number}"])])
        # Edits come between: none of them is lost, and none is repeated.
        self.upstream.set(path, [dict(row) for row in rows[1:]])
        self.assertStatus(self.post_changes(name, {"edits": [{"op": "delete", "items": ["row-0"]}]}), 200)
        self.assertEqual(self.news(stream)["changes"], [{"op": "remove", "items": ["row-0"]}])
        stream.close()

    def test_readers_who_leave_before_the_first_fetch_leave_nothing(self):
        held = Held(["a"])
        name, path = self.new_list(held)
        before = len(self.server.sockets())
        connections = [self.raw() for _ in range(30)]
        for number, each in enumerate(connections):
            rest, accept = (("", ""), ("/changes", ""), ("/changes?wait=20", ""), ("/changes", "Accept: text/event-stream\r\n"))[number % 4]
            each.send(f"GET {session_path(name)}{rest} HTTP/1.1\r\nHost: localhost\r\n{accept}\r\n")
        self.upstream.wait_for(path, 1)
        for each in connections:
            each.close()
        wait_for(lambda: len(self.server.sockets()) <= before, "they have gone")
        held.release()
        self.assertEqual(ids(self.get_session(name).json["state"]), ["a"])


class WithKeys(SourceCase):
    options = KEYS

    def test_without_a_hook_edits_take_a_key(self):
        name, _ = self.new_list(["a"])
        able = bearer(token(name, "read edit", 60))
        edits = {"edits": [{"op": "insert", "items": ["b"]}]}
        for body in (edits, {"edits": 7}):
            self.assertProblem(self.post_changes(name, body, **able), 409, "has-source")
        patch = lambda who: self.request(
            "PATCH", session_path(name, "items", "a"), {"n": 1}, Content_Type="application/merge-patch+json", **who)
        self.assertProblem(patch(able), 409, "has-source")
        # Who may not at all is told that.
        self.assertProblem(self.post_changes(name, ["b"], **able), 403, "forbidden")
        for scope in ("read", "edit:move"):
            self.assertProblem(self.post_changes(name, edits, **bearer(token(name, scope, 60))), 403, "forbidden")
        self.assertStatus(self.post_changes(name, edits, **bearer(KEY)), 200)
        self.assertStatus(patch(bearer(KEY)), 200)


class FoundByAddress(SourceCase):
    """`GET /v1/sessions?source=`: whether the server follows an address. It asks no other."""

    options = (*KEYS, "--key", f"team:{hashlib.sha256(b'of a team').hexdigest()}:team:")

    @classmethod
    def lists(cls, url):
        sources = {name: {"source": {"url": f"{url}/{name}", "every": 60}} for name in ("fires", "gone", "down")}
        return {**super().lists(url), **sources}

    def found(self, path, key=KEY, **query):
        query["source"] = path if path.startswith("http") else self.upstream.url + path
        return self.get("/v1/sessions", query, Authorization=f"Bearer {key}")

    def names(self, *asked, **query):
        answer = self.found(*asked, **query)
        self.assertStatus(answer, 200)
        return [each["session"] for each in answer.json["sessions"]]

    def test_a_list_is_found_by_its_address(self):
        self.upstream.set("/fires", ["a", "b"])
        for _ in range(2):
            entry, = self.found("/fires").json["sessions"]
            self.assertEqual((entry["session"], entry["rows"]), ("fires", 2))
        self.assertEqual(self.upstream.count("/fires"), 1)
        self.assertEqual(self.names("/fires", prefix="fi", limit=1), ["fires"])

    def test_who_may_not_see_it_does_not_find_it(self):
        self.upstream.set("/fires", ["a"])
        self.assertEqual(self.names("/fires", "of a team"), [])
        self.assertEqual([self.names("/fires", **query) for query in ({"prefix": "g"}, {"after": "fires"})], [[], []])
        self.assertProblem(self.get("/v1/sessions", {"source": f"{self.upstream.url}/fires"}), 401, "unauthenticated")

    def test_no_other_address_is_asked(self):
        for path in ("/other", "/f/7", "/fires/", "/fires?x=1", "http://127.0.0.1:1/fires"):
            self.assertEqual(self.names(path), [], path)
        self.assertEqual([self.upstream.count(path) for path in ("/other", "/f/7", "/fires/")], [0, 0, 0])

    def test_one_that_does_not_answer_with_a_list(self):
        self.upstream.set("/gone", says({}, 404))
        self.upstream.set("/down", says({}, 500))
        self.assertEqual(self.names("/gone"), [])
        self.assertProblem(self.found("/down"), 503, "source-unavailable")


class KeptMissing(SourceCase):
    def test_for_ten_seconds(self):
        name, path = self.new_list(says({}, 404))
        self.assertStatus(self.get_session(name), 404)
        self.upstream.set(path, ["a"])
        self.shows(name, "a")
        self.assertEqual(len(self.upstream.gaps(path)), 1)
        self.assertGreater(self.upstream.gaps(path)[0], 9.5)


class Questions(SourceCase):
    """Requests to a source, and the reading of its answers."""

    options = ("--max-body", "200000")

    @classmethod
    def lists(cls, url):
        return {
            **super().lists(url),
            "q:{a}:{b}": {"source": {"url": f"{url}/q/{{b}}/x?of={{a}}&all=1", "every": 1,
                                     "headers": {"X-Of": "us", "Accept": "application/hal+json"}}},
        }

    def test_what_it_hears(self):
        name, path, _ = self.fetched(["a"])
        request = self.upstream.requests(path)[0]
        self.assertEqual(request.method, "GET")
        self.assertEqual(request["Host"], f"127.0.0.1:{self.upstream.port}")
        self.assertIn("application/json", request["Accept"])
        self.assertIn("gzip", request["Accept-Encoding"])
        self.assertRegex(request["User-Agent"], r"^diffserver/\S+$")
        self.assertEqual(request.body, b"")

    def test_nothing_of_a_reader(self):
        name, path = self.new_list(["a"])
        marks = {"Cookie": "mark=1", "X_Forwarded_Proto": None, "X_Request_Id": "mark-2", "Accept_Language": "mark-3",
                 "Referer": "http://mark-4/", "User_Agent": "mark-5",
                 "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                 "If_None_Match": '"mark-6"', "X_Mark": "mark-7", "Prefer": "wait=1"}
        self.assertStatus(self.get_session(name, **marks), 200)
        names = {each.lower() for each, _ in self.upstream.requests(path)[0].headers}
        self.assertEqual(names, {"host", "user-agent", "accept", "accept-encoding"})
        self.assertNotIn("mark", str(self.upstream.requests(path)[0].headers))
        # A fetch that one request wants is part of its trace; one for all readers is not.
        self.assertStatus(self.request("POST", session_path(name, "fetch"), **marks), 200)
        names.add("traceparent")
        request = self.upstream.requests(path)[-1]
        self.assertEqual({each.lower() for each, _ in request.headers} - {"if-none-match"}, names)
        self.assertEqual(request["traceparent"], marks["traceparent"])

    def test_segments_and_headers_are_those_of_the_file(self):
        self.upstream.set("/q/b~2/x", ["a"])
        self.assertStatus(self.get_session("q:a.1:b~2"), 200)
        request = self.upstream.requests("/q/b~2/x")[0]
        self.assertEqual((request.path, request["X-Of"]), ("/q/b~2/x?of=a.1&all=1", "us"))
        self.assertEqual([value for each, value in request.headers if each == "Accept"], ["application/hal+json"])
        for name in ("q:.:b", "q:a:..", "q:..:.", "q:a:b:c", "q::b", "q:a:"):
            self.assertProblem(self.get_session(name), 404, "session-not-found")
        self.assertEqual(self.upstream.count("/q/../x"), 0)

    def test_a_tag_goes_back(self):
        for etag in ('"one"', 'W/"weak"'):
            name, path = self.new_list(tagged(["a"], etag))
            stream = self.stream(name)
            revision = stream.next_event().id
            second = self.upstream.wait_for(path, 2)[1]
            self.assertEqual(second["If-None-Match"], etag)
            self.assertIsNone(second["If-Modified-Since"])
            # A 304 is a success.
            self.upstream.wait_for(path, 3)
            self.assertEqual(self.get_session(name).json["revision"], revision)
            self.upstream.set(path, tagged(["a", "b"], '"two"'))
            self.assertEqual([each["op"] for each in self.news(stream)["changes"]], ["insert"])
            wait_for(lambda: self.upstream.requests(path)[-1]["If-None-Match"] == '"two"', "the new tag goes back")
            self.upstream.set(path, ["c"])
            wait_for(lambda: self.upstream.requests(path)[-1]["If-None-Match"] is None, "none goes back")
            stream.close()

    def test_a_date_goes_back(self):
        name, path = self.new_list(dated(["a"], 1_700_000_000))
        stream = self.stream(name)
        stream.next_event()
        second = self.upstream.wait_for(path, 2)[1]
        self.assertEqual(second["If-Modified-Since"], "Tue, 14 Nov 2023 22:13:20 GMT")
        self.assertIsNone(second["If-None-Match"])
        self.upstream.set(path, dated(["b"], 1_700_000_001))
        stream.next_event()
        self.shows(name, "b")

    def test_an_overlong_tag_does_not_go_back(self):
        name, path = self.new_list(says(["a"], ETag='"' + "x" * 2000 + '"'))
        stream = self.stream(name)
        stream.next_event()
        self.assertIsNone(self.upstream.wait_for(path, 2)[1]["If-None-Match"])

    def test_a_304_to_no_question_is_a_failure(self):
        name, path = self.new_list(says(b"", 304))
        self.assertProblem(self.get_session(name), 503, "source-unavailable")
        self.wait_for_lines(1, f"session={name}", "304")

    def test_the_encoding_that_was_offered_is_understood(self):
        body = b'["' + b"a" * 1000 + b'"]'
        codings = {"gzip": gzip.compress(body), "x-gzip": gzip.compress(body[:7]) + gzip.compress(body[7:]), "identity": body}
        for coding, data in codings.items():
            name, path = self.new_list(says(data, Content_Encoding=coding))
            answer = self.get_session(name)
            self.assertEqual((answer.status, coding, ids(answer.json["state"])), (200, coding, ["a" * 1000]))
            self.assertEqual(self.upstream.requests(path)[0]["Accept-Encoding"], "gzip")
        for coding, data in {"br": brotli(body), "deflate": zlib.compress(body), "compress": body, "gzip, nonsense": body}.items():
            name, path = self.new_list(says(data, Content_Encoding=coding))
            self.assertProblem(self.get_session(name), 503, "source-unavailable")


class Intervals(SourceCase):
    """How often it is asked."""

    @classmethod
    def lists(cls, url):
        return {
            **super().lists(url),
            "slow:{name}": {"source": {"url": f"{url}/slow/{{name}}", "every": 3600}},
            "dull:{name}": {"source": {"url": f"{url}/dull/{{name}}", "every": 0.2, "timeout": 2}},
        }

    def test_a_source_may_ask_to_be_left_alone(self):
        rows = (
            ({"Cache_Control": "max-age=1"}, 1), ({"Cache_Control": "public, MAX-AGE=\"1\""}, 1),
            ({"Cache_Control": "max-age=60", "Age": "59"}, 1), ({"Cache_Control": "max-age=1", "ETag": '"a"'}, 1),
            ({"Cache_Control": "no-cache, max-age=60"}, 0.2), ({"Cache_Control": "no-store, max-age=60"}, 0.2),
            ({"Cache_Control": "max-age=5", "Age": "5"}, 0.2), ({"Cache_Control": "max-age=-5"}, 0.2),
            ({"Cache_Control": "max-age=soon"}, 0.2), ({"Cache_Control": "s-maxage=60"}, 0.2), ({"Age": "x"}, 0.2), ({}, 0.2),
        )
        streams = []
        for headers, interval in rows:
            name, path = self.new_list(says(["a"], **headers))
            stream = self.stream(name)
            streams.append((headers, interval, path, stream))
        for headers, interval, path, stream in streams:
            with self.subTest(headers):
                if interval < 1:
                    # Those that are asked once a second have been asked four times by now, and this one more often.
                    self.assertGreater(self.upstream.count(path), 4)
                else:
                    self.upstream.wait_for(path, 4)
                gaps = self.upstream.gaps(path)
                self.assertGreaterEqual(sum(gaps), interval * len(gaps) * ALMOST)
            stream.close()

    def test_a_source_that_fails_may_say_for_how_long(self):
        soon = lambda: time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 3))
        for value, least in ((lambda: "2", 1.5), (soon, 1.2)):
            name, path, _ = self.fetched(["a"])
            stream = self.stream(name)
            self.upstream.set(path, lambda exchange, value=value: exchange.answer({}, 503, Retry_After=value()))
            self.wait_for_lines(1, f"session={name}", "fails")
            failed = self.upstream.count(path)
            self.upstream.wait_for(path, failed + 1)
            self.assertGreaterEqual(self.upstream.gaps(path)[failed - 1], least)
            stream.close()

    def test_a_failing_source_is_asked_ever_more_seldom_but_not_for_ever(self):
        name, path, _ = self.fetched(["a"])
        stream = self.stream(name)
        self.upstream.set(path, says({}, 500))
        self.wait_for_lines(1, f"session={name}", "fails")
        failed = self.upstream.count(path)
        self.upstream.wait_for(path, failed + 5)
        gaps = self.upstream.gaps(path)[failed - 1:]
        # 0.2 s, then doubled each time, up to ten times as long; a quarter less at most.
        self.assertGreaterEqual(sum(gaps[:5]), (0.15 + 0.3 + 0.6 + 1.2 + 1.5) * ALMOST)
        self.assertGreater(gaps[4], gaps[0])
        self.upstream.set(path, ["b"])
        self.shows(name, "b")
        stream.close()

    def test_a_read_older_than_the_interval_asks_again_and_no_other(self):
        name, path, _ = self.fetched(["a"], "slow")
        for _ in range(5):
            self.assertStatus(self.get_session(name), 200)
            self.assertStatus(self.get_changes(name), 200)
        self.assertEqual(self.upstream.count(path), 1)
        name, path, _ = self.fetched(["a"])
        self.upstream.set(path, ["b"])
        let_pass(self.interval, "interval of a source")
        self.assertEqual(ids(self.get_session(name).json["state"]), ["b"])

    def test_an_old_read_waits_for_a_second_at_most(self):
        name, path, _ = self.fetched(["a"])
        held = self.upstream.set(path, Held(["b"]))
        let_pass(self.interval, "interval of a source")
        start = time.monotonic()
        # Each sees the existing state, and how old it is.
        answer = self.get_session(name)
        took = time.monotonic() - start
        self.assertEqual(ids(answer.json["state"]), ["a"])
        self.assertGreaterEqual(int(answer.headers["Diffserver-Stale"]), 1)
        self.assertGreater(took, 0.9)
        self.assertEqual(self.upstream.count(path), 2)
        held.release()
        self.shows(name, "b")

    def test_nobody_looks_nobody_asks(self):
        name, path, _ = self.fetched(["a"])
        stream = self.stream(name)
        self.upstream.wait_for(path, 3)
        stream.close()
        held = self.ask(session_path(name, "changes"), {"since": self.get_session(name).json["revision"], "wait": 1})
        held.answer()
        # The fetch under way when the last reader leaves is the last.
        wait_for(lambda: self.is_quiet(path), "no more requests")
        count = self.upstream.count(path)
        stays(lambda: self.upstream.count(path) == count, "nobody asks", 5 * self.interval)

    def is_quiet(self, path):
        count = self.upstream.count(path)
        let_pass(2 * self.interval, "interval of a source")
        return count == self.upstream.count(path)

    def test_a_held_request_has_it_asked_and_hears_of_what_is_new(self):
        name, path, revision = self.fetched(["a"])
        held = self.ask(session_path(name, "changes"), {"since": revision, "wait": 20})
        self.upstream.wait_for(path, 3)
        self.upstream.set(path, ["a", "b"])
        changeset = self.assertChangeset(held.answer())
        self.assertEqual([each["op"] for each in changeset["changes"]], ["insert"])
        self.assertNotIn("stale", changeset)

    def test_who_never_answers_holds_up_nobody_else(self):
        self.upstream.set("*", never_answers)
        asked = [self.ask(session_path(f"dull:{number}")) for number in range(30)]
        self.upstream.wait_for("/dull/0", 1)
        name, path, _ = self.fetched(["a"])
        stream = self.stream(name)
        stream.next_event()
        self.upstream.set(path, ["b"])
        self.assertEqual(stream.next_event().event, "changes")
        self.assertFalse(asked[0].is_done)
        for each in asked:
            self.assertProblem(each.answer(), 503, "source-unavailable")


class Redirects(SourceCase):
    def redirected(self, status, where):
        name, path = self.new_list()
        self.upstream.set(path, lambda exchange: exchange.answer(b"", status, Location=where(path)))
        return name, path

    def test_on_the_origin_they_are_followed(self):
        for status in (301, 302, 303, 307, 308):
            for where in (lambda path: path + "/there", lambda path: self.upstream.url + path + "/there",
                          lambda path: f"//127.0.0.1:{self.upstream.port}{path}/there",
                          lambda path: path.rsplit("/")[-1] + "/there?x=y"):
                name, path = self.redirected(status, where)
                self.upstream.set(path + "/there", [f"{status}"])
                answer = self.get_session(name)
                self.assertEqual((answer.status, status, ids(answer.json["state"])), (200, status, [f"{status}"]))
                self.assertEqual(self.upstream.requests(path + "/there")[0].method, "GET")

    def test_off_the_origin_they_are_not(self):
        from support.upstream import Upstream
        other = Upstream()
        self.addCleanup(other.close)
        other.set("*", ["taken"])
        places = (other.url + "/x", f"https://127.0.0.1:{self.upstream.port}/x", f"http://localhost:{self.upstream.port}/x",
                  f"http://127.0.0.2:{self.upstream.port}/x", f"http://127.1:{other.port}/x", "file:///etc/hostname", "gopher://127.0.0.1/",
                  f"http://127.0.0.1:{self.upstream.port}@127.0.0.1:{other.port}/x", "ftp://127.0.0.1/x", "http://[::1]/x", "http://", "")
        for place in places:
            for status in (301, 307):
                name, path = self.redirected(status, lambda path, place=place: place)
                if not place:
                    self.upstream.set(path, says(b"", status))
                self.assertProblem(self.get_session(name), 503, "source-unavailable")
        self.assertEqual((other.total, self.upstream.count("/x")), (0, 0))

    def test_loops_end(self):
        name, path = self.redirected(302, lambda path: path)
        self.assertProblem(self.get_session(name), 503, "source-unavailable")
        self.assertEqual(self.upstream.count(path), 6)
        self.wait_for_lines(1, f"session={name}", "redirects")

    def test_what_is_not_there_behind_one_is_not_there(self):
        name, path = self.redirected(301, lambda path: path + "/none")
        self.assertProblem(self.get_session(name), 404, "session-not-found")


class Fetches(SourceCase):
    """`POST …/fetch`."""

    @classmethod
    def lists(cls, url):
        return {"f:{name}": {"source": {"url": f"{url}/f/{{name}}", "every": 3600}}}

    def fetch(self, name, query=None, **headers):
        return self.request("POST", session_path(name, "fetch"), None, query, **headers)

    def test_what_it_changes_is_told(self):
        name, path = self.new_list(["a"])
        made = self.fetch(name)
        self.assertReset(made, "initial", 201)
        self.assertEqual(made.headers["Location"], session_path(name))
        self.upstream.set(path, ["a", "b"])
        changed = self.assertChangeset(self.fetch(name))
        self.assertEqual(([each["op"] for each in changed["changes"]], changed["from"]), (["insert"], made.json["to"]))
        same = self.assertChangeset(self.fetch(name))
        self.assertEqual((same["changes"], same["from"], same["to"]), ([], changed["to"], changed["to"]))
        since = self.assertChangeset(self.fetch(name, {"since": made.json["to"], "dialect": "indexed"}), dialect="indexed")
        self.assertEqual((since["from"], len(since["changes"]["items"]["inserted"])), (made.json["to"], 1))
        self.assertEqual(self.upstream.count(path), 4)

    def test_readers_hear_of_it(self):
        name, path, _ = self.fetched(["a"])
        stream = self.stream(name)
        stream.next_event()
        self.upstream.set(path, ["b"])
        self.assertStatus(self.fetch(name), 200)
        self.assertEqual(stream.next_event().event, "changes")

    def test_one_that_began_before_is_not_what_was_asked_for(self):
        name, path = self.new_list(["a"])
        old = self.upstream.set(path, Held(["old"]))
        first = self.ask(session_path(name))
        self.upstream.wait_for(path, 1)
        self.upstream.set(path, ["new"])
        second = self.ask(session_path(name, "fetch"), method="POST")
        wait_for(lambda: self.server.sockets(), "it is asked")
        stays(lambda: not second.is_done, "it waits for a fetch of its own", 0.1)
        old.release()
        self.assertEqual(first.answer().status, 200)
        second.answer()
        self.assertEqual(ids(self.get_session(name).json["state"]), ["new"])
        self.assertEqual(self.upstream.count(path), 2)

    def test_its_failures(self):
        name, path = self.new_list(says({}, 500))
        problem = self.fetch(name)
        self.assertProblem(problem, 503, "source-unavailable")
        # Holders of a key may know why.
        self.assertIn("500", problem.json["detail"])
        name, path = self.new_list(says({}, 404))
        self.assertProblem(self.fetch(name), 404, "session-not-found")
        self.upstream.set(path, ["a"])
        self.assertReset(self.fetch(name), "initial", 201)
        self.upstream.set(path, says({}, 500))
        self.assertProblem(self.fetch(name), 503, "source-unavailable")
        self.assertEqual(ids(self.get_session(name).json["state"]), ["a"])

    def test_only_of_what_has_a_source(self):
        name, _ = self.made(["a"])
        self.assertProblem(self.fetch(name), 404, "session-not-found")
        self.assertProblem(self.fetch(self.new_name()), 404, "session-not-found")
        self.assertProblem(self.fetch("f:x", {"wait": 1}), 400, "unknown-parameter")
        self.assertStatus(self.get(session_path(name, "fetch")), 405)


class FetchesWithoutHistory(SourceCase):
    options = ("--history-revisions", "0")
    lists, fetch = Fetches.lists, Fetches.fetch

    def test_what_it_changes_is_told_as_after_a_post(self):
        name, path = self.new_list(["a", "b"])
        head = self.fetch(name).json["to"]
        rows = [f"{number} {'x' * 100}" for number in range(20_000)]
        for state, query, ops in ((["b", *rows], {"since": head}, ["remove", "insert"]), (["b", "c"], {}, ["remove", "insert"]),
                                  (["c"], {}, ["remove"])):
            self.upstream.set(path, state)
            changed = self.assertChangeset(self.fetch(name, query))
            self.assertEqual((changed["from"], [each["op"] for each in changed["changes"]]), (head, ops))
            head = changed["to"]


class AsTheyCome(SourceCase):
    """What sources write for empty lists, and texts cut inside a character."""

    CUT = rb'{"rows":[{"id":1,"t":"cut \ud83d"},{"id":"\udc00","\ud83d":1},{"id":3}]}'

    @classmethod
    def lists(cls, url):
        source = {"url": f"{url}/f/{{name}}", "every": cls.interval, "timeout": 5}
        return {"f:{name}": {"source": source, "shape": {"itemsAt": "/rows"}},
                "e:{name}": {"source": {**source, "url": f"{url}/e/{{name}}"}, "shape": {"itemsAt": "/rows", "missing": "empty", "invalid": "skip"}}}

    def test_the_last_row_goes_however_an_empty_list_is_written(self):
        for kind, empty in (("f", b'{"rows":null}'), ("e", b'{"total":0}'), ("e", b"null"), ("e", b'\xef\xbb\xbf{"rows":[{"no":"id"},null]}')):
            with self.subTest(kind, empty=empty):
                name, path, _ = self.fetched({"rows": [{"id": 1}]}, kind)
                stream = self.stream(name)
                self.assertEqual(stream.next_event().json["reset"], "initial")
                self.upstream.set(path, says(empty))
                self.assertEqual(self.news(stream)["changes"], [{"op": "remove", "items": [1]}])
                self.assertNotIn("Diffserver-Stale", self.get_session(name).headers)

    def test_what_is_not_there_is_refused_unless_that_is_said(self):
        name, _ = self.new_list(says(b'{"total":0}'))
        self.assertProblem(self.get_session(name), 503, "source-unavailable")

    def test_a_text_that_was_cut_stops_no_list(self):
        name, path = self.new_list(says(self.CUT))
        items = self.get_session(name).json["state"]["sections"][0]["items"]
        self.assertEqual(items, [{"id": 1, "content": {"id": 1, "t": "cut \ufffd"}},
                                 {"id": "\ufffd", "content": {"id": "\ufffd", "\ufffd": 1}}, {"id": 3, "content": {"id": 3}}])
        self.wait_for_lines(1, f"session={name}", "3 lone surrogates became U+FFFD")
        counted = [line for line in self.get("/metrics").text.splitlines() if line.startswith("diffserver_source_replaced_surrogates_total{list=\"f:")]
        self.assertEqual(len(counted), 1)
        self.assertGreaterEqual(int(counted[0].split()[1]), 3)
        # Reported once, however often it is fetched, and again after it was well.
        stream = self.stream(name)
        stream.next_event()
        self.upstream.wait_for(path, 4)
        self.assertEqual(len(self.lines(f"session={name}", "lone surrogates")), 1)
        self.upstream.set(path, {"rows": [{"id": 1}]})
        self.news(stream)
        self.upstream.set(path, says(self.CUT))
        self.news(stream)
        self.wait_for_lines(2, f"session={name}", "3 lone surrogates became U+FFFD")

    def test_what_is_equal_by_then_is_a_duplicate(self):
        for body in (rb'{"rows":[{"id":"\ud83d"},{"id":"\udc00"}]}', rb'{"rows":[{"id":1,"\ud83d":1,"\udc00":2}]}'):
            with self.subTest(body):
                name, _ = self.new_list(says(body))
                self.assertProblem(self.get_session(name), 503, "source-unavailable")

    def test_a_writer_is_still_refused(self):
        self.assertProblem(self.post_changes(self.new_name(), self.CUT.decode()), 400, "malformed-json")
