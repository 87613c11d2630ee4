"""Tokens that are refused before they end: CONTRACT §3 and §9."""

import hashlib
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from support.case import ServiceCase
from support.client import Client, session_path
from support.clock import wait_for
from support.events import Stream
from support.node import Node
from support.outside import wait_until_held
from support.redis import IS_INSTALLED, MISSING, Redis, Shards
from support.server import Server
from support.store import names_its_stores
from support.tokens import SECRET, bearer, token

KEY, TEAM_KEY = "a-writer's-key", "the-key-of-team-a"
EDIT = {"edits": [{"op": "insert", "items": [{"id": "n"}]}]}


def hashed(key):
    return hashlib.sha256(key.encode()).hexdigest()


OPTIONS = ("--key", f"writer:{hashed(KEY)}", "--key", f"team:{hashed(TEAM_KEY)}:team-a:", "--token-secret", SECRET)


class Revocation(ServiceCase):
    options = OPTIONS

    def ask(self, method, path, given=KEY, body=None, **headers):
        return self.request(method, path, body, None, Authorization=f"Bearer {given}", **headers)

    def setUp(self):
        self.session, self.other = self.new_name(), self.new_name()
        for name in (self.session, self.other):
            self.assertStatus(self.ask("PUT", session_path(name), KEY, {"state": ["a"]}), 201)
        self.path = session_path(self.session)

    def mint(self, *sessions):
        answer = self.ask("POST", "/v1/tokens", KEY, {"sessions": sessions or [self.session], "scope": ["read", "edit"]})
        self.assertStatus(answer, 201)
        return answer.json["token"]

    def revoke(self, session=None, given=KEY):
        answer = self.ask("DELETE", session_path(session or self.session, "tokens"), given)
        self.assertStatus(answer, 204)
        self.assertEqual(answer.body, b"")

    def test_all_that_were_made_before_are_refused_and_those_made_after_are_not(self):
        for _ in range(30):
            before = self.mint()
            self.revoke()
            after = self.mint()
            self.assertProblem(self.ask("GET", self.path, before), 401, "unauthenticated")
            self.assertStatus(self.ask("GET", self.path, after), 200)

    def test_whoever_is_refused_is_refused_everything(self):
        before = self.mint()
        self.revoke()
        for method, path, body in (("GET", "", None), ("HEAD", "", None), ("GET", "/changes", None), ("GET", "/changes?wait=1", None),
                                   ("POST", "/changes", EDIT), ("POST", "/changes", "[["), ("GET", "/items?id=a", None),
                                   ("GET", "/sections/main", None), ("PUT", "", {"state": []}), ("GET", "/changes?sinse=1", None)):
            with self.subTest(method, path=path):
                self.assertEqual(self.ask(method, self.path + path, before, body).status, 401)
        # Identity is checked before permission, and before existence.
        self.assertEqual(self.ask("GET", session_path(self.other), before).status, 401)
        self.assertEqual(self.ask("GET", "/v1/nothing", before).status, 401)
        self.assertEqual(self.ask("POST", "/v1/diff", before, {"old": [], "new": []}).status, 401)

    def test_when_a_token_says_that_it_was_made_is_what_counts(self):
        now = time.time()
        given = {each: token(self.session, iat=each) for each in (None, 0, now - 3600, now + 30)}
        self.assertEqual({self.ask("GET", self.path, each).status for each in given.values()}, {200})
        self.revoke()
        self.assertEqual([self.ask("GET", self.path, each).status for each in given.values()], [401, 401, 401, 200])

    def test_a_token_of_several_sessions_ends_with_any_of_them(self):
        both, second = self.mint(self.session, self.other), self.mint(self.other)
        self.revoke()
        for name in (self.session, self.other):
            self.assertProblem(self.ask("GET", session_path(name), both), 401, "unauthenticated")
        self.assertStatus(self.ask("GET", session_path(self.other), second), 200)

    def test_one_token_is_revoked_alone(self):
        minted = [self.ask("POST", "/v1/tokens", KEY, {"sessions": names, "scope": ["read"]}).json
                  for names in ([self.session], [self.session], [self.session, self.other])]
        own = [token(self.session, jti=each) for each in ("a/b é", "a", None, "x" * 129)]
        streams = [Stream(self.server, f"{self.path}/changes", None, bearer(each["token"])) for each in minted]
        for stream in streams:
            self.addCleanup(stream.close)
            self.assertEqual(stream.next_event().event, "changes")
        for jti in (minted[0]["jti"], minted[2]["jti"], "a%2Fb%20%C3%A9"):
            self.assertStatus(self.ask("DELETE", f"{self.path}/tokens/{jti}"), 204)
        self.assertEqual([self.ask("GET", self.path, each["token"]).status for each in minted], [401, 200, 401])
        self.assertEqual([self.ask("GET", self.path, each).status for each in own], [401, 200, 200, 200])
        self.assertProblem(self.ask("GET", session_path(self.other), minted[2]["token"]), 401, "unauthenticated")
        self.assertProblem(self.ask("DELETE", f"{self.path}/tokens/{'x' * 129}"), 400, "malformed-request")
        self.assertProblem(self.ask("DELETE", f"{self.path}/tokens/{minted[1]['jti']}", minted[1]["token"]), 403, "forbidden")
        for stream in (streams[0], streams[2]):
            event = stream.next_event()
            self.assertEqual((event.event, event.json["type"]), ("end", "/problems/unauthenticated"))
        # The others go on, and what is revoked stays so when the session is made again.
        self.assertStatus(self.ask("DELETE", self.path), 204)
        self.assertStatus(self.ask("PUT", self.path, KEY, {"state": ["b"]}), 201)
        self.assertEqual([self.ask("GET", self.path, each["token"]).status for each in minted[:2]], [401, 200])

    def test_it_outlives_the_session(self):
        before = self.mint()
        self.revoke()
        self.assertStatus(self.ask("DELETE", self.path), 204)
        self.assertStatus(self.ask("PUT", self.path, KEY, {"state": ["b"]}), 201)
        self.assertProblem(self.ask("GET", self.path, before), 401, "unauthenticated")

    def test_a_session_that_is_not_there(self):
        name = self.new_name()
        before = self.mint(name)
        self.revoke(name)
        self.assertProblem(self.ask("GET", session_path(name), before), 401, "unauthenticated")
        self.assertProblem(self.ask("GET", session_path(name), self.mint(name)), 404, "session-not-found")

    def test_streams_and_held_requests_end(self):
        before, others = self.mint(), self.mint(self.other)
        both = self.mint(self.session, self.other)
        mine = [Stream(self.server, f"{self.path}/changes", None, bearer(before)) for _ in range(3)]
        # One that reads the other session with a token that also covers this one.
        mine.append(Stream(self.server, session_path(self.other, "changes"), None, bearer(both)))
        theirs = [Stream(self.server, session_path(self.other, "changes"), None, bearer(others)),
                  Stream(self.server, f"{self.path}/changes", None, bearer(KEY))]
        for stream in mine + theirs:
            self.addCleanup(stream.close)
            self.assertEqual(stream.next_event().event, "changes")
        head = self.ask("GET", self.path).json["revision"]
        with ThreadPoolExecutor() as pool:
            held = pool.submit(Client(self.server).request, "GET", f"{self.path}/changes?since={head}&wait=20", None, bearer(before))
            wait_until_held(self.server, 1, KEY)
            self.revoke()
            self.assertProblem(held.result(), 401, "unauthenticated")
        for stream in mine:
            event = stream.next_event()
            self.assertEqual((event.event, event.json["type"]), ("end", "/problems/unauthenticated"))
            self.assertIsNone(stream.next())
        for name in (self.session, self.other):
            self.ask("POST", session_path(name, "changes"), KEY, ["new"])
        for stream in theirs:
            self.assertEqual(stream.next_event().event, "changes")

    def test_it_needs_a_key_for_the_session(self):
        given = self.mint()
        self.assertProblem(self.ask("DELETE", self.path + "/tokens", given), 403, "forbidden")
        self.assertProblem(self.ask("DELETE", self.path + "/tokens", TEAM_KEY), 403, "forbidden")
        self.assertProblem(self.request("DELETE", self.path + "/tokens"), 401, "unauthenticated")
        self.assertStatus(self.ask("GET", self.path, given), 200)
        self.revoke("team-a:1", TEAM_KEY)
        self.assertProblem(self.ask("DELETE", session_path("a b", "tokens")), 400, "malformed-request")
        self.assertProblem(self.ask("DELETE", self.path + "/tokens?all=1"), 400, "unknown-parameter")


