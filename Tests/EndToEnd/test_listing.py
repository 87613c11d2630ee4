"""Which sessions there are: `GET /v1/sessions` (CONTRACT §3)."""

import hashlib
import tempfile
import unittest
from datetime import datetime, timezone

from support.case import ServiceCase
from support.client import Client, session_path
from support.clock import wait_for
from support.events import Stream
from support.node import Node
from support.redis import IS_INSTALLED, MISSING, Redis, Shards
from support.store import names_its_stores
from support.tokens import SECRET, bearer, token

KEY, TEAM_KEY = "a-writer's-key", "the-key-of-team-a"
OUTLINE = {"sections": [{"id": "s", "items": ["a", {"id": "b", "expanded": False, "items": ["c", "d"]}, {"id": "e", "items": ["f"]}]}]}


def hashed(key):
    return hashlib.sha256(key.encode()).hexdigest()


def left(entry):
    return (datetime.fromisoformat(entry["expiresAt"]) - datetime.now(timezone.utc)).total_seconds()


class Listing(ServiceCase):
    options = ("--key", f"writer:{hashed(KEY)}", "--key", f"team:{hashed(TEAM_KEY)}:team-a:", "--token-secret", SECRET)

    def setUp(self):
        for entry in self.listed(limit=1000)["sessions"]:
            self.delete_session(entry["session"], Authorization=f"Bearer {KEY}")

    def ask(self, given=KEY, **query):
        return self.get("/v1/sessions", query, Authorization=given and f"Bearer {given}")

    def listed(self, given=KEY, **query):
        answer = self.ask(given, **query)
        self.assertStatus(answer, 200)
        self.assertEqual(answer.headers["Cache-Control"], "no-store")
        self.assertLessEqual(set(answer.json), {"sessions", "next"})
        return answer.json

    def names(self, given=KEY, **query):
        return [entry["session"] for entry in self.listed(given, **query)["sessions"]]

    def make(self, *names, state=("a",), **settings):
        for name in names:
            self.assertStatus(self.put_session(name, {"state": state, **settings}, Authorization=f"Bearer {KEY}"), 201)

    def test_names_are_in_the_order_of_their_bytes(self):
        names = ["b", "a~", "a:2", "a", "Z", "a-", "a:10", "0", "~", "a.", "_", "aa"]
        self.make(*names)
        self.assertEqual(self.names(), sorted(names, key=str.encode))
        self.assertEqual(self.names(prefix="a:"), ["a:10", "a:2"])
        self.assertEqual(self.names(after="a:"), ["a:10", "a:2", "aa", "a~", "b", "~"])
        self.assertEqual(self.names(after="a:10", prefix="a:"), ["a:2"])
        self.assertEqual(self.names(after="b", prefix="a"), [])
        self.assertEqual(self.names(after="a", prefix="b"), ["b"])
        self.assertEqual(self.names(prefix="", after=""), sorted(names, key=str.encode))

    def test_pages_lead_from_one_to_the_next(self):
        names = [f"n{number:03}" for number in range(25)]
        self.make(*reversed(names))
        for limit in (1, 7, 24, 25, 26, 1000):
            with self.subTest(limit):
                found, after = [], ""
                while True:
                    page = self.listed(limit=limit, after=after)
                    self.assertLessEqual(len(page["sessions"]), limit)
                    found += [entry["session"] for entry in page["sessions"]]
                    if "next" not in page:
                        break
                    self.assertEqual((len(page["sessions"]), page["next"]), (limit, found[-1]))
                    after = page["next"]
                self.assertEqual(found, names)

    def test_a_page_has_a_hundred_unless_told(self):
        self.make(*(f"n{number:03}" for number in range(101)))
        page = self.listed()
        self.assertEqual((len(page["sessions"]), page["next"]), (100, "n099"))
        self.assertEqual(self.names(after=page["next"]), ["n100"])

    def test_what_is_told_of_each(self):
        self.make("list", state=OUTLINE, ttl=600)
        revision = self.get_session("list", Authorization=f"Bearer {KEY}").json["revision"]
        entry, = self.listed()["sessions"]
        self.assertEqual(set(entry), {"session", "revision", "rows", "bytes", "expiresAt", "readers"})
        # The state's rows: children of collapsed items are none.
        self.assertEqual((entry["session"], entry["revision"], entry["rows"], entry["readers"]), ("list", revision, 4, 0))
        self.assertGreater(left(entry), 580)
        # A store that records ends reports them late, by a sixteenth and a half.
        self.assertLess(left(entry), 600 * 1.1 + 5)
        streams = [Stream(self.server, session_path("list", "changes"), None, bearer(KEY)) for _ in range(2)]
        for stream in streams:
            self.addCleanup(stream.close)
            stream.next_event()
        answer = self.post_changes("list", [{"id": "x", "content": "x" * 5000}], Authorization=f"Bearer {KEY}")
        new, = self.listed()["sessions"]
        self.assertEqual((new["revision"], new["rows"], new["readers"]), (answer.json["to"], 1, 2))
        self.assertGreater(new["bytes"], entry["bytes"] + 4000)

    def test_to_be_listed_is_no_use(self):
        self.make("short", ttl=3)
        self.make("long")
        self.assertEqual(self.names(), ["long", "short"])
        wait_for(lambda: self.names() == ["long"], "the short one ends", not_yet=())

    def test_a_session_that_was_taken_away_is_not_listed(self):
        self.make("a", "b")
        self.assertStatus(self.delete_session("a", Authorization=f"Bearer {KEY}"), 204)
        self.assertEqual(self.names(), ["b"])

    def test_a_key_of_a_prefix_sees_what_starts_with_it(self):
        self.make("team-a:1", "team-a:2", "team-b:1", "t")
        self.assertEqual(self.names(TEAM_KEY), ["team-a:1", "team-a:2"])
        for prefix, found in (("", ["team-a:1", "team-a:2"]), ("t", ["team-a:1", "team-a:2"]), ("team-a:2", ["team-a:2"]),
                              ("team-b", []), ("x", [])):
            with self.subTest(prefix):
                self.assertEqual(self.names(TEAM_KEY, prefix=prefix), found)
        self.assertEqual(self.names(TEAM_KEY, after="team-a:1"), ["team-a:2"])
        self.assertEqual(self.listed(TEAM_KEY, limit=2).get("next"), None)

    def test_who_may(self):
        self.assertProblem(self.ask(None), 401, "unauthenticated")
        self.assertProblem(self.ask(token("list", "read edit")), 403, "forbidden")

    def test_what_is_no_list(self):
        for query in ({"limit": 0}, {"limit": 1001}, {"limit": -1}, {"limit": "x"}, {"limit": ""}, {"prefix": "a b"}, {"prefix": "*"},
                      {"after": "/"}, {"prefix": "x" * 129}, {"limit": [1, 1]}):
            with self.subTest(query):
                self.assertProblem(self.ask(**query), 400, "malformed-request")
        self.assertProblem(self.ask(before="x"), 400, "unknown-parameter")
        self.assertProblem(self.ask(TEAM_KEY, prefix="none", limit=0), 400, "malformed-request")
        refused = self.get("/v1/sessions", None, Authorization=f"Bearer {KEY}", Accept="text/html")
        self.assertProblem(refused, 406, "not-acceptable")
        self.assertProblem(self.request("POST", "/v1/sessions", {}, None, Authorization=f"Bearer {KEY}"), 405, "method-not-allowed")

    def test_no_pattern_is_made_of_names(self):
        self.make("a-b", "a.b", "aXb")
        self.assertEqual(self.names(prefix="a."), ["a.b"])
        self.assertEqual(self.names(prefix="a-"), ["a-b"])

    def test_head(self):
        answer = self.request("HEAD", "/v1/sessions", None, None, Authorization=f"Bearer {KEY}")
        self.assertEqual((answer.status, answer.body), (200, b""))


