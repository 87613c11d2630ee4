"""Settings of a session: changed by PUT without a state, and nothing else; told by GET (CONTRACT §3)."""

import concurrent.futures
import hashlib
import time
import unittest
from datetime import datetime
from email.utils import parsedate_to_datetime

from support.case import ServiceCase
from support.client import Client, session_path, target
from support.clock import let_pass, stays
from support.database import SQLiteCase
from support.node import Node
from support.outside import wait_until_held
from support.redis import IS_INSTALLED, MISSING, Redis
from support.sources import KEY, KEYS, SourceCase
from support.store import names_its_stores
from support.tokens import bearer, token
from test_events import StreamCase

ROW = [{"id": 1, "content": {"text": "a", "seen": 1}}]
SEEN = [{"id": 1, "content": {"text": "a", "seen": 2}}]


class Settling(ServiceCase):
    def settle(self, session, settings, query=None, **headers):
        answer = self.put_session(session, settings, query, **headers)
        self.assertStatus(answer, 200)
        return answer.json["revision"]

    def test_state_revision_and_history_stay(self):
        session, first = self.made(["a"])
        second = self.wrote(session, ["a", "b"])
        for settings in ({}, {"ttl": 77}, {"ignore": ["/x"]}, {"keep": ["expanded"]}, {"shape": {"idAt": "/k"}},
                         {"public": True}, {"ttl": 78, "ignore": [], "keep": [], "public": False}):
            with self.subTest(settings):
                answer = self.put_session(session, settings)
                self.assertStatus(answer, 200)
                self.assertEqual((answer.json["revision"], answer.headers["ETag"]), (second, f'"{second}"'))
                self.assertEqual(set(answer.json), {"session", "revision", "expiresAt"})
        changes = self.get_changes(session, {"since": first}).json
        self.assertEqual([each["op"] for each in changes["changes"]], ["insert"])
        self.assertEqual([each["id"] for each in self.get_session(session).json["state"]["sections"][0]["items"]], ["a", "b"])
        # Settings that the last request did not name are unchanged.
        self.assertStatus(self.post_changes(session, [{"k": 7}]), 200)
        self.assertEqual(self.get_session(session).json["state"]["sections"][0]["items"][0]["id"], 7)

    def test_a_session_that_does_not_exist_is_made_empty(self):
        for body in ({}, {"ttl": 60, "ignore": ["/seen"]}, {"shape": {"itemsAt": "/l"}}):
            session = self.new_name()
            answer = self.put_session(session, body, If_None_Match="*")
            self.assertStatus(answer, 201)
            self.assertEqual(answer.headers["Location"], session_path(session))
            self.assertEqual(self.get_session(session).json["state"], {"sections": []})
        changes = self.post_changes(session, {"l": [{"id": 1}]}).json["changes"]
        self.assertEqual([each["op"] for each in changes], ["insert"])

    def test_parameters_of_a_shape_leave_the_body_what_it_is(self):
        session, revision = self.made(["a"])
        self.assertEqual(self.settle(session, {"ttl": 60}, {"idAt": "/ttl"}), revision)
        self.assertEqual(self.settle(session, {}, {"itemsAt": "/a", "map": "true"}), revision)

    def test_conditions_are_as_ever(self):
        session, first = self.made(["a"])
        head = self.wrote(session, ["b"])
        for settings in ({}, {"ttl": 60}):
            self.assertProblem(self.put_session(session, settings, If_None_Match="*"), 412, "session-exists")
            self.assertProblem(self.put_session(session, settings, If_Match=f'"{first}"'), 412, "revision-mismatch", current=head)
            self.assertProblem(self.put_session(self.new_name(), settings, If_Match="*"), 412, "revision-mismatch", current=None)
            for tag in (f'"{head}"', "*", f'W/"{head}"'):
                self.assertEqual(self.settle(session, settings, If_Match=tag), head)

    def test_a_bad_setting_changes_none(self):
        session, _ = self.made(ROW)
        for bad in ({"ttl": 0}, {"ttl": "1"}, {"ignore": "/a"}, {"shape": {}}, {"keep": ["x"]}, {"public": 1}, {"state": None, "ttl": 1},
                    {"title": 1}, {"edits": []}):
            with self.subTest(bad):
                answer = self.put_session(session, {"ignore": ["/seen"], **bad})
                self.assertIn(self.assertProblem(answer, 422, answer.json["type"].split("/")[-1])["type"],
                              ("/problems/wrong-shape", "/problems/invalid-state"))
        for bad in ("[]", '["a"]', '"a"', "null"):
            self.assertProblem(self.put_session(session, bad), 422, "wrong-shape")
        self.assertProblem(self.put_session(session, ""), 400, "malformed-json")
        self.assertEqual(len(self.post_changes(session, SEEN).json["changes"]), 1)

    def test_what_is_ignored_from_now_on_is_no_change(self):
        session, first = self.made(ROW)
        self.settle(session, {"ignore": ["/seen"]})
        answer = self.post_changes(session, SEEN).json
        self.assertEqual((answer["to"], answer["changes"]), (first, []))
        # A place ignored before counts again, starting from the current state.
        self.assertEqual(self.settle(session, {"ignore": []}), first)
        self.assertEqual(self.post_changes(session, ROW).json["to"], first)
        # A state that only differs in a place ignored before has a new digest.
        second = self.post_changes(session, [{"id": 1, "content": {"text": "a"}}]).json
        self.assertEqual(second["changes"][0]["items"], [{"id": 1, "content": {"text": "a"}}])
        self.settle(session, {"ignore": ["/seen"]})
        third = self.post_changes(session, [{"id": 1, "content": {"text": "b", "seen": 9}}]).json["to"]
        for since, count in ((first, 1), (second["to"], 1), (third, 0)):
            self.assertEqual(len(self.get_changes(session, {"since": since}).json["changes"]), count)

    def test_digests_of_before_are_never_those_of_other_states(self):
        session = self.new_name()
        self.assertStatus(self.put_session(session, {"state": ROW, "ignore": ["/seen"]}), 201)
        first = self.get_session(session).json["revision"]
        self.settle(session, {"ignore": []})
        # Without the salt this would have the digest of the first one.
        self.wrote(session, [{"id": 1, "content": {"text": "a"}}])
        self.assertEqual(len(self.get_changes(session, {"since": first}).json["changes"]), 1)

    def test_a_time_to_live_counts_at_once(self):
        session, _ = self.made(["a"])
        for seconds in (5000, 100):
            answer = self.put_session(session, {"ttl": seconds})
            read = self.get_session(session)
            for told, date in ((answer.json["expiresAt"], answer), (read.headers["Diffserver-Expires"], read)):
                left = datetime.fromisoformat(told) - parsedate_to_datetime(date.headers["Date"])
                self.assertLessEqual(abs(left.total_seconds() - seconds), 2)
        self.settle(session, {"ttl": 1})
        let_pass(1.5, "time to live")
        self.assertProblem(self.get_session(session), 404, "session-not-found")

    def test_none_of_many_at_once_is_lost(self):
        session, _ = self.made(ROW)
        settings = [{"ttl": 500}, {"ignore": ["/seen"]}, {"keep": ["expanded"]}, {"shape": {"idAt": "/id", "expandedAt": "/x"}}]
        with concurrent.futures.ThreadPoolExecutor(9) as pool:
            puts = [pool.submit(self.alone, "PUT", session_path(session), each) for each in settings]
            posts = [pool.submit(self.alone, "POST", session_path(session, "changes"),
                                 {"edits": [{"op": "insert", "items": [{"id": f"n{each}"}]}]}) for each in range(20)]
            self.assertEqual({each.result().status for each in puts + posts}, {200})
        self.assertEqual(len(self.get_session(session).json["state"]["sections"][0]["items"]), 21)
        self.wrote(session, [{"id": 1, "x": False}])
        after = self.wrote(session, [{"id": 1, "x": None}])
        self.assertFalse(self.get_session(session).json["state"]["sections"][0]["items"][0]["expanded"])
        self.assertEqual(self.wrote(session, [{"id": 1, "x": None, "seen": 3}]), after)

    def alone(self, method, path, body):
        client = Client(self.server)
        try:
            return client.request(method, path, body)
        finally:
            client.close()


