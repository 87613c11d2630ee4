"""Members that a posted state omits stay as they are: `keep` (CONTRACT §3)."""

import unittest

from support.case import ServiceCase
from support.client import Client, session_path
from support.database import SQLiteCase
from support.node import Node
from support.redis import IS_INSTALLED, MISSING, Redis
from support.store import names_its_stores

KEEP = {"keep": ["expanded"]}
THREADS = [{"id": "a", "items": ["b", "c"]}, {"id": "d", "items": ["e"]}]
COLLAPSE = {"edits": [{"op": "collapse", "items": ["a"]}]}


class Keeping(ServiceCase):
    def kept(self, state=THREADS, **members):
        session = self.new_name()
        self.assertStatus(self.put_session(session, {"state": state, **KEEP, **members}), 201)
        return session

    def collapsed(self, session):
        """The ids of what is collapsed, sections and items."""
        def of(items):
            for item in items:
                if not item.get("expanded", True):
                    yield item["id"]
                yield from of(item.get("items", []))
        sections = self.get_session(session).json["state"]["sections"]
        return [each["id"] for each in sections if not each.get("expanded", True)] + [
            each for section in sections for each in of(section["items"])]

    def test_what_is_not_said_stays_as_it_is(self):
        session = self.kept()
        before = self.post_changes(session, COLLAPSE).json["to"]
        # The same again is no change, and a hidden row is none.
        self.assertEqual(self.wrote(session, THREADS), before)
        changes = self.post_changes(session, [{"id": "a", "items": ["b", "c", "f"]}, {"id": "d", "items": ["e"]}]).json["changes"]
        self.assertEqual([each["op"] for each in changes], ["update"])
        self.assertEqual(self.collapsed(session), ["a"])
        # Once said, it holds from then on.
        self.wrote(session, [{"id": "a", "items": ["b"], "expanded": True}, {"id": "d", "items": ["e"], "expanded": False}])
        self.assertEqual(self.collapsed(session), ["d"])
        self.wrote(session, THREADS)
        self.assertEqual(self.collapsed(session), ["d"])
        # Items that go and come again are new.
        self.wrote(session, ["x"])
        self.wrote(session, THREADS)
        self.assertEqual(self.collapsed(session), [])

    def test_sections_keep_what_they_are_and_items_wherever_they_go(self):
        session = self.kept({"sections": [{"id": "s", "expanded": False, "items": [{"id": 1, "expanded": False}]},
                                          {"id": "t", "items": []}]})
        self.wrote(session, {"sections": [{"id": "t", "items": [{"id": "2", "items": ["1"]}]}, {"id": "s", "items": []}]})
        self.assertEqual(self.collapsed(session), ["s", "1"])
        self.wrote(session, {"edits": [{"op": "expand", "sections": ["s"]}, {"op": "expand", "items": [1]}]})
        self.wrote(session, {"sections": [{"id": "s", "items": [1]}]})
        self.assertEqual(self.collapsed(session), [])
        flat = self.kept(["a"])
        self.wrote(flat, {"edits": [{"op": "collapse", "sections": ["main"]}]})
        for body in (["a"], {"items": ["a"]}, {"state": ["a"]}, {"state": {"items": ["a"]}, "ttl": 60}):
            self.wrote(flat, body)
            self.assertEqual(self.collapsed(flat), ["main"], body)

    def test_in_a_document_none_and_null_say_nothing(self):
        rows = [{"k": 1, "open": False, "c": [{"k": 2}]}, {"k": 3, "open": False}]
        session = self.kept(rows, shape={"idAt": "/k", "expandedAt": "/open", "childrenAt": "/c"})
        self.wrote(session, [{"k": 1, "c": [{"k": 2, "open": None}]}, {"k": 3, "open": None}])
        self.assertEqual(self.collapsed(session), [1, 3])
        self.wrote(session, [{"k": 1, "c": []}, {"k": 3, "open": True}])
        self.assertEqual(self.collapsed(session), [1])
        # A shape for one request, without such a value.
        self.wrote(session, [{"n": 1}, {"n": 3}], query={"idAt": "/n"})
        self.assertEqual(self.collapsed(session), [1])

    def wrote(self, session, state, query=None, **headers):
        answer = self.post_changes(session, state, query, **headers)
        self.assertStatus(answer, 200)
        return answer.json["to"]

    def test_it_is_what_is_there_that_counts_for_conditions_and_keys(self):
        session = self.kept()
        first = self.wrote(session, COLLAPSE)
        after = self.wrote(session, THREADS + ["g"], If_Match=f'"{first}"')
        # The answer was lost.
        self.assertEqual(self.wrote(session, THREADS + ["g"], If_Match=f'"{first}"'), after)
        for _ in range(2):
            self.assertEqual(self.post_changes(session, THREADS, Idempotency_Key="k").json["from"], after)
        self.assertEqual(self.collapsed(session), ["a"])
        # The digest is that of the state, whoever mentioned what of it.
        now = self.get_session(session).json
        self.assertEqual(now["revision"].partition("-")[2], first.partition("-")[2])
        self.assertEqual(self.wrote(session, now["state"]), now["revision"])

    def test_a_put_keeps_nothing_and_without_the_setting_nothing_is_kept(self):
        session = self.kept()
        self.wrote(session, COLLAPSE)
        self.assertStatus(self.put_session(session, {"state": THREADS, **KEEP}), 200)
        self.assertEqual(self.collapsed(session), [])
        for settings in ({}, {"keep": []}):
            self.wrote(session, COLLAPSE)
            self.assertStatus(self.put_session(session, {"state": THREADS, **settings}), 200)
            self.wrote(session, COLLAPSE)
            self.wrote(session, THREADS)
            self.assertEqual(self.collapsed(session), [])

    def test_a_post_that_creates_says_it_too(self):
        session = self.new_name()
        self.assertReset(self.post_changes(session, {"state": THREADS, **KEEP}), "initial", 201)
        self.wrote(session, COLLAPSE)
        # Later it counts no more than the other settings do.
        self.wrote(session, {"state": THREADS, "keep": []})
        self.wrote(session, THREADS)
        self.assertEqual(self.collapsed(session), ["a"])

    def test_it_is_an_array_of_one_word(self):
        for value in ("expanded", True, ["kind"], ["expanded", "content"], [1], {}):
            with self.subTest(value):
                body = {"state": [], "keep": value}
                for answer in (self.put_session(self.new_name(), body), self.post_changes(self.new_name(), body)):
                    self.assertErrors(answer, "wrong-shape", ("/keep", "wrong-type"))
        for value in ([], ["expanded"], ["expanded", "expanded"]):
            self.assertStatus(self.put_session(self.new_name(), {"state": [], "keep": value}), 201)
        self.assertProblem(self.post_changes(self.new_name(), {"edits": [], **KEEP}), 422, "wrong-shape")


