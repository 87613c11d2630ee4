"""Edits that say what they mean: patches, additions, several anchors, and PATCH of one content. CONTRACT §3."""

from support.case import ServiceCase
from support.client import Client, session_path
from support.clock import wait_for
from support.events import Stream
from support.jsontext import exact
from support.sources import KEY, ids
from support.tokens import bearer, token
from support.upstream import says
from test_hooks import YES, HookCase
from test_tokens_and_keys import Guarded, KEY as WRITER

MERGE_PATCH = "application/merge-patch+json"
LIKED = {"sections": [{"id": "s", "content": {"n": 1}, "items": [{"id": "a", "content": {"likes": 1, "of": [{"n": 2}]}}, "b"]}, {"id": "t", "items": []}]}


def update(identity, **intents):
    """The body that updates one item."""
    return {"edits": [{"op": "update", "items": [{"id": identity, **intents}]}]}


def element(session, identity, kind="items"):
    return f"{session_path(session, kind)}/{identity}"


class Intents(ServiceCase):
    def content(self, session, identity="a"):
        return self.get(element(session, identity)).exact["content"]

    def patch(self, session, identity, patch, query=None, kind="items", **headers):
        return self.request("PATCH", element(session, identity, kind), patch, query, **{"Content_Type": MERGE_PATCH, **headers})


