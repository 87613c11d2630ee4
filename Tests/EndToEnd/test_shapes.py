"""Shapes: everything that `?kindAt=` and the like say of a document, and shapes kept by a session (CONTRACT §2)."""

import unittest

from support.case import ServiceCase
from support.client import Client, session_path
from support.database import SQLiteCase
from support.node import Node
from support.jsontext import text
from support.redis import IS_INSTALLED, MISSING, Redis
from support.shaped import Shaped
from support.store import names_its_stores
from support.tokens import bearer
from test_tokens_and_keys import KEY, hashed

FEED = {"data": [{"no": 1, "type": "post", "text": "a"}, {"no": 2, "type": "ad"}], "next": "c2"}
SHAPE = {"itemsAt": "/data", "idAt": "/no", "kindAt": "/type"}


class Members(Shaped):
    def test_a_kind_is_a_string_or_the_digits_of_an_integer(self):
        rows = [{"id": 1, "t": "ad"}, {"id": 2, "t": -12}, {"id": 3, "t": None}, {"id": 4}]
        self.assertEqual([each.get("kind") for each in self.items(rows, {"kindAt": "/t"})], ["ad", "-12", None, None])
        for bad in (1.5, True, [], {}, {"a": [1]}):
            with self.subTest(bad):
                answer = self.post_changes(self.new_name(), [{"id": 1}, {"id": 2, "t": bad}], {"kindAt": "/t"})
                self.assertErrors(answer, "invalid-state", ("/1/t", "wrong-type"))

    def test_what_becomes_another_kind_is_reloaded(self):
        session, _ = self.made(FEED, query=SHAPE)
        for kind, drawn in (("ad", "reload"), ("ad", "reconfigure"), (7, "reload"), (8, "reload"), (8, "reconfigure")):
            FEED_NOW = {"data": [{"no": 1, "type": kind, "text": drawn + str(kind)}, FEED["data"][1]]}
            changes = self.post_changes(session, FEED_NOW, SHAPE).json["changes"]
            self.assertEqual([each["op"] for each in changes], ["update"])
            self.assertEqual(changes[0]["as"], drawn)

    def test_children_are_elements_and_no_part_of_the_content(self):
        thread = [{"id": 1, "text": "a", "replies": [{"id": 2, "replies": [{"id": 3, "text": "c"}], "open": False}]},
                  {"id": 4, "replies": None}, {"id": 5, "replies": []}]
        self.assertEqual(self.items(thread, {"childrenAt": "/replies", "expandedAt": "/open"}), [
            {"id": 1, "content": {"id": 1, "text": "a"}, "items": [
                {"id": 2, "content": {"id": 2, "open": False}, "expanded": False, "items": [
                    {"id": 3, "content": {"id": 3, "text": "c"}}]}]},
            {"id": 4, "content": {"id": 4}}, {"id": 5, "content": {"id": 5}}])

    def test_a_reply_changes_its_thread_in_one_operation(self):
        query = {"childrenAt": "/replies"}
        session, _ = self.made([{"id": 1, "text": "a", "replies": [{"id": 2}]}], query=query)
        changes = self.post_changes(session, [{"replies": [{"id": 2}, {"id": 3}], "text": "a", "id": 1}], query).json["changes"]
        self.assertEqual([each["op"] for each in changes], ["insert", "update"])
        self.assertNotIn("text", text(changes[0]))

    def test_what_is_wrong_with_children_is_named_where_it_stands(self):
        cases = [([{"id": 1, "c": [{"id": 2, "c": [{}]}]}], "/0/c/0/c/0", "missing-id"),
                 ([{"id": 1, "c": {}}], "/0/c", "not-an-array"), ([{"id": 1, "c": "x"}], "/0/c", "not-an-array"),
                 ([{"id": 1, "c": [{"id": 2, "e": 1}]}], "/0/c/0/e", "wrong-type"),
                 ([{"id": 1, "c": [{"id": 2, "e": "true"}]}], "/0/c/0/e", "wrong-type")]
        for body, pointer, code in cases:
            with self.subTest(body):
                answer = self.post_changes(self.new_name(), body, {"childrenAt": "/c", "expandedAt": "/e"})
                self.assertErrors(answer, "invalid-state", (pointer, code))

    def test_an_id_has_up_to_four_parts(self):
        rows = [{"type": "posts", "id": "1"}, {"type": "a/b", "id": "c~d"}, {"type": 7, "id": 8}]
        found = [each["id"] for each in self.items(rows, {"idAt": ["/type", "/id"]})]
        self.assertEqual(found, ["posts/1", "a~1b/c~0d", "7/8"])
        found = [each["id"] for each in self.items(rows, {"idAt": ["/id", "/type", "/id", "/type"]})]
        self.assertEqual(found[0], "1/posts/1/posts")
        self.assertProblem(self.post_changes(self.new_name(), rows, {"idAt": ["/id"] * 5}), 400, "malformed-request")
        answer = self.post_changes(self.new_name(), [{"type": "a"}, {"type": "a", "id": ""}], {"idAt": ["/type", "/id"]})
        self.assertErrors(answer, "invalid-state", ("/0", "missing-id"), ("/1", "invalid-id"))

    def test_a_row_of_parts_is_found_by_its_id(self):
        session, _ = self.made([{"type": "posts", "id": "1"}], query={"idAt": ["/type", "/id"]})
        answer = self.get(session_path(session, "items"), {"id": "posts/1"})
        self.assertEqual(answer.json["items"][0]["indexPath"], [0, 0])

    def test_a_map_is_a_list_by_its_names(self):
        body = {"by": {"b": {"n": 1, "t": "x"}, "10": 7, "a/": {"c": {"d": {}}}}}
        query = {"itemsAt": "/by", "map": "true", "kindAt": "/t", "childrenAt": "/c"}
        self.assertEqual(self.items(body, query), [
            {"id": "b", "kind": "x", "content": {"n": 1, "t": "x"}}, {"id": "10", "content": 7},
            {"id": "a/", "content": {}, "items": [{"id": "d", "content": {}}]}])
        answer = self.post_changes(self.new_name(), {"by": {"a/": {"c": 7}}}, query)
        self.assertErrors(answer, "invalid-state", ("/by/a~1/c", "not-an-object"))

    def test_an_object_is_no_list_unless_that_is_said(self):
        for query in ({"itemsAt": "/by"}, {"itemsAt": "/by", "map": "false"}):
            answer = self.post_changes(self.new_name(), {"by": {"a": {"id": 1}}}, query)
            self.assertErrors(answer, "invalid-state", ("/by", "not-an-array"))
        answer = self.post_changes(self.new_name(), {"by": "a"}, {"itemsAt": "/by", "map": "true"})
        self.assertErrors(answer, "invalid-state", ("/by", "not-an-object"))

    def test_map_and_duplicates_without_a_pointer_are_400(self):
        for query in ({"map": "true"}, {"map": "false"}, {"rest": "true"}, {"duplicates": "first"}, {"duplicates": "refuse"}):
            with self.subTest(query):
                for answer in (self.post_changes(self.new_name(), [], query), self.diff([], [], query),
                               self.put_session(self.new_name(), {"state": []}, query)):
                    self.assertProblem(answer, 400, "malformed-request")

    def test_a_bad_value_is_400(self):
        bad = [{"map": "1"}, {"map": ""}, {"duplicates": "last"}, {"rest": "x"}, {"kindAt": "type"}, {"childrenAt": "/~"},
               {"expandedAt": "/a" * 65}, {"shape": "none"}, {"shape": "native"}]
        for query in bad:
            with self.subTest(query):
                self.assertProblem(self.post_changes(self.new_name(), [], {"idAt": "/id", **query}), 400, "malformed-request")

    def test_the_first_of_several_is_kept_and_the_others_are_told(self):
        query = {"idAt": "/k", "duplicates": "first"}
        body = [{"k": 1, "n": 1}, {"k": 2}, {"k": 1, "n": 2}, {"k": "2"}]
        session = self.new_name()
        answer = self.post_changes(session, body, query)
        told = [{"code": "duplicate-id", "pointer": "/2/k", "id": 1}, {"code": "duplicate-id", "pointer": "/3/k", "id": "2"}]
        self.assertEqual(answer.json["warnings"], told)
        self.assertEqual([each["content"] for each in self.get_session(session).json["state"]["sections"][0]["items"]], body[:2])
        self.assertEqual(self.post_changes(session, body, query).json["warnings"], told)
        minimal = self.post_changes(session, body, query, Prefer="return=minimal").json
        self.assertEqual(minimal["warnings"], told)
        older = self.post_changes(session, body, {**query, "since": ""}).json
        self.assertEqual((older["reset"], older["warnings"]), ("initial", told))
        # Readers are not told.
        self.assertNotIn("warnings", self.get_changes(session, {"since": ""}).json)
        self.assertEqual(self.post_changes(session, body[:2], query).json["changes"], [])
        self.assertNotIn("warnings", self.post_changes(session, body[:2], query).json)

    def test_warnings_come_with_every_way_to_write(self):
        query = {"idAt": "/k", "duplicates": "first"}
        body = [{"k": 1}, {"k": 1}]
        self.assertEqual([each["pointer"] for each in self.put_session(self.new_name(), {"state": body}, query).json["warnings"]],
                         ["/state/1/k"])
        self.assertEqual([each["pointer"] for each in self.diff(body, [{"k": 2}] * 3, query).json["warnings"]],
                         ["/old/1/k", "/new/1/k", "/new/2/k"])
        self.assertEqual(len(self.diff(body * 9, body * 9, query).json["warnings"]), 20)
        patch = self.diff(body, [], query, Accept="application/json-patch+json")
        self.assertIsInstance(patch.json, list)

    def test_duplicates_are_refused_unless_that_is_said(self):
        for query in ({"idAt": "/k"}, {"idAt": "/k", "duplicates": "refuse"}):
            answer = self.post_changes(self.new_name(), [{"k": 1}, {"k": 1}], query)
            self.assertErrors(answer, "invalid-state", ("/0/k", "duplicate-id"), ("/1/k", "duplicate-id"))

    def test_a_diff_takes_them_all(self):
        query = {"itemsAt": "/l", "map": "true", "kindAt": "/t"}
        changes = self.diff({"l": {"a": {"t": 1}, "b": {}}}, {"l": {"b": {}, "a": {"t": 2}}}, query).json["changes"]
        self.assertEqual([each["op"] for each in changes], ["move", "update"])
        self.assertEqual(changes[1]["as"], "reload")

    def test_an_unknown_member_leads_to_the_shapes(self):
        for body in ([{"id": 1, "title": "x"}], {"sections": [{"id": 1, "title": "x", "items": []}]}):
            answer = self.post_changes(self.new_name(), body)
            problem = self.assertProblem(answer, 422, "invalid-state")
            self.assertEqual(problem["errors"][0]["code"], "unknown-member")
            self.assertIn("?idAt=/id", problem["errors"][0]["detail"])


