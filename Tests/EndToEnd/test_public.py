"""Sessions that anybody may read: CONTRACT §9."""

import contextlib
import itertools
import threading
import unittest

from support.case import ServiceCase
from support.client import Client, session_path, target
from support.events import Stream
from support.outside import figure, wait_until_held
from support.redis import IS_INSTALLED, MISSING, Redis
from support.server import Server
from support.sources import KEY as SOURCE_KEY, KEYS, WEBHOOK_SECRET, SourceCase
from support.store import names_its_stores
from support.tokens import bearer, token
from test_tokens_and_keys import KEY, TEAM_KEY, Guarded

CACHED = "public, max-age=1, stale-while-revalidate=10"
VARY = ["Accept, Accept-Encoding, Authorization"]
PAGE = "https://page.example"
EXPOSED = "Location, ETag, Retry-After, Preference-Applied, Delta-Base, Diffserver-Expires, X-Request-Id"
# The routes that read a session, below its path.
READS = ("", "/changes", "/items/a", "/items?id=a", "/sections/main", "/sections?id=main")


def said(answer, name):
    """What an answer about a session says, but for its name and what differs between any two."""
    headers = [pair for pair in answer.headers.items() if pair[0] not in ("Date", "X-Request-Id")]
    return answer.status, headers, answer.body.replace(name.encode(), b"NAME")


class PublicCase(Guarded):
    key = KEY

    def put(self, session, body):
        answer = self.ask("PUT", session_path(session), self.key, body)
        self.assertIn(answer.status, (200, 201), answer)
        return answer.json["revision"]

    def make_public(self, state=("a",), session=None):
        session = session or self.new_name()
        return session, self.put(session, {"state": list(state), "public": True})

    def write(self, session, state):
        answer = self.ask("POST", session_path(session, "changes"), self.key, state)
        self.assertStatus(answer, 200)
        return answer.json["to"]

    def stream(self, path, query=None, headers=None):
        stream = Stream(self.server, path, query, headers)
        self.addCleanup(stream.close)
        return stream

    def hold(self, path, count=1):
        """A held request; a function that waits for its answer."""
        answers, client = [], Client(self.server, 60)
        thread = threading.Thread(target=lambda: answers.append(client.request("GET", path)))
        thread.start()
        wait_until_held(self.server, count, self.key)

        def answer():
            thread.join(60)
            client.close()
            return answers[0]
        return answer

    def assertShared(self, answer):
        self.assertEqual(answer.headers.get_all("Access-Control-Allow-Origin"), ["*"], answer.headers)
        self.assertEqual(answer.headers.get_all("Access-Control-Expose-Headers"), [EXPOSED], answer.headers)

    def assertCached(self, answer, is_cached=True):
        self.assertShared(answer)
        self.assertEqual(answer.headers.get_all("Cache-Control"), [CACHED if is_cached else "no-store"], answer.headers)
        if is_cached:
            self.assertEqual(answer.headers.get_all("Vary"), VARY, answer.headers)

    def assertEnds(self, stream):
        event = stream.next_event()
        while event.event == "changes":
            event = stream.next_event()
        self.assertEqual((event.event, event.json["type"]), ("end", "/problems/unauthenticated"), event)
        self.assertIsNone(stream.next())