class Edits(Intents):
    def test_two_hundred_likes_of_eight_clients_are_two_hundred_likes(self):
        session, first = self.made(LIKED)
        stream = Stream(self.server, session_path(session, "changes"), {"since": first, "content": "patch"})
        self.addCleanup(stream.close)

        def likes(client):
            for _ in range(25):
                answer = client.request("POST", session_path(session, "changes"), update("a", add={"/likes": 1}))
                assert answer.status == 200, answer

        def renames(client):
            for number in range(25):
                answer = client.request("PATCH", element(session, "a"), {"title": number}, {"Content-Type": MERGE_PATCH})
                assert answer.status == 200, answer

        self.run_together(*[likes] * 8, renames)
        wanted = {"likes": 201, "of": [{"n": 2}], "title": 24}
        self.assertEqual(self.get(element(session, "a")).json["content"], wanted)
        # A reader that follows ends with the same, by patches of its content.
        shown, revision = dict(LIKED["sections"][0]["items"][0]["content"]), first
        head = self.get_session(session).json["revision"]
        while revision != head:
            event = stream.next_event().json
            self.assertEqual(event["from"], revision)
            if "reset" in event:
                shown = event["state"]["sections"][0]["items"][0]["content"]
            for change in event.get("changes", []):
                item, = change["items"]
                shown = {**shown, **item["patch"]} if "patch" in item else item["content"]
            revision = event["to"]
        self.assertEqual(shown, wanted)

    def test_what_each_intent_makes(self):
        rows = (
            (update("a", patch={"of": None, "x": {"y": None}}), "a", {"likes": 1, "x": {}}),
            (update("a", add={"/likes": -3, "/of/0/n": 0.5, "/new/one": 1}), "a", {"likes": -2, "of": [{"n": 2.5}], "new": {"one": 1}}),
            (update("a", add={"/likes": 1}, patch={"likes": 7}), "a", {"likes": 8, "of": [{"n": 2}]}),
            (update("b", add={"/likes": 1}), "b", {"likes": 1}),
            (update("b", add={"": 2}), "b", 2),
            (update("b", patch=[1]), "b", [1]),
            ({"edits": [*update("b", content={"n": 1})["edits"] * 2, *update("b", add={"/n": 1})["edits"] * 3]}, "b", {"n": 4}),
            ({"edits": [{"op": "insert", "items": [{"id": "c", "content": 1}]}, *update("c", add={"": 1})["edits"]]}, "c", 2),
        )
        for body, identity, expected in rows:
            with self.subTest(body=body):
                session, _ = self.made(LIKED)
                self.assertChangeset(self.post_changes(session, body))
                self.assertEqual(self.get(element(session, identity)).json["content"], expected)
        session, first = self.made(LIKED)
        body = {"edits": [{"op": "update", "sections": [{"id": "s", "add": {"/n": 1}}, {"id": "t", "patch": {"title": "T"}}]}]}
        self.assertChangeset(self.post_changes(session, body))
        self.assertEqual([each.get("content") for each in self.get_session(session).json["state"]["sections"]], [{"n": 2}, {"title": "T"}])

    def test_what_is_not_named_is_kept_as_it_was_written(self):
        session, _ = self.made(b'[{"id":"a","content":{"b":1.500,"likes":0.10,"\\u0061":[1e2 ]}}]')
        self.post_changes(session, b'{"edits":[{"op":"update","items":[{"id":"a","add":{"/likes":0.20},"patch":{"z":2E0}}]}]}')
        self.assertIn('{"b":1.500,"likes":0.3,"\\u0061":[1e2 ],"z":2E0}', self.get_session(session).text)

    def test_every_refusal_names_its_place(self):
        session, first = self.made(LIKED)
        rows = (
            ({"add": {"/of": 1, "/of/1": 1, "/likes/x": 1, "/likes": 1}},
             [("/of", "not-a-number"), ("/of~11", "not-a-number"), ("/likes~1x", "not-a-number")]),
            ({"patch": {"x": None, "y": {"z": "1"}}, "add": {"/y/z": 1}}, [("/y~1z", "not-a-number")]),
            ({"add": {"/likes": 10 ** 18}}, [("/likes", "limit-exceeded")]), ({"add": {"/likes": "1"}}, [("/likes", "not-a-number")]),
            ({"add": {"/likes": 999_999_999_999_999_999}}, [("/likes", "limit-exceeded")]),
            ({"add": {"likes": 1}}, [(None, "wrong-shape")]), ({"add": 1}, [("", "wrong-shape")]),
        )
        for intents, errors in rows:
            with self.subTest(intents=intents):
                answer = self.post_changes(session, {"edits": [*update("b", content=1)["edits"], *update("a", **intents)["edits"]]})
                place = "/edits/1/items/0/add"
                told = [(f"{place}/likes" if path is None else f"{place}/~1{path[1:]}" if path else place, code) for path, code in errors]
                self.assertErrors(answer, "invalid-edit", *told)
        answer = self.post_changes(session, update("a", content=1, patch={}))
        self.assertErrors(answer, "invalid-edit", ("/edits/0/items/0/content", "wrong-shape"))
        self.assertEqual(self.get_session(session).json["revision"], first)

    def test_anchors_that_are_null_or_several(self):
        state = {"sections": [{"id": "s", "items": ["a", "b", "c"]}, {"id": "t", "items": ["d"]}]}
        rows = (
            ({"op": "move", "items": ["a"], "before": None}, ["b", "c", "d", "a"]), ({"op": "move", "items": ["d"], "after": None}, ["d", "a", "b", "c"]),
            ({"op": "move", "items": ["a"], "after": ["gone", "a", "c", "d"]}, ["b", "c", "a", "d"]),
            ({"op": "insert", "items": ["x"], "before": ["gone", None]}, ["a", "b", "c", "d", "x"]),
            ({"op": "move", "sections": ["t"], "before": ["t", "s"]}, ["d", "a", "b", "c"]),
            ({"op": "move", "sections": ["s"], "before": None}, ["d", "a", "b", "c"]),
        )
        for edit, expected in rows:
            with self.subTest(edit=edit):
                session, _ = self.made(state)
                self.assertChangeset(self.post_changes(session, {"edits": [edit]}))
                self.assertEqual(ids(self.get_session(session).json["state"]), expected)
        session, _ = self.made(state)
        for anchor, code in ((["gone"], "anchor-not-found"), ([], "wrong-shape"), ([None, "a"], "wrong-shape")):
            answer = self.post_changes(session, {"edits": [{"op": "move", "items": ["b"], "before": anchor}]})
            self.assertEqual(answer.json["errors"][0]["code"], code, answer)

    def test_a_like_is_counted_once_for_one_key(self):
        session, first = self.made(LIKED)
        for _ in range(3):
            self.assertStatus(self.post_changes(session, update("a", add={"/likes": 1}), Idempotency_Key="k"), 200)
        self.assertEqual(self.get(element(session, "a")).json["content"]["likes"], 2)
        # Of two equal edits from one revision the second is a retry only if it can be one: two people may like.
        like, name = {"add": {"/likes": 1}}, {"patch": {"name": "x"}}
        for intent, key, status in ((name, None, 200), (name, "l", 412), (like, None, 412), (like, "m", 412)):
            with self.subTest(intent=intent, key=key):
                session, first = self.made(LIKED)
                headers = [{"If_Match": f'"{first}"', "Idempotency_Key": key and f"{key}{number}"} for number in range(2)]
                self.assertStatus(self.post_changes(session, update("a", **intent), **headers[0]), 200)
                self.assertStatus(self.post_changes(session, update("a", **intent), **headers[1]), status)

    def test_a_content_stays_within_what_a_body_may_be(self):
        with self.subTest("size"):
            text = "x" * 9_000_000
            session, _ = self.made([{"id": "a", "content": {"x": text}}])
            answer = self.post_changes(session, update("a", patch={"y": text}), Prefer="return=minimal")
            self.assertErrors(answer, "invalid-edit", ("/edits/0/items/0/patch", "limit-exceeded"))
            add = {"op": "update", "items": [{"id": "a", "add": {"/n": 1}}]}
            answer = self.post_changes(session, {"edits": [add] * 40}, Prefer="return=minimal")
            self.assertEqual([each["code"] for each in answer.json["errors"]], ["limit-exceeded"], answer)
        with self.subTest("all together"):
            session, _ = self.made([{"id": number, "content": {"n": 1, "x": "x" * 10_000}} for number in range(1_500)])
            several = [{"id": number, "add": {"/n": 1}} for number in range(1_500)]
            answer = self.post_changes(session, {"edits": [{"op": "update", "items": several}] * 2}, Prefer="return=minimal")
            self.assertStatus(answer, 200)
            more = [{"id": "b", "content": "x" * 2_000_000}]
            self.assertStatus(self.post_changes(session, {"edits": [{"op": "insert", "items": more}]}, Prefer="return=minimal"), 200)
            several.append({"id": "b", "patch": {"n": 1}})
            self.assertStatus(self.post_changes(session, {"edits": [{"op": "update", "items": several}]}, Prefer="return=minimal"), 422)
        with self.subTest("depth"):
            session, _ = self.made(["a"])
            self.assertStatus(self.post_changes(session, update("a", add={"/a" * 59: 1})), 200)
            self.assertStatus(self.post_changes(session, update("a", add={"/b" * 60: 1})), 422)