class Told(ServiceCase):
    """`GET …/settings`, and null in PUT."""

    ALL = {"ttl": 900, "ignore": ["/seen", "/a~1b"], "keep": ["expanded"], "public": True,
           "shape": {"itemsAt": "/rows", "idAt": ["/k", "/l"], "groupAt": "/g", "groupPrefix": 2, "rest": "/n", "missing": "empty"}}

    def told(self, session):
        answer = self.get(session_path(session, "settings"))
        self.assertStatus(answer, 200)
        return answer.json

    def test_what_it_answers_can_be_put_back_as_it_is(self):
        for settings in ({}, {"ttl": 5}, {"keep": ["expanded"]}, {"shape": {"sectionsAt": "/s", "map": True}}, self.ALL):
            with self.subTest(settings):
                first, second = self.new_name(), self.new_name()
                self.assertStatus(self.put_session(first, settings), 201)
                told = self.told(first)
                self.assertEqual(told, {"ttl": 3600, "ignore": [], "keep": [], "public": False, **settings, **(
                    {"shape": told["shape"]} if "shape" in settings else {})})
                self.assertLessEqual(settings.get("shape", {}).items(), told.get("shape", {}).items())
                self.assertStatus(self.put_session(second, told), 201)
                self.assertEqual(self.told(second), told)
                self.assertStatus(self.put_session(first, {}), 200)
                self.assertEqual(self.told(first), told)

    def test_null_is_the_default(self):
        for name, default in (("ttl", 3600), ("ignore", []), ("keep", []), ("public", False), ("shape", None)):
            with self.subTest(name):
                session = self.new_name()
                self.assertStatus(self.put_session(session, self.ALL), 201)
                revision, before = self.get_session(session).json["revision"], self.told(session)
                answer = self.put_session(session, {name: None})
                self.assertEqual((answer.status, answer.json["revision"]), (200, revision))
                expected = {**before, name: default}
                self.assertEqual(self.told(session), {each: value for each, value in expected.items() if value is not None})
        everything = dict.fromkeys(self.ALL)
        self.assertStatus(self.put_session(session, everything), 200)
        self.assertEqual(self.told(session), {"ttl": 3600, "ignore": [], "keep": [], "public": False})
        # Later bodies are states.
        self.assertStatus(self.post_changes(session, {"items": ["a"]}), 200)
        self.assertStatus(self.put_session(session, {"state": ["b"], **everything}), 200)
        self.assertStatus(self.post_changes(self.new_name(), {"state": ["b"], **everything}), 201)

    def test_a_native_state_beside_a_shape_that_is_kept(self):
        session = self.new_name()
        body = {"state": [{"id": "x", "content": {"k": 1}}], "shape": {"idAt": "/k"}}
        self.assertStatus(self.put_session(session, body, {"shape": "native"}), 201)
        self.assertEqual(self.get_session(session).json["state"]["sections"][0]["items"][0]["id"], "x")
        self.assertEqual(self.told(session)["shape"], {"itemsAt": "", "idAt": "/k"})
        self.assertEqual(self.post_changes(session, [{"k": 2}]).json["changes"][-1]["items"], [{"id": 2, "content": {"k": 2}}])

    def test_with_a_state_what_is_not_named_is_at_its_default(self):
        session = self.new_name()
        self.assertStatus(self.put_session(session, self.ALL), 201)
        self.assertStatus(self.put_session(session, {"state": [], "ttl": 77}), 200)
        self.assertEqual(self.told(session), {"ttl": 77, "ignore": [], "keep": [], "public": False})

    def test_what_is_asked_wrongly(self):
        self.assertProblem(self.get(session_path(self.new_name(), "settings")), 404, "session-not-found")
        session, _ = self.made(["a"])
        self.assertProblem(self.get(session_path(session, "settings"), {"view": "{}"}), 400, "unknown-parameter")
        self.assertStatus(self.request("POST", session_path(session, "settings"), {}), 405)
        self.assertStatus(self.request("HEAD", session_path(session, "settings")), 200)