class Callers(PublicCase):
    """Every route, method and caller, of sessions that are public, private and missing."""

    FILLED = {"{item}": "a", "{section}": "main", "{file}": "main.js", "{name}": "internal", "{jti}": "x"}
    QUERY = {"/v1/sessions/{session}/items": "?id=a", "/v1/sessions/{session}/sections": "?id=main"}
    # What a public session shows to anybody.
    READING = {"/v1/sessions/{session}", "/v1/sessions/{session}/changes", "/v1/sessions/{session}/items/{item}",
               "/v1/sessions/{session}/items", "/v1/sessions/{session}/sections/{section}", "/v1/sessions/{session}/sections",
               "/v1/changes"}
    METHODS = ("GET", "HEAD", "PUT", "POST", "PATCH", "DELETE")

    def callers(self, session):
        return {"nobody": {}, "key": bearer(KEY), "other key": bearer(TEAM_KEY), "token": bearer(token(session)),
                "other token": bearer(token("another")), "bad token": bearer(token(session, secret="x" * 40)),
                "basic": {"Authorization": "Basic YTpi"}, "empty": {"Authorization": ""}, "cookie": {"Cookie": f"key={KEY}"}}

    def expected(self, caller, kind, method, path, methods):
        """401, 403 or 404; None for any other status below 500."""
        reads = path in self.READING and method in ("GET", "HEAD")
        is_open = not path.startswith("/v1/") and path not in ("/metrics", "/debug/hot")
        if is_open:
            return None
        if caller in ("bad token", "basic", "empty"):
            return 401
        if caller in ("nobody", "cookie"):
            # A loopback address may read /metrics without a key.
            return None if path == "/metrics" and method in methods else 401 if not (reads and kind == "public") else None
        missing = 404 if reads and kind == "missing" and path != "/v1/changes" else None
        if caller == "key":
            return missing
        names_session = "{session}" in path
        if caller == "other key":
            return 403 if names_session or reads or path == "/debug/hot" else None
        if method not in methods:
            return 403 if caller == "other token" and names_session else None
        if caller == "other token":
            return 403
        if reads:
            return missing
        # It reads, and nothing else.
        return 403

    def test_nothing_is_public_by_accident(self):
        description = self.get("/openapi.json").json["paths"]
        count = 0
        for path, operations in description.items():
            methods = {each.upper() for each in operations}
            for method, kind in itertools.product(self.METHODS, ("public", "private", "missing")):
                session = f"{kind}-1"
                self.put("public-1", {"state": ["a"], "public": True})
                self.put("private-1", {"state": ["a"]})
                self.ask("DELETE", session_path("missing-1"), KEY)
                filled = path.replace("{session}", session)
                for name, value in self.FILLED.items():
                    filled = filled.replace(name, value)
                filled += self.QUERY.get(path, "") + (f"?session={session}" if path == "/v1/changes" else "")
                for caller, headers in self.callers(session).items():
                    with self.subTest(path, method=method, kind=kind, caller=caller):
                        expected = self.expected(caller, kind, method, path, methods)
                        # A key may do everything: it would change what the others meet.
                        if caller in ("key", "other key") and method not in ("GET", "HEAD"):
                            continue
                        answer = self.client.request(method, filled, None, headers)
                        count += 1
                        if expected is None:
                            self.assertNotIn(answer.status, (401, 403), answer)
                            self.assertLess(answer.status, 500, answer)
                        else:
                            self.assertEqual(answer.status, expected, answer)
                        self.assertOnlyReadersShare(answer, caller, method, path)
        self.assertGreater(count, 1000)

    def assertOnlyReadersShare(self, answer, caller, method, path):
        if not path.startswith("/v1/"):
            return
        is_shared = caller in ("nobody", "cookie") and method in ("GET", "HEAD") and path in self.READING
        self.assertEqual(answer.headers["Access-Control-Allow-Origin"], "*" if is_shared else None, answer)
        self.assertEqual("public" in (answer.headers["Cache-Control"] or ""), is_shared and answer.status == 200, answer)

    def test_existence_does_not_leak(self):
        self.put("there-1", {"state": ["a"]})
        self.ask("DELETE", session_path("nowhere"), KEY)
        queries = ("", "view=%7B", "view=%7B%22limit%22%3A1%7D", "sinse=1", "since=x", "wait=0.5", "wait=1", "at=start", "every=x",
                   "dialect=x", "revision=1-0000000000000000", "revision=x", "id=a&id=b", "at=9")
        callers = ({}, {"Accept": "text/plain"}, {"Accept": "text/event-stream"}, {"If-None-Match": "*"}, {"Prefer": "wait=1"},
                   {"Last-Event-ID": "x"}, {"Origin": PAGE})
        for read, query, headers in itertools.product(READS, queries, callers):
            for method in ("GET", "HEAD"):
                with self.subTest(read, method=method, query=query, headers=headers):
                    private, missing = (
                        said(self.client.request(method, session_path(name) + read + ("&" if "?" in read else "?") + query, None, headers), name)
                        for name in ("there-1", "nowhere"))
                    self.assertEqual(private[0], 401)
                    self.assertEqual(private, missing)

    def test_of_many_all_must_be_public(self):
        (one, _), (two, _) = self.make_public(), self.make_public()
        private, missing = self.new_name(), self.new_name()
        self.put(private, {"state": ["a"]})
        self.assertStatus(self.get("/v1/changes", {"session": [one, two]}), 200)
        for others in ([private], [missing], [private, missing], ["a b"], []):
            for names in ([*others, one], [one, two, *others]) if others else ([],):
                for headers in ({}, {"Accept": "text/event-stream"}):
                    with self.subTest(names, headers=headers):
                        answer = self.get("/v1/changes", {"session": names}, **headers)
                        self.assertProblem(answer, 401, "unauthenticated")
                        self.assertCached(answer, False)
        self.assertProblem(self.get("/v1/changes", {"session": [one, two], "sinse": "1"}), 400, "unknown-parameter")
        self.assertProblem(self.get("/v1/changes", {"session": [one] * 65}), 422, "limit-exceeded")