class Kept(Shaped):
    def kept(self, state=FEED, shape=SHAPE, **members):
        session = self.new_name()
        answer = self.put_session(session, {"state": state, "shape": shape, **members})
        self.assertStatus(answer, 201)
        return session

    def ids(self, session):
        return [each["id"] for section in self.get_session(session).json["state"]["sections"] for each in section["items"]]

    def test_a_later_body_is_the_document(self):
        session = self.kept()
        self.assertEqual(self.get_session(session).json["state"]["sections"][0]["items"][1],
                         {"id": 2, "kind": "ad", "content": {"no": 2, "type": "ad"}})
        changes = self.post_changes(session, {**FEED, "data": FEED["data"] + [{"no": 3}]}).json["changes"]
        self.assertEqual([each["op"] for each in changes], ["insert"])
        self.assertEqual(self.ids(session), [1, 2, 3])

    def test_a_post_that_creates_keeps_one_too(self):
        for body in ({"state": FEED, "shape": SHAPE, "ttl": 60}, text({"shape": SHAPE, "state": FEED})):
            session = self.new_name()
            self.assertReset(self.post_changes(session, body), "initial", 201)
            self.assertEqual(self.ids(session), [1, 2])
            self.assertEqual(self.post_changes(session, FEED).json["changes"], [])

    def test_edits_and_envelopes_are_no_documents(self):
        session = self.kept()
        self.assertStatus(self.post_changes(session, {"edits": [{"op": "delete", "items": [1]}]}), 200)
        self.assertEqual(self.ids(session), [2])
        self.assertStatus(self.post_changes(session, {"state": FEED, "ttl": 60}), 200)
        self.assertEqual(self.ids(session), [1, 2])
        self.assertStatus(self.post_changes(session, {"ignore": [], "state": {"data": []}}), 200)
        self.assertEqual(self.ids(session), [])
        # The envelope's own shape is that of its state.
        self.assertStatus(self.post_changes(session, {"state": [{"k": 7}], "shape": {"idAt": "/k"}}), 200)
        self.assertEqual(self.ids(session), [7])
        self.assertStatus(self.post_changes(session, FEED), 200)
        self.assertEqual(self.ids(session), [1, 2])

    def test_what_has_other_members_beside_is_a_document(self):
        shape = {"itemsAt": "/edits", "idAt": "/no"}
        session = self.kept({"edits": []}, shape)
        self.assertStatus(self.post_changes(session, {"edits": [{"no": 1}], "page": 1}), 200)
        self.assertEqual(self.ids(session), [1])
        self.assertStatus(self.post_changes(session, {"state": 1, "edits": [{"no": 2}]}), 200)
        self.assertEqual(self.ids(session), [2])
        self.assertStatus(self.post_changes(session, {"ttl": 1, "edits": [{"no": 3}]}), 200)
        self.assertEqual(self.ids(session), [3])
        self.assertProblem(self.post_changes(session, {"edits": [{"no": 1}]}), 422, "invalid-edit")

    def test_parameters_hold_for_one_request(self):
        session = self.kept()
        self.assertStatus(self.post_changes(session, [{"k": 9}], {"idAt": "/k"}), 200)
        self.assertEqual(self.ids(session), [9])
        self.assertStatus(self.post_changes(session, FEED), 200)
        self.assertEqual(self.ids(session), [1, 2])
        self.assertStatus(self.post_changes(session, {"state": [{"k": 9}]}, {"idAt": "/k"}), 200)
        self.assertEqual(self.ids(session), [9])
        self.assertStatus(self.post_changes(session, {"edits": [{"op": "delete", "items": [9]}]}, {"idAt": "/k"}), 200)
        self.assertEqual(self.ids(session), [])

    def test_one_request_is_read_natively(self):
        session = self.kept()
        for body in (["a", 5], {"items": ["a", 5]}, {"state": ["a", 5]}, self.native(["a", 5])):
            self.assertStatus(self.post_changes(session, FEED), 200)
            self.assertStatus(self.post_changes(session, body, {"shape": "native"}), 200)
            self.assertEqual(self.ids(session), ["a", 5])
        state = self.get_session(session).json["state"]
        self.assertEqual(self.post_changes(session, state, {"shape": "native"}).json["changes"], [])
        self.assertProblem(self.post_changes(session, state), 422, "invalid-state")

    def native(self, items):
        return {"sections": [{"id": "main", "items": items}]}

    def test_natively_is_the_default_and_may_be_said(self):
        session = self.new_name()
        self.assertStatus(self.post_changes(session, ["a"], {"shape": "native"}), 201)
        self.assertStatus(self.put_session(session, {"state": ["b"]}, {"shape": "native"}), 200)
        self.assertStatus(self.diff(["a"], ["b"], {"shape": "native"}), 200)
        self.assertStatus(self.put_session(session, {"state": ["b"], "shape": SHAPE}, {"shape": "native"}), 200)
        self.assertStatus(self.post_changes(session, FEED), 200)
        self.assertEqual(self.ids(session), [1, 2])

    def test_parameters_of_put_are_not_kept(self):
        session = self.new_name()
        self.assertStatus(self.put_session(session, {"state": [{"k": 1}], "shape": SHAPE}, {"idAt": "/k"}), 201)
        self.assertEqual(self.ids(session), [1])
        self.assertStatus(self.post_changes(session, FEED), 200)
        self.assertStatus(self.put_session(session, {"state": [{"k": 1}]}, {"idAt": "/k"}), 200)
        self.assertStatus(self.post_changes(session, ["native"]), 200)

    def test_a_put_starts_over_with_its_own_shape_or_none(self):
        session = self.kept()
        self.assertStatus(self.put_session(session, {"state": ["a"]}), 200)
        self.assertStatus(self.post_changes(session, ["b"]), 200)
        self.assertStatus(self.put_session(session, {"state": {"l": {"x": 1}}, "shape": {"itemsAt": "/l", "map": True}}), 200)
        self.assertStatus(self.post_changes(session, {"l": {"y": 1}}), 200)
        self.assertEqual(self.ids(session), ["y"])

    def test_a_kept_shape_says_all_that_parameters_say(self):
        session = self.kept({"l": []}, {"itemsAt": "/l", "idAt": ["/t", "/id"], "childrenAt": "/c", "duplicates": "first"})
        rows = [{"t": "a", "id": 1, "c": [{"t": "b", "id": 1}]}, {"t": "a", "id": 1}]
        answer = self.post_changes(session, {"l": rows})
        self.assertEqual(answer.json["warnings"], [{"code": "duplicate-id", "pointer": "/l/1", "id": "a/1"}])
        self.assertEqual(self.ids(session), ["a/1"])

    def test_a_shape_that_is_none_is_refused(self):
        cases = [([], ""), ({}, ""), ({"map": True}, ""), ({"itemAt": "/a"}, "/itemAt"), ({"itemsAt": 1}, "/itemsAt"),
                 ({"idAt": []}, "/idAt"), ({"idAt": ["/a"] * 5}, "/idAt"), ({"idAt": "/a", "map": 1}, "/map"),
                 ({"idAt": "a"}, "/idAt"), ({"idAt": "/a" * 65}, "/idAt"), ({"idAt": "/a", "duplicates": True}, "/duplicates")]
        for shape, place in cases:
            with self.subTest(shape):
                body = {"state": [], "shape": shape}
                for answer in (self.put_session(self.new_name(), body), self.post_changes(self.new_name(), body),
                               self.put_session(self.new_name(), body, {"idAt": "/id"})):
                    problem = self.assertProblem(answer, 422, "wrong-shape")
                    self.assertEqual(problem["errors"][0]["pointer"], "/shape" + place, answer)

    def test_a_shape_stands_beside_a_state_only(self):
        for body in ({"items": ["a"], "shape": SHAPE}, {"edits": [], "shape": SHAPE}, {"shape": SHAPE}):
            self.assertProblem(self.post_changes(self.new_name(), body), 422, "wrong-shape")

    def test_errors_point_into_the_document(self):
        session = self.kept()
        before = self.get_session(session).json["revision"]
        self.assertErrors(self.post_changes(session, {"data": [{"no": 1}, {}]}), "invalid-state", ("/data/1", "missing-id"))
        self.assertErrors(self.post_changes(session, {"state": {"data": [{}]}}), "invalid-state", ("/state/data/0", "missing-id"))
        self.assertErrors(self.post_changes(session, {"message": "Not Found"}), "invalid-state", ("/data", "not-found"))
        self.assertProblem(self.post_changes(session, '{"data":[}'), 400, "malformed-json", offset=9)
        self.assertProblem(self.post_changes(session, '{"edits":[],"edits":[]}'), 400, "malformed-json")
        self.assertEqual(self.get_session(session).json["revision"], before)

    def test_lost_answers_and_keys_work_as_ever(self):
        session = self.kept()
        first = self.get_session(session).json["revision"]
        document = {"data": [{"no": 5}]}
        after = self.post_changes(session, document, If_Match=f'"{first}"').json["to"]
        self.assertEqual(self.post_changes(session, document, If_Match=f'"{first}"').json["to"], after)
        for _ in range(2):
            answer = self.post_changes(session, {"data": [{"no": 6}]}, Idempotency_Key="k")
            self.assertStatus(answer, 200)
            self.assertEqual(answer.json["from"], after)
        self.assertProblem(self.post_changes(session, {"data": []}, Idempotency_Key="k"), 422, "idempotency-key-reused")

    def test_readers_see_what_changed(self):
        session = self.kept()
        first = self.get_session(session).json["revision"]
        self.post_changes(session, {"data": [{"no": 8}]})
        changes = self.get_changes(session, {"since": first}).json["changes"]
        self.assertEqual(changes, self.diff(FEED, {"data": [{"no": 8}]}, SHAPE).json["changes"])