@names_its_stores
class Restarts(unittest.TestCase):
    def check(self, store, kill):
        node = Node(*OPTIONS, "--store", store)
        self.addCleanup(node.stop)
        client = Client(node)
        self.addCleanup(client.close)
        client.request("PUT", session_path("a"), {"state": ["x"]}, bearer(KEY))
        before = token("a", iat=time.time())
        self.assertEqual(client.request("DELETE", session_path("a", "tokens"), None, bearer(KEY)).status, 204)
        node.kill() if kill else node.stop()
        node.start()
        after = token("a", iat=time.time())
        self.assertEqual(client.request("GET", session_path("a"), None, bearer(before)).status, 401)
        self.assertEqual(client.request("GET", session_path("a"), None, bearer(after)).status, 200)

    def test_in_sqlite(self):
        for kill in (False, True):
            with self.subTest(kill=kill), tempfile.TemporaryDirectory() as folder:
                self.check(f"sqlite:{folder}/sessions.db", kill)

    @unittest.skipUnless(IS_INSTALLED, MISSING)
    def test_in_redis(self):
        for kill in (False, True):
            with self.subTest(kill=kill):
                redis = Redis()
                self.addCleanup(redis.close)
                self.check(f"redis://127.0.0.1:{redis.port}", kill)

    @unittest.skipUnless(IS_INSTALLED, MISSING)
    def test_moments_that_nobody_wrote(self):
        redis = Redis()
        self.addCleanup(redis.close)
        redis.say("ZADD", "diffserver:revoked", "-inf", "a", "+inf", "b", "-1e300", "c", "5", "")
        self.check(f"redis://127.0.0.1:{redis.port}", kill=False)