class Patch(Intents):
    def test_a_patch_is_the_edit_that_it_stands_for(self):
        for kind, identity, query in (("items", "a", None), ("sections", "s", None), ("items", "a", {"dialect": "indexed", "content": "patch"})):
            with self.subTest(kind, query=query):
                session, other = (self.made(LIKED)[0] for _ in range(2))
                answer = self.patch(session, identity, {"likes": None, "t": 1}, query, kind)
                edit = {"op": "update", kind: [{"id": identity, "patch": {"likes": None, "t": 1}}]}
                same = self.post_changes(other, {"edits": [edit]}, query)
                self.assertEqual(self.assertChangeset(answer, dialect=(query or {}).get("dialect", "keyed"))["changes"], same.json["changes"])
                self.assertEqual(self.get_session(session).exact["state"], self.get_session(other).exact["state"])

    def test_an_id_is_one_segment(self):
        session, _ = self.made([{"id": "posts/1", "content": {}}, {"id": 7}])
        self.assertStatus(self.patch(session, "posts%2F1", {"a": 1}), 200)
        self.assertStatus(self.patch(session, "7", b"\xef\xbb\xbf {\"a\":1}"), 200)
        self.assertEqual([each["content"] for each in self.get_session(session).json["state"]["sections"][0]["items"]], [{"a": 1}] * 2)

    def test_other_types_are_415(self):
        session, first = self.made(LIKED)
        for kind in ("application/json", "application/json-patch+json", "application/vnd.x+json", "text/plain", "application/x-www-form-urlencoded", "", None):
            with self.subTest(kind):
                answer = self.patch(session, "a", {"x": 1}, Content_Type=kind)
                self.assertProblem(answer, 415, "unsupported-media-type")
                self.assertEqual(answer.headers["Accept-Patch"], MERGE_PATCH)
        self.assertStatus(self.patch(session, "a", {"x": 1}, Content_Type="Application/Merge-Patch+JSON; charset=utf-8"), 200)
        for kind in ("items", "sections"):
            answer = self.request("OPTIONS", element(session, "a", kind))
            self.assertEqual((answer.status, answer.headers["Accept-Patch"]), (204, MERGE_PATCH))
            self.assertIn("PATCH", answer.headers["Allow"])
        self.assertNotIn("Accept-Patch", self.request("OPTIONS", session_path(session)).headers)

    def test_what_is_not_there(self):
        session, first = self.made(LIKED)
        stale = '"1-0123456789abcdef"'
        for kind, problem in (("items", "item-not-found"), ("sections", "section-not-found")):
            self.assertProblem(self.patch(session, "zzz", {}, kind=kind), 404, problem)
            self.assertProblem(self.patch(session, "a%01b", {}, kind=kind), 404, problem)
            self.assertProblem(self.patch(session, "zzz", {}, kind=kind, If_Match=f'"{first}"'), 404, problem)
            self.assertProblem(self.patch(session, "zzz", {}, kind=kind, If_Match=stale), 412, "revision-mismatch")
            self.assertProblem(self.patch("none", "zzz", {}, kind=kind), 404, "session-not-found")
        self.assertProblem(self.patch(session, "a", {}, If_Match=stale), 412, "revision-mismatch", current=first)
        # An impossible id does not exist, which is reported after all other checks.
        self.assertProblem(self.patch("none", "%01", {}), 404, "session-not-found")
        self.assertProblem(self.patch(session, "%01", {}, If_Match=stale), 412, "revision-mismatch")
        self.assertProblem(self.patch(session, "x" * 3000, {}), 404, "item-not-found")

    def test_its_mistakes_are_in_the_body_that_was_sent(self):
        session, _ = self.made([{"id": "a", "content": {"x": "x" * 9_000_000}}])
        answer = self.patch(session, "a", {"y": "y" * 9_000_000}, Prefer="return=minimal")
        self.assertErrors(answer, "invalid-edit", ("", "limit-exceeded"))

    def test_what_it_may_not_say(self):
        session, first = self.made(LIKED)
        self.assertProblem(self.patch(session, "a", b'{"x":1,}'), 400, "malformed-json", offset=7)
        self.assertProblem(self.patch(session, "a", b""), 400, "malformed-json")
        self.assertProblem(self.patch(session, "a", b'{"x":1,"x":2}'), 400, "malformed-json")
        self.assertProblem(self.patch(session, "a", b"[" * 60 + b"]" * 60), 400, "malformed-json")
        self.assertStatus(self.patch(session, "a", b"[" * 59 + b"]" * 59), 200)
        for query in ({"idAt": "/id"}, {"shape": "native"}, {"revision": first}, {"wait": 1}):
            self.assertProblem(self.patch(session, "a", {}, query), 400, "unknown-parameter")

    def test_keys_and_lost_answers(self):
        session, first = self.made(LIKED)
        once = self.patch(session, "a", {"x": 1}, Idempotency_Key="k", If_Match=f'"{first}"')
        again = self.patch(session, "a", {"x": 1}, Idempotency_Key="k", If_Match=f'"{first}"')
        self.assertEqual((once.status, again.status, again.json["to"]), (200, 200, once.json["to"]))
        for identity, patch in (("b", {"x": 1}), ("a", {"x": 2})):
            self.assertProblem(self.patch(session, identity, patch, Idempotency_Key="k"), 422, "idempotency-key-reused")
        # The equivalent edit is the same request.
        self.assertStatus(self.post_changes(session, update("a", patch={"x": 1}), Idempotency_Key="k"), 200)
        session, first = self.made(LIKED)
        for identity, status in (("a", 200), ("a", 200), ("b", 412)):
            self.assertStatus(self.patch(session, identity, {"x": 1}, If_Match=f'"{first}"'), status)
        answer = self.patch(session, "a", {"y": 1}, Prefer="return=minimal")
        self.assertEqual((set(answer.json), answer.headers["Preference-Applied"]), ({"session", "from", "to"}, "return=minimal"))

    def test_in_a_session_that_keeps_a_shape(self):
        session = self.new_name()
        self.assertStatus(self.put_session(session, {"state": {"list": [{"key": 1, "likes": 1}]}, "shape": {"itemsAt": "/list", "idAt": "/key"}}), 201)
        self.assertStatus(self.patch(session, "1", {"likes": 2}), 200)
        self.assertStatus(self.post_changes(session, update(1, add={"/likes": 1})), 200)
        self.assertEqual(self.content(session, 1), exact('{"key":1,"likes":3}'))

    def test_views_windows_and_dialects(self):
        for query, expected in (
            ({"view": '{"fields":["/content/likes"]}'}, []), ({"view": '{"where":[{"at":"/id","not":"a"}]}'}, []),
            ({"at": "end", "before": "0"}, [{"op": "remove", "items": ["a"]}]),
        ):
            with self.subTest(query=query):
                session, _ = self.made(LIKED)
                self.assertEqual(self.patch(session, "a", {"of": 0}, query).json["changes"], expected)
        for dialect in ("keyed", "indexed", "staged", "diffable", "sequential", "json-patch"):
            session, first = self.made(LIKED)
            answer = self.patch(session, "a", {"of": 0}, {"dialect": dialect, "content": "patch"})
            self.assertIn('"of":0' if dialect != "json-patch" else "/sections/0/items/0/content/of", self.assertChangeset(answer, dialect=dialect) and answer.text)