class OfWhomTheyAreTold(SourceCase):
    TEAM = "the-key-of-a-team"
    options = (*KEYS, "--key", f"team:{hashlib.sha256(TEAM.encode()).hexdigest()}:mine:")

    @classmethod
    def lists(cls, url):
        source = {"url": f"{url}/f/{{name}}", "every": 5}
        return {"f:{name}": {"source": source, "shape": {"itemsAt": "/l"}, "keep": ["expanded"], "ttl": 800}}

    def test_a_key_may_ask_and_a_token_may_not(self):
        name = f"mine:{self.new_name()}"
        self.assertStatus(self.put_session(name, {"state": ["a"], "ttl": 60}, **bearer(KEY)), 201)
        path = session_path(name, "settings")
        for key in (KEY, self.TEAM):
            self.assertEqual(self.get(path, **bearer(key)).json["ttl"], 60)
        self.assertProblem(self.get(session_path("other", "settings"), **bearer(self.TEAM)), 403, "forbidden")
        self.assertProblem(self.get(path), 401, "unauthenticated")
        reader = bearer(token(name, "read edit"))
        self.assertStatus(self.get(session_path(name), **reader), 200)
        self.assertProblem(self.get(path, **reader), 403, "forbidden")

    def test_those_of_a_list_are_the_files(self):
        name, _ = self.new_list({"l": [{"id": 1}]})
        told = self.get(session_path(name, "settings"), **bearer(KEY))
        self.assertStatus(told, 200)
        self.assertEqual(told.json, {"ttl": 800, "ignore": [], "shape": {"itemsAt": "/l", "idAt": "/id"}, "keep": ["expanded"], "public": False})
        self.assertStatus(self.put_session(f"copy-of-{name[2:]}", told.json, **bearer(KEY)), 201)