class Readers(PublicCase):
    def test_a_reader_without_credentials_reads_like_any_other(self):
        session, _ = self.make_public([{"id": "a", "content": {"n": 1}}, "b"])
        for read in READS:
            with self.subTest(read):
                path = session_path(session) + read
                answer, known = self.get(path, Origin=PAGE), self.ask("GET", path, KEY)
                self.assertStatus(answer, 200)
                self.assertEqual(answer.body, known.body)
                self.assertCached(answer)
                head = self.request("HEAD", path)
                self.assertEqual((head.status, head.headers["Content-Length"]), (200, answer.headers["Content-Length"]))
                self.assertCached(head)

    def test_with_credentials_all_is_as_ever(self):
        session, _ = self.make_public()
        for given in (KEY, token(session)):
            for read in READS:
                answer = self.ask("GET", session_path(session) + read, given, None, Origin=PAGE)
                self.assertStatus(answer, 200)
                self.assertIsNone(answer.headers["Access-Control-Allow-Origin"])
                self.assertEqual(answer.headers["Cache-Control"], "no-store" if read else "private, no-cache")
                self.assertIn(answer.headers.get_all("Vary"), (None, ["Accept-Encoding"]))

    def test_a_304(self):
        session, _ = self.make_public()
        answer = self.get(session_path(session))
        again = self.get(session_path(session), If_None_Match=answer.headers["ETag"])
        self.assertStatus(again, 304)
        self.assertEqual(again.headers["ETag"], answer.headers["ETag"])
        self.assertCached(again)

    def test_problems_are_shared_and_not_kept(self):
        session, _ = self.make_public()
        for path, query, status in (("", {"sinse": "1"}, 400), ("changes", {"since": "x"}, 400), ("items/z", {}, 404),
                                    ("items/a", {"revision": "1-0000000000000000"}, 410), ("changes", {"view": "{"}, 400)):
            answer = self.get(session_path(session) + ("/" + path if path else ""), query)
            self.assertStatus(answer, status)
            self.assertCached(answer, False)
        self.assertCached(self.get(session_path(session), Accept="text/plain"), False)

    def test_what_the_url_alone_says_is_kept(self):
        session, first = self.make_public()
        self.write(session, ["a", "b"])
        path = session_path(session, "changes")
        own = "application/vnd.diffserver.indexed+json"
        for query, headers, is_cached in (
                ({"since": first}, {}, True), ({"since": first, "dialect": "indexed"}, {}, True),
                ({"since": first, "dialect": "indexed"}, {"Accept": "*/*"}, True), ({"dialect": "indexed"}, {"Accept": own}, True),
                ({}, {"Accept": "application/json"}, True), ({"view": '{"limit":1}'}, {}, True), ({"at": "start"}, {}, True),
                ({}, {"Accept": own}, False), ({}, {"Accept": "application/json-patch+json"}, False),
                ({"dialect": "json-patch"}, {"Accept": "application/json-patch+json"}, False), ({"dialect": "json-patch"}, {}, True),
                ({"every": "2"}, {}, False), ({"since": first}, {"Prefer": "wait=1"}, True)):
            with self.subTest(query, headers=headers):
                answer = self.get(path, query, **headers)
                self.assertStatus(answer, 200)
                self.assertCached(answer, is_cached)
        for query, is_cached in (({}, True), ({"every": "2"}, False)):
            self.assertCached(self.get("/v1/changes", {"session": session, **query}), is_cached)

    def test_held_requests(self):
        session, head = self.make_public()
        path = session_path(session, "changes")
        ended = self.get(path, {"since": head, "wait": "1"})
        self.assertEqual(ended.json["changes"], [])
        self.assertCached(ended, False)
        changed = self.hold(target(path, {"since": head, "wait": "30"}))
        head = self.write(session, ["b"])
        self.assertCached(changed())
        # The URL alone would not have waited.
        client = Client(self.server, 60)
        with contextlib.closing(client):
            answers = []
            thread = threading.Thread(target=lambda: answers.append(
                client.request("GET", target(path, {"since": head}), None, {"Prefer": "wait=30"})))
            thread.start()
            wait_until_held(self.server, 1, KEY)
            self.write(session, ["c"])
            thread.join(60)
        self.assertCached(answers[0], False)

    def test_streams(self):
        (session, _), (other, _) = self.make_public(), self.make_public()
        for path, query in ((session_path(session, "changes"), {}), ("/v1/changes", {"session": [session, other]})):
            stream = self.stream(path, query, {"Origin": PAGE})
            self.assertEqual(stream.status, 200)
            self.assertCached(stream, False)
            self.assertEqual(stream.next_event().event, "changes")
            self.write(session, ["a", path])
            while stream.next_event().json.get("reset"):
                pass

    def test_cors_and_preflights_are_as_ever(self):
        session, _ = self.make_public()
        answer = self.request("OPTIONS", session_path(session), None, None, Origin=PAGE, Access_Control_Request_Method="GET")
        self.assertStatus(answer, 204)
        self.assertIsNone(answer.headers["Access-Control-Allow-Origin"])

    def test_answers_are_counted(self):
        session, _ = self.make_public()
        kinds = [f'diffserver_answers_total{{cache="{kind}"}}' for kind in ("public", "no-store")]
        before = [figure(self.server, kind, KEY) for kind in kinds]
        self.get(session_path(session))
        self.get(session_path(self.new_name()))
        self.ask("GET", session_path(session), KEY)
        self.assertEqual([figure(self.server, kind, KEY) for kind in kinds], [each + 1 for each in before])

    def test_a_post_that_creates_and_wrong_values(self):
        session = self.new_name()
        self.assertStatus(self.ask("POST", session_path(session, "changes"), KEY, {"state": ["a"], "public": True}), 201)
        self.assertStatus(self.get(session_path(session)), 200)
        self.assertTrue(self.ask("GET", session_path(session, "settings"), KEY).json["public"])
        for wrong in ("true", 1, [], {}):
            answer = self.ask("PUT", session_path(self.new_name()), KEY, {"public": wrong})
            self.assertErrors(answer, "wrong-shape", ("/public", "wrong-type"))