class Rights(Guarded):
    def test_scopes(self):
        session = self.new_name()
        self.make(session, [{"id": "a", "content": {"n": 1}}])
        path = element(session, "a")
        rows = (("read", 403), ("edit", 200), ("edit:update", 200), ("read edit:move", 403), ("edit:insert edit:delete", 403))
        for scope, status in rows:
            given = token(session, scope)
            with self.subTest(scope):
                self.assertStatus(self.ask("PATCH", path, given, {"x": 1}, Content_Type=MERGE_PATCH), status)
                answer = self.ask("POST", session_path(session, "changes"), given, update("a", add={"/n": 1}))
                self.assertStatus(answer, status)
                if status == 200:
                    self.assertEqual(set(answer.json), {"session", "from", "to"})
        self.assertStatus(self.ask("PATCH", path, None, {"x": 1}, Content_Type=MERGE_PATCH), 401)
        self.assertStatus(self.ask("PATCH", path, token("other", "edit"), {"x": 1}, Content_Type=MERGE_PATCH), 403)
        # Unauthorized callers do not learn whether it exists.
        self.assertStatus(self.ask("PATCH", element(session, "zzz"), token(session), {}, Content_Type=MERGE_PATCH), 403)
        self.assertStatus(self.ask("PATCH", path, token(session, "edit"), {}, Content_Type=MERGE_PATCH, ), 200)
        self.assertStatus(self.ask("PATCH", path + "?view=%7B%7D", token(session, "edit"), {}, Content_Type=MERGE_PATCH), 403)
        self.assertEqual(self.ask("GET", path, WRITER).json["content"], {"n": 3, "x": 1})