class Quietly(StreamCase):
    def test_nobody_is_woken(self):
        session, revision = self.made(ROW)
        stream = self.opened(session, revision)
        waiting = Client(self.server)
        self.addCleanup(waiting.close)
        path = target(session_path(session, "changes"), {"since": revision, "wait": 20})
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            held = pool.submit(waiting.request, "GET", path)
            wait_until_held(self.server)
            for settings in ({"ttl": 60}, {"ignore": ["/seen"]}, {"keep": ["expanded"]}):
                self.assertStatus(self.put_session(session, settings), 200)
                stays(lambda: not held.done(), "it is held", 0.1)
            self.wrote(session, [{"id": 1, "content": {"text": "b", "seen": 1}}])
            # Woken earlier, readers would have been told that nothing changed.
            for answer in (held.result().json, stream.next().json):
                self.assertEqual([each["op"] for each in answer["changes"]], ["update"])


class AwayAndBack(SQLiteCase):
    def test_what_changed_is_kept(self):
        self.assertEqual(self.request("PUT", "s", {"state": ROW, "ttl": 90}).status, 201)
        first = self.request("GET", "s").json["revision"]
        self.assertEqual(self.request("PUT", "s", {"ignore": ["/seen"], "ttl": 80}).status, 200)
        second = self.post("s", [{"id": 1, "content": {"text": "b", "seen": 3}}]).json["to"]
        self.assertEqual(self.request("PUT", "s", {"ttl": 70}).status, 200)
        for number in range(2):
            self.restarted()
            self.assertEqual(self.post("s", [{"id": 1, "content": {"text": "b", "seen": 4 + number}}]).json["to"], second)
            self.assertEqual(len(self.changes("s", first)["changes"]), 1)
            left = datetime.fromisoformat(self.request("GET", "s").headers["Diffserver-Expires"]).timestamp() - time.time()
            self.assertLessEqual(left, 71)


@names_its_stores
@unittest.skipUnless(IS_INSTALLED, MISSING)
class OfTwoNodes(unittest.TestCase):
    def test_what_one_node_changed_holds_for_the_other(self):
        redis = Redis()
        self.addCleanup(redis.close)
        one, other = (self.client("--store", f"redis://127.0.0.1:{redis.port}/0") for _ in range(2))
        path, changes = session_path("s"), session_path("s", "changes")
        self.assertEqual(one.request("PUT", path, {}).status, 201)
        revision = other.request("POST", changes, ROW).json["to"]
        for turn in range(4):
            writer, reader = (one, other) if turn % 2 else (other, one)
            answer = writer.request("PUT", path, {"ignore": ["/seen"]} if turn < 2 else {"keep": ["expanded"]})
            self.assertEqual((answer.status, answer.json["revision"]), (200, revision))
            answer = reader.request("POST", changes, [{"id": 1, "content": {"text": "a", "seen": turn + 7}}]).json
            self.assertEqual((answer["to"], answer["changes"]), (revision, []))

    def test_two_that_write_at_once_lose_nothing(self):
        redis = Redis()
        self.addCleanup(redis.close)
        nodes = [self.node("--store", f"redis://127.0.0.1:{redis.port}/0") for _ in range(2)]
        first = self.connected(nodes[0])
        for turn in range(10):
            name = f"s{turn}"
            self.assertEqual(first.request("PUT", session_path(name), {"state": ROW}).status, 201)
            settings = [{"ignore": ["/seen"]}, {"keep": ["expanded"]}, {"ttl": 99}, {"shape": {"idAt": "/id", "expandedAt": "/x"}}]
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                clients = [self.connected(nodes[each % 2]) for each in range(4)]
                answers = [pool.submit(client.request, "PUT", session_path(name), body)
                           for client, body in zip(clients, settings)]
                self.assertEqual({each.result().status for each in answers}, {200})
            changes = session_path(name, "changes")
            for client in clients[:2]:
                self.assertEqual(client.request("POST", changes, [{"id": 1, "x": False, "text": "b"}]).status, 200)
                after = client.request("POST", changes, [{"id": 1, "text": "c"}]).json["to"]
                self.assertEqual(client.request("POST", changes, [{"id": 1, "text": "c", "seen": 5}]).json["to"], after)
                self.assertFalse(client.request("GET", session_path(name)).json["state"]["sections"][0]["items"][0]["expanded"])

    def node(self, *options):
        node = Node(*options)
        self.addCleanup(node.stop)
        return node

    def connected(self, node):
        client = Client(node)
        self.addCleanup(client.close)
        return client

    def client(self, *options):
        return self.connected(self.node(*options))


del SourceCase, StreamCase