@names_its_stores
class Open(ServiceCase):
    def test_on_the_loopback_it_needs_no_key(self):
        self.made(["a"], "list")
        self.assertEqual([each["session"] for each in self.get("/v1/sessions").json["sessions"]], ["list"])


class OutOfMemory:
    """Sessions that this process does not have in memory."""

    def check(self, *store, nodes=1):
        nodes = [Node(*store) for _ in range(nodes)]
        clients = [Client(node) for node in nodes]
        for each in clients + [node.server for node in nodes]:
            self.addCleanup(getattr(each, "close", None) or each.stop)
        names = sorted(f"s{number}" for number in range(40))
        for number, name in enumerate(names):
            state = {"state": [f"{each}" for each in range(number)]}
            self.assertEqual(clients[0].request("PUT", session_path(name), state).status, 201)
        if len(nodes) == 1:
            nodes[0].stop()
            nodes[0].start()
            self.addCleanup(nodes[0].stop)
        for limit in (7, 100):
            found, after = [], ""
            while after is not None:
                page = clients[-1].request("GET", f"/v1/sessions?limit={limit}&after={after}").json
                found += page["sessions"]
                after = page.get("next")
            self.assertEqual([(each["session"], each["rows"]) for each in found], [(name, n) for n, name in enumerate(names)])
        figures = clients[-1].request("GET", "/metrics").text
        self.assertIn("diffserver_sessions 0", figures)


@names_its_stores
class OutOfMemoryOverStores(OutOfMemory, unittest.TestCase):
    def test_in_sqlite(self):
        with tempfile.TemporaryDirectory() as folder:
            self.check("--store", f"sqlite:{folder}/sessions.db")

    @unittest.skipUnless(IS_INSTALLED, MISSING)
    def test_in_redis(self):
        redis = Redis()
        self.addCleanup(redis.close)
        redis.say("SET", "another's", "value")
        self.check("--store", f"redis://127.0.0.1:{redis.port}", nodes=2)

    @unittest.skipUnless(IS_INSTALLED, MISSING)
    def test_in_a_cluster(self):
        shards = Shards()
        self.addCleanup(shards.close)
        self.check("--store", shards.address, "--digest-key", "k", nodes=2)