class Ends(PublicCase):
    """Readers without credentials end once the session is public no more."""

    def readers(self, session, head):
        other, _ = self.make_public()
        streams = [self.stream(session_path(session, "changes"), query) for query in ({}, {"every": "60"}, {"view": '{"limit":1}'})]
        streams.append(self.stream("/v1/changes", {"session": [other, session]}))
        for stream in streams:
            self.assertEqual(stream.status, 200)
            self.assertEqual(stream.next_event().event, "changes")
        return streams, self.hold(target(session_path(session, "changes"), {"since": head, "wait": "30"}))

    def check(self, end):
        session, head = self.make_public()
        streams, held = self.readers(session, head)
        known = self.stream(session_path(session, "changes"), None, bearer(KEY))
        self.assertEqual(known.next_event().event, "changes")
        end(session)
        for stream in streams:
            self.assertEnds(stream)
        answer = held()
        self.assertProblem(answer, 401, "unauthenticated")
        self.assertCached(answer, False)
        self.assertProblem(self.get(session_path(session)), 401, "unauthenticated")
        return session, known

    def test_by_its_setting(self):
        for value in (False, None):
            session, known = self.check(lambda session: self.put(session, {"public": value}))
            self.write(session, ["new"])
            self.assertEqual(known.next_event().event, "changes")

    def test_by_starting_over(self):
        _, known = self.check(lambda session: self.put(session, {"state": ["b"]}))
        self.assertEqual(known.next_event().json["reset"], "replaced")

    def test_by_its_deletion(self):
        def end(session):
            self.ask("DELETE", session_path(session), KEY)
            self.put(session, {"state": ["b"]})
        _, known = self.check(end)
        self.assertEqual(known.next_event().json["type"], "/problems/session-not-found")

    def test_other_settings_end_nobody(self):
        session, _ = self.make_public()
        stream = self.stream(session_path(session, "changes"))
        self.assertEqual(stream.next_event().event, "changes")
        self.put(session, {"ttl": 77})
        self.put(session, {"public": True})
        self.put(session, {"state": ["b"], "public": True})
        self.assertEqual(stream.next_event().json["reset"], "replaced")