class Nodes:
    """Two nodes of one store."""

    def setUp(self):
        self.store = self.start()
        self.addCleanup(self.store.close)
        self.nodes = [Server(*OPTIONS, *self.of_store()) for _ in range(2)]
        self.clients = [Client(node) for node in self.nodes]
        for each in self.nodes:
            self.addCleanup(each.stop)
        for each in self.clients:
            self.addCleanup(each.close)
        self.assertEqual(self.clients[0].request("PUT", session_path("a"), {"state": ["x"]}, bearer(KEY)).status, 201)

    def mint(self, *sessions):
        answer = self.clients[1].request("POST", "/v1/tokens", {"sessions": sessions, "scope": ["read", "edit"]}, bearer(KEY))
        return answer.json["token"]

    def revoke(self, session):
        answer = self.clients[0].request("DELETE", session_path(session, "tokens"), None, bearer(KEY))
        self.assertEqual(answer.status, 204)

    def test_streams_at_other_nodes_end(self):
        stream = Stream(self.nodes[1], session_path("a", "changes"), None, bearer(self.mint("b", "a")))
        self.addCleanup(stream.close)
        self.assertEqual(stream.next_event().event, "changes")
        self.revoke("b")
        event = stream.next_event(20)
        self.assertEqual((event.event, event.json["type"]), ("end", "/problems/unauthenticated"))

    def test_one_token_is_refused_by_every_node(self):
        (mine, jti), (other, _) = [(each["token"], each["jti"]) for each in (self.clients[1].request(
            "POST", session_path("a", "tokens"), {"scope": ["read"]}, bearer(KEY)).json for _ in range(2))]
        stream = Stream(self.nodes[1], session_path("a", "changes"), None, bearer(mine))
        self.addCleanup(stream.close)
        self.assertEqual(stream.next_event().event, "changes")
        self.assertEqual(self.clients[0].request("DELETE", session_path("a", "tokens", jti), None, bearer(KEY)).status, 204)
        self.assertEqual(stream.next_event(20).event, "end")
        late = Server(*OPTIONS, *self.of_store())
        self.addCleanup(late.stop)
        for node in (*self.nodes, late):
            client = Client(node)
            self.addCleanup(client.close)
            self.assertEqual([client.request("GET", session_path("a"), None, bearer(each)).status for each in (mine, other)], [401, 200])

    def test_other_nodes_refuse_it_at_once(self):
        for number in range(50):
            given = self.mint("a", "b")
            self.revoke("ab"[number // 2 % 2])
            method, path, body = [("GET", session_path("a"), None), ("POST", session_path("a", "changes"), EDIT)][number % 2]
            self.assertEqual(self.clients[1].request(method, path, body, bearer(given)).status, 401)
            self.assertEqual(self.clients[1].request("GET", session_path("a"), None, bearer(self.mint("a", "b"))).status, 200)


@names_its_stores
@unittest.skipUnless(IS_INSTALLED, MISSING)
class NodesOfOneRedis(Nodes, unittest.TestCase):
    def start(self):
        return Redis()

    def of_store(self):
        return ("--store", f"redis://127.0.0.1:{self.store.port}")

    def test_what_was_missed_is_read(self):
        given = self.mint("a")
        self.store.say("CLIENT", "KILL", "TYPE", "pubsub")
        self.revoke("a")
        self.assertEqual(self.clients[1].request("GET", session_path("a"), None, bearer(given)).status, 401)
        given = self.mint("a")
        stream = Stream(self.nodes[1], session_path("a", "changes"), None, bearer(given))
        self.addCleanup(stream.close)
        self.assertEqual(stream.next_event().event, "changes")
        self.store.say("CLIENT", "KILL", "TYPE", "pubsub")
        self.revoke("a")
        self.assertEqual(stream.next_event(20).event, "end")

    def test_a_store_that_was_emptied_is_no_pardon_at_nodes_that_know(self):
        given = self.mint("a")
        self.revoke("a")
        wait_for(lambda: all(client.request("GET", session_path("a"), None, bearer(given)).status == 401 for client in self.clients),
                 "all know", 30, not_yet=())
        self.store.say("FLUSHALL")
        for client in self.clients:
            self.assertEqual(client.request("GET", session_path("a"), None, bearer(given)).status, 401)


@names_its_stores
@unittest.skipUnless(IS_INSTALLED, MISSING)
class NodesOfACluster(Nodes, unittest.TestCase):
    def start(self):
        return Shards()

    def of_store(self):
        return ("--store", self.store.address, "--digest-key", "k")

    def test_other_nodes_refuse_it_at_once(self):
        """As soon as they hear of it, which takes no longer than a message."""
        given = self.mint("a", "b")
        self.revoke("b")
        wait_for(lambda: self.clients[1].request("GET", session_path("a"), None, bearer(given)).status == 401, "it knows", 30, not_yet=())
        self.assertEqual(self.clients[1].request("GET", session_path("a"), None, bearer(self.mint("a", "b"))).status, 200)