class AwayAndBack(SQLiteCase):
    def test_it_is_kept_with_the_session(self):
        self.assertEqual(self.request("PUT", "s", {"state": THREADS, **KEEP}).status, 201)
        self.assertEqual(self.post("s", COLLAPSE).status, 200)
        for _ in range(2):
            self.restarted()
            # It is not in memory: what the state omits is only known once it is loaded.
            self.assertEqual(self.post("s", THREADS).json["changes"], [])
        self.assertEqual(self.shown("s"), ["a", "d"])


@names_its_stores
@unittest.skipUnless(IS_INSTALLED, MISSING)
class OfTwoNodes(unittest.TestCase):
    def test_what_one_node_collapsed_another_keeps(self):
        redis = Redis()
        self.addCleanup(redis.close)
        one, other = (self.client("--store", f"redis://127.0.0.1:{redis.port}/0") for _ in range(2))
        path = session_path("s", "changes")
        self.assertEqual(one.request("PUT", session_path("s"), {"state": THREADS, **KEEP}).status, 201)
        self.assertEqual(other.request("POST", path, THREADS).json["changes"], [])
        for op in ("collapse", "expand", "collapse"):
            # The other node reads the body with an outdated head.
            edits = {"edits": [{"op": op, "items": ["a"]}]}
            revision = one.request("POST", path, edits).json["to"]
            answer = other.request("POST", path, THREADS).json
            self.assertEqual((answer["to"], answer["changes"]), (revision, []))

    def client(self, *options):
        node = Node(*options)
        self.addCleanup(node.stop)
        client = Client(node)
        self.addCleanup(client.close)
        return client