class Limits(PublicCase):
    options = (*Guarded.options, "--max-streams", "4")

    def test_half_of_the_streams_are_for_those_with_credentials(self):
        session, _ = self.make_public()
        path = session_path(session, "changes")
        known = [self.stream(path, None, bearer(KEY)) for _ in range(2)]
        streams = [self.stream(path) for _ in range(3)]
        self.assertEqual([each.status for each in streams], [200, 200, 429])
        self.assertCached(streams[2], False)
        streams[0].close()
        self.assertEqual({each.status for each in known}, {200})


class Rates(PublicCase):
    options = (*Guarded.options, "--rate", "5")

    def test_the_rate_comes_first(self):
        statuses = {self.get(session_path("missing")).status for _ in range(20)}
        self.assertEqual(statuses, {401, 429})
        self.assertCached(self.get(session_path("missing")), False)
        # Theirs is another.
        self.assertStatus(self.ask("GET", session_path("missing"), KEY), 404)


class OpenLoopback(ServiceCase):
    """Where nobody needs credentials, a public session's answers are those of a public session."""

    def test_its_rules_come_first(self):
        session = self.new_name()
        self.assertStatus(self.put_session(session, {"state": ["a"], "public": True}), 201)
        private, _ = self.made(["a"])
        for read in READS:
            answer = self.get(session_path(session) + read)
            self.assertEqual((answer.status, answer.headers["Access-Control-Allow-Origin"]), (200, "*"))
            self.assertEqual((answer.headers["Cache-Control"], answer.headers.get_all("Vary")), (CACHED, VARY))
            answer = self.get(session_path(private) + read)
            self.assertEqual((answer.status, answer.headers["Access-Control-Allow-Origin"]), (200, None))
            self.assertNotIn("public", answer.headers["Cache-Control"])
        self.assertEqual(self.get("/v1/changes", {"session": session}).headers["Cache-Control"], CACHED)
        self.assertEqual(self.get("/v1/changes", {"session": [session, private]}).headers["Cache-Control"], "no-store")
        self.assertEqual(self.get(session_path(session), {"sinse": "1"}).headers["Access-Control-Allow-Origin"], "*")
        for headers in ({"Origin": PAGE}, {"Sec_Fetch_Site": "cross-site"}, {"Host": "evil.example"}, {"Via": "1.1 p"}):
            answer = self.get(session_path(session), **headers)
            self.assertProblem(answer, 403, "forbidden")
            self.assertIsNone(answer.headers["Access-Control-Allow-Origin"])
        self.assertIsNone(self.put_session(session, {}).headers["Access-Control-Allow-Origin"])