class Hooks(HookCase):
    def test_an_owner_is_told_what_was_meant(self):
        name, path = self.new_board(state=[{"id": "a", "content": {"likes": 1}}])
        self.assertStatus(self.edit(name, b'{"edits":[{"op":"update","items":[{"id":"a","add":{"/likes":1.0},"patch":{"x": null}}]}]}'), 200)
        self.assertStatus(self.request("PATCH", element(name, "a"), b' {"y":1.50} ', Content_Type=MERGE_PATCH, **self.may(name)), 200)
        first, second = self.upstream.requests(path)
        self.assertIn(b'[{"op":"update","items":[{"id":"a","add":{"/likes":1.0},"patch":{"x": null}}]}]', first.body)
        self.assertIn(b'[{"op":"update","items":[{"id":"a","patch":{"y":1.50}}]}]', second.body)
        self.assertEqual(self.get(element(name, "a"), **bearer(KEY)).json["content"], {"likes": 2, "y": 1.5})

    def test_an_add_that_is_retried_counts_once(self):
        name, path = self.new_board(says({}, 500), state=[{"id": "a", "content": {"likes": 1}}])
        likes = lambda: self.get(element(name, "a"), **bearer(KEY)).json["content"]["likes"]
        like = update("a", add={"/likes": 1})
        self.assertProblem(self.edit(name, like, Idempotency_Key="k"), 503, "hook-unavailable")
        self.upstream.set(path, says({"detail": "not yours"}, 403))
        self.assertProblem(self.edit(name, like, Idempotency_Key="k"), 422, "edit-refused")
        self.assertEqual(likes(), 1)
        self.upstream.set(path, YES)
        for _ in range(3):
            self.assertStatus(self.edit(name, like, Idempotency_Key="k"), 200)
        self.assertEqual((likes(), len({request["webhook-id"] for request in self.upstream.requests(path)})), (2, 1))
        # The owner has seen one id three times, and the last one counted.
        self.assertEqual(self.upstream.count(path), 3)
        for number in range(5):
            self.assertStatus(self.edit(name, like, Idempotency_Key=f"k{number}"), 200)
        self.assertEqual(likes(), 7)

    def test_an_addition_is_made_on_top_of_what_others_wrote_while_its_owner_thought(self):
        name, path = self.new_board(state=[{"id": "a", "content": {"likes": 1}}])

        def meanwhile(body):
            """An owner who agrees once somebody else has written."""
            def behaviour(exchange):
                other = Client(self.server)
                self.assertStatus(other.request("POST", session_path(name, "changes"), body, bearer(KEY)), 200)
                other.close()
                return YES(exchange)
            return behaviour

        for body, expected in ((update("a", add={"/likes": 10}), 12), (update("a", patch={"likes": "many"}), "many")):
            self.upstream.set(path, meanwhile(body))
            # The second one does not fit any more, and is dropped.
            self.assertStatus(self.edit(name, update("a", add={"/likes": 1})), 200)
            self.assertEqual(self.get(element(name, "a"), **bearer(KEY)).json["content"]["likes"], expected)

    def test_the_next_fetch_overrules_an_intent(self):
        name, path = self.new_board(kind="b", state=[{"id": "a", "content": {"likes": 1}}])
        self.assertStatus(self.edit(name, update("a", add={"/likes": 1})), 200)
        self.upstream.set("/b/" + name.split(":")[1], [{"id": "a", "content": {"likes": 5}}])
        wait_for(lambda: self.get(element(name, "a"), **bearer(KEY)).json["content"]["likes"] == 5, "the next fetch")
        self.assertStatus(self.post_changes(name, update("a", add={"/likes": 1}), **bearer(KEY)), 200)