class ByToken(ServiceCase):
    options = ("--key", f"ci:{hashed(KEY)}")

    def test_edits_by_token_are_edits_in_a_shaped_session_and_documents_are_refused(self):
        key = bearer(KEY)
        session = self.new_name()
        self.assertStatus(self.request("PUT", session_path(session), {"state": FEED, "shape": SHAPE}, **key), 201)
        token = self.request("POST", session_path(session, "tokens"), {"scope": ["read", "edit"]}, **key).json["token"]
        edits = {"edits": [{"op": "delete", "items": [1]}]}
        self.assertStatus(self.post_changes(session, edits, **bearer(token)), 200)
        for body in (FEED, {"state": FEED}, {"edits": [], "ttl": 5}, ["a"]):
            with self.subTest(body):
                self.assertProblem(self.post_changes(session, body, **bearer(token)), 403, "forbidden")


class AwayAndBack(SQLiteCase):
    """A kept shape outlives the process; sessions that are only in a store are read by it as well."""

    def test_a_shape_is_kept_with_the_session(self):
        body = {"state": FEED, "shape": {**SHAPE, "idAt": ["/type", "/no"]}}
        self.assertEqual(self.request("PUT", "s", body).status, 201)
        self.restarted()
        # It is not in memory: its shape is only known once it is loaded.
        answer = self.post("s", {"data": FEED["data"][:1]})
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(self.shown("s"), ["post/1"])
        self.restarted()
        self.assertEqual(self.post("s", {"edits": [{"op": "delete", "items": ["post/1"]}]}).status, 200)
        self.assertEqual(self.post("s", FEED).status, 200)
        self.assertEqual(self.shown("s"), ["post/1", "ad/2"])