class NamedOrigins(PublicCase):
    options = (*Guarded.options, "--origin", "https://app.example.org")

    def test_a_named_origin_too_is_answered_any(self):
        session, _ = self.make_public()
        self.assertCached(self.get(session_path(session), Origin="https://app.example.org"))
        answer = self.ask("GET", session_path(session), KEY, None, Origin="https://app.example.org")
        self.assertEqual(answer.headers["Access-Control-Allow-Origin"], "https://app.example.org")


class Listed(SourceCase):
    """Sessions of `--lists`."""

    options = KEYS
    variables = {"HOOK_SECRET": WEBHOOK_SECRET}

    @classmethod
    def lists(cls, url, is_public=True):
        source = {"source": {"url": f"{url}/f/{{name}}", "every": cls.interval, "timeout": 5}}
        return {"f:{name}": {**source, "public": is_public}, "p:{name}": {"source": {"url": f"{url}/p/{{name}}"}},
                "h:{name}": {"hook": {"url": f"{url}/h", "secret": "env:HOOK_SECRET"}, "public": is_public}}

    def ask(self, method, path, body=None):
        return self.request(method, path, body, None, Authorization=f"Bearer {SOURCE_KEY}")

    def test_it_is_public_before_it_is_made(self):
        name, _ = self.new_list(["a"])
        answer = self.get(session_path(name))
        self.assertStatus(answer, 200)
        self.assertEqual(answer.headers["Cache-Control"], CACHED)
        self.assertTrue(self.ask("GET", session_path(name, "settings")).json["public"])
        name, path = self.new_list(["a"], "p")
        self.assertProblem(self.get(session_path(name)), 401, "unauthenticated")
        self.assertEqual(self.upstream.count(path), 0)
        self.assertProblem(self.get(session_path("h:1")), 404, "session-not-found")
        self.assertStatus(self.ask("POST", session_path("h:2", "changes"), ["a"]), 201)
        self.assertStatus(self.get(session_path("h:2")), 200)

    def test_a_reload_ends_its_readers(self):
        name, _ = self.new_list(["a"])
        waiting = Stream(self.server, session_path("h:never", "changes"))
        fetched = Stream(self.server, session_path(name, "changes"))
        for stream in (waiting, fetched):
            self.addCleanup(stream.close)
            self.assertEqual(stream.status, 200)
        self.assertEqual(fetched.next_event().event, "changes")
        self.addCleanup(self.reload, self.lists(self.upstream.url))
        self.reload(self.lists(self.upstream.url, is_public=False))
        for stream in (waiting, fetched):
            self.assertEqual(stream.next_event().json["type"], "/problems/unauthenticated")
        self.assertProblem(self.get(session_path(name)), 401, "unauthenticated")


@names_its_stores
@unittest.skipUnless(IS_INSTALLED, MISSING)
class OfTwoNodes(unittest.TestCase):
    def test_what_one_node_is_told_holds_at_another(self):
        redis = Redis()
        self.addCleanup(redis.close)
        nodes = [Server(*Guarded.options, "--store", f"redis://127.0.0.1:{redis.port}") for _ in range(2)]
        for node in nodes:
            self.addCleanup(node.stop)
        one, other = map(Client, nodes)
        for client in (one, other):
            self.addCleanup(client.close)
        path = session_path("s")
        for _ in range(3):
            self.assertEqual(other.request("GET", path).status, 401)
            self.assertIn(one.request("PUT", path, {"state": ["a"], "public": True}, bearer(KEY)).status, (200, 201))
            self.assertEqual(other.request("GET", path).status, 200)
            stream = Stream(nodes[1], session_path("s", "changes"))
            self.addCleanup(stream.close)
            self.assertEqual(stream.next_event().event, "changes")
            self.assertEqual(one.request("PUT", path, {"public": None}, bearer(KEY)).status, 200)
            self.assertEqual(other.request("GET", path).status, 401)
            self.assertEqual(stream.next_event().json["type"], "/problems/unauthenticated")
            self.assertIsNone(stream.next())