@names_its_stores
@unittest.skipUnless(IS_INSTALLED, MISSING)
class OfTwoNodes(unittest.TestCase):
    def test_a_node_that_knows_an_older_shape_reads_by_the_newer(self):
        redis = Redis()
        self.addCleanup(redis.close)
        one, other = (self.client("--store", f"redis://127.0.0.1:{redis.port}/0") for _ in range(2))
        cases = [({"idAt": "/k"}, [{"k": 1}], 1), ({"itemsAt": "/l"}, {"l": [{"id": 2}]}, 2), (None, ["a"], "a"),
                 ({"idAt": ["/a", "/b"]}, [{"a": 1, "b": 2}], "1/2")]
        for shape, document, row in cases:
            with self.subTest(shape):
                body = {"state": document, **({"shape": shape} if shape else {})}
                self.assertIn(one.request("PUT", session_path("s"), body).status, (200, 201))
                answer = other.request("POST", session_path("s", "changes"), document)
                self.assertEqual((answer.status, answer.json.get("changes")), (200, []), answer)
                state = other.request("GET", session_path("s")).json["state"]
                self.assertEqual([each["id"] for each in state["sections"][0]["items"]], [row])

    def client(self, *options):
        node = Node(*options)
        self.addCleanup(node.stop)
        client = Client(node)
        self.addCleanup(client.close)
        return client


del Shaped
