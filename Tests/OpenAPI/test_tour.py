"""Through all endpoints, dialects and shapes of bodies: every answer is compared with the description as it comes."""

import gzip
import json
import threading
import unittest
from urllib.parse import quote

import story
import validator
from service import Service
from story import CHANGES, DIALECTS, NEW, OLD, PATCH_TYPE, SESSION, media_type
from support.clock import let_pass
from upstream import REFUSAL, Upstream

OUTLINE = [{"id": "fruit", "kind": "folder", "items": ["apple", {"id": "pear", "items": ["core"]}]}, "bread"]
OWN = {"Incidents": [{"UniqueId": "f-1", "Name": "Creek"}, {"UniqueId": "f-2", "Name": "Ridge"}]}


class Tour(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.upstream = Upstream()
        cls.service = Service(
            "--digest-key", "example", "--history-revisions", "20", "--lists", str(cls.upstream.file), memory=story.seen)

    @classmethod
    def tearDownClass(cls):
        cls.upstream.close()
        assert cls.service.stop() == 0, "the server did not end in order"

    def setUp(self):
        self.ask = self.service.ask

    def made(self, state, path=SESSION):
        """Starts the session over; returns its revision."""
        self.ask("DELETE", path)
        answer = self.ask("PUT", path, {"state": state})
        self.assertEqual(answer.status, 201, answer)
        return answer.json["revision"]

    def wrote(self, body, target=CHANGES, **headers):
        answer = self.ask("POST", target, body, **headers)
        self.assertIn(answer.status, (200, 201), answer)
        return answer

    # Diff

    def test_diff_in_every_dialect(self):
        pairs = [(OLD, NEW), (NEW, OLD), (OUTLINE, ["pear", "bread", {"id": "fruit", "expanded": False, "items": ["apple"]}]), ([], []), (["a", 1], {"items": [1, "a"]})]
        for old, new in pairs:
            for dialect in DIALECTS:
                for query in ("", "&content=patch", "&staging=compact", "&maxChanges=0"):
                    self.assertEqual(self.ask("POST", f"/v1/diff?dialect={dialect}{query}", {"old": old, "new": new}).status, 200)

    def test_diff_in_every_media_type(self):
        for dialect in DIALECTS:
            answer = self.ask("POST", "/v1/diff", {"old": OLD, "new": NEW}, Accept=media_type(dialect))
            self.assertEqual(answer.media_type, media_type(dialect))
            answer = self.ask("POST", f"/v1/diff?dialect={dialect}", {"old": OLD, "new": NEW}, Accept="application/json")
            self.assertEqual((answer.media_type, answer.json["dialect"]), ("application/json", dialect))
        self.assertEqual(self.ask("POST", "/v1/diff", {"old": OLD, "new": NEW}, Accept=PATCH_TYPE).media_type, PATCH_TYPE)
        self.ask("POST", "/v1/diff?maxChanges=0", {"old": OLD, "new": NEW}, Accept=PATCH_TYPE)

    def test_diff_of_states_in_all_shapes(self):
        shapes = [[], ["a"], [1, {"id": 2}], {"items": ["a"]}, {"sections": []}, OLD, OUTLINE,
                  {"sections": [{"id": "s", "expanded": False, "items": OUTLINE}]}]
        for old in shapes:
            for new in shapes:
                self.assertEqual(self.ask("POST", "/v1/diff", {"old": old, "new": new}).status, 200)

    def test_a_new_identity_for_every_item_is_warned_of(self):
        texts = [{"id": number, "content": {"text": f"text {number}"}} for number in range(10)]
        answer = self.ask("POST", "/v1/diff", {"old": texts, "new": [{**each, "id": f"new {each['id']}"} for each in texts]})
        self.assertEqual(answer.json["warnings"], [{"code": "identity-churn"}])

    def test_where_a_list_seems_to_stand(self):
        document = {"status": 200, "data": {"members": [{"userID": 7, "name": "Ann"}, {"userID": 8, "name": "Bob"}]}}
        guess = self.ask("POST", "/v1/shape", document).json["shapes"][0]
        self.assertEqual(guess, {"shape": {"itemsAt": "/data/members", "idAt": "/userID"}, "rows": 2, "sections": 1})
        self.assertEqual(self.ask("OPTIONS", "/v1/shape").status, 204)
        refused = self.ask("POST", "/v1/diff", {"old": document, "new": document})
        self.assertEqual((refused.status, refused.json["shape"]), (422, guess["shape"]))
        self.assertEqual(self.ask("POST", "/v1/shape", ["a"]).json["shapes"][0]["shape"], {})

    def test_ids_of_all_forms(self):
        ids = ["\u00e9", "e\u0301", "a/b~c", "\U0001f600", " ", "x" * 2048, "9" * 30, 10**40, -1, "\u2028", "\\\"", "%41"]
        for dialect in DIALECTS:
            answer = self.ask("POST", f"/v1/diff?dialect={dialect}", {"old": ids, "new": ids[::-1] + ["last"]})
            self.assertEqual(answer.status, 200, answer)

    # Sessions

    def test_sessions_are_created_read_started_over_and_deleted(self):
        self.ask("DELETE", SESSION)
        created = self.ask("PUT", SESSION, {"state": OLD, "ttl": 86400, "ignore": ["/seen"]})
        self.assertEqual(created.status, 201)
        revision = created.json["revision"]
        self.assertEqual(self.ask("GET", SESSION).json["state"], OLD)
        self.assertEqual(self.ask("HEAD", SESSION).status, 200)
        for tag in (f'"{revision}"', f'W/"{revision}"', f'"x", "{revision};gzip"', "*"):
            self.assertEqual(self.ask("GET", SESSION, If_None_Match=tag).status, 304)
            self.assertEqual(self.ask("HEAD", SESSION, If_None_Match=tag).status, 304)
        settings = self.ask("GET", f"{SESSION}/settings")
        self.assertEqual((settings.status, settings.json), (200, {"ttl": 86400, "ignore": ["/seen"], "keep": [], "public": False}))
        self.assertEqual(self.ask("HEAD", f"{SESSION}/settings").status, 200)
        self.assertEqual(self.ask("OPTIONS", f"{SESSION}/settings").status, 204)
        self.assertEqual(self.ask("PUT", SESSION, dict.fromkeys(settings.json)).status, 200)
        self.assertEqual(self.ask("PUT", SESSION, {"state": NEW}, If_Match=f'"{revision}"').status, 200)
        self.assertEqual(self.ask("PUT", SESSION, {"state": ["a"], "ttl": 60}).status, 200)
        self.assertEqual(self.ask("DELETE", SESSION).status, 204)
        self.assertEqual(self.ask("DELETE", SESSION).status, 204)
        self.assertEqual(self.ask("PUT", SESSION, {"state": ["a"]}, If_None_Match="*").status, 201)

    def test_every_part_of_a_shape_is_a_setting(self):
        shapes = [
            {"sectionsAt": "/groups", "sectionIdAt": "/id", "itemsAt": "/rows", "idAt": "/id", "kindAt": "/kind", "childrenAt": "/rows",
             "expandedAt": "/open", "sectionExpandedAt": "/open", "idScope": "section", "rest": True, "duplicates": "first",
             "missing": "empty", "invalid": "skip"},
            {"itemsAt": "/rows", "idBy": "match"},
            {"itemsAt": "/rows", "map": True},
            {"itemsAt": "/rows", "idAt": "/id", "groupAt": "/day", "groupPrefix": 10},
        ]
        for shape in shapes:
            self.ask("DELETE", SESSION)
            self.assertEqual(self.ask("PUT", SESSION, {"shape": shape}).status, 201)
            self.assertEqual(self.ask("GET", f"{SESSION}/settings").json["shape"], shape)
        self.ask("DELETE", SESSION)

    def test_a_list_with_content_of_its_own(self):
        self.made({"content": {"title": "Groceries", "note": "today"}, **OLD})
        for dialect in DIALECTS:
            for query in ("", "&content=patch"):
                title = f"Groceries, {dialect}{query}"
                answer = self.wrote({"content": {"title": title}, **OLD}, f"{CHANGES}?dialect={dialect}{query}").json
                if dialect not in ("counts", "json-patch"):
                    self.assertEqual([each["title"] for each in answer["list"].values()], [title])

    def test_compression_both_ways(self):
        state = [{"id": number, "content": "the same text again"} for number in range(200)]
        self.made(state)
        for target in (SESSION, CHANGES, "/metrics", "/openapi.json"):
            answer = self.ask("GET", target, Accept_Encoding="gzip")
            self.assertEqual(answer.headers.get("Content-Encoding"), "gzip", target)
        body = gzip.compress(json.dumps({"state": state + ["last"]}).encode())
        self.assertEqual(self.ask("PUT", SESSION, body, Content_Encoding="gzip").status, 200)

    def test_bodies_of_all_types(self):
        for kind in ("application/json", "application/json; charset=utf-8", "application/vnd.api+json", "application/x-www-form-urlencoded"):
            self.assertEqual(self.ask("POST", "/v1/diff", {"old": [], "new": ["a"]}, Content_Type=kind).status, 200)

    # Changes

    def test_changes_in_every_dialect(self):
        self.ask("DELETE", SESSION)
        first = self.ask("PUT", SESSION, {"state": OLD, "ttl": 86400, "ignore": ["/seen"]}).json["revision"]
        self.ask("GET", SESSION)
        self.wrote(NEW)
        for query in (f"since={first}", "", "since=", f"since={first}&maxChanges=1", f"since={first}&content=patch",
                      f"since={first}&staging=compact", "since=7-0123456789abcdef"):
            for dialect in DIALECTS:
                self.assertEqual(self.ask("GET", f"{CHANGES}?dialect={dialect}&{query}").status, 200)
                self.assertEqual(self.ask("GET", f"{CHANGES}?{query}", Accept=media_type(dialect)).media_type, media_type(dialect))
                self.assertEqual(self.ask("GET", f"{CHANGES}?dialect={dialect}&{query}", Accept="application/json").media_type, "application/json")
            self.assertEqual(self.ask("GET", f"{CHANGES}?{query}", Accept=PATCH_TYPE).media_type, PATCH_TYPE)
        last = self.ask("GET", SESSION).json["revision"]
        for dialect in DIALECTS:
            self.ask("GET", f"{CHANGES}?since={last}&dialect={dialect}")
        self.wrote(NEW, f"{CHANGES}?since={first}", Prefer="return=minimal")
        self.ask("HEAD", f"{CHANGES}?since={first}")
        self.ask("GET", f"{SESSION}/items?at=0,1&at=7,7&id=4&id=x")
        self.ask("GET", f"{SESSION}/items/4")
        self.ask("GET", f"{SESSION}/sections?at=0&at=9&id=4&id=x")
        self.ask("GET", f"{SESSION}/sections/later")

    def test_states_are_posted_in_every_shape_and_dialect(self):
        bodies = [["a", "b"], {"items": [1, 2]}, OLD, NEW, {"state": OUTLINE}, {"state": OLD, "ttl": 60, "ignore": ["/seen"]}]
        for dialect in DIALECTS:
            for number, body in enumerate(bodies):
                self.wrote(body, f"{CHANGES}?dialect={dialect}")
                self.wrote(body, Accept=media_type(dialect))
                self.ask("DELETE", f"/v1/sessions/fresh-{number}")
                answer = self.wrote(body, f"/v1/sessions/fresh-{number}/changes", Accept=media_type(dialect))
                self.assertEqual((answer.status, answer.media_type), (201, media_type(dialect)))
        self.wrote(OLD, Accept=PATCH_TYPE)
        self.ask("DELETE", SESSION)
        self.assertEqual(self.wrote(OLD, Accept=PATCH_TYPE).status, 201)
        self.ask("DELETE", SESSION)
        self.assertEqual(self.wrote(OLD, f"{CHANGES}?since=3-0123456789abcdef", Prefer="return=minimal").status, 201)

    def test_contents_as_patches(self):
        long = {"title": "a title of some length", "text": "and a text that is longer than what changes of it", "read": False}
        self.made({"sections": [{"id": "s", "content": long, "items": [{"id": 1, "content": long}]}]})
        for number, dialect in enumerate(DIALECTS):
            content = {**long, "read": number}
            state = {"sections": [{"id": "s", "content": content, "items": [{"id": 1, "content": content}]}]}
            self.wrote(state, f"{CHANGES}?content=patch&dialect={dialect}")

    def test_texts_that_grow(self):
        text = "a text of some length"
        self.made({"content": {"log": text}, "sections": [{"id": "s", "content": {"note": text}, "items": [{"id": 1, "content": {"text": text}}]}]})
        for dialect in DIALECTS:
            text += ", and more of it"
            state = {"content": {"log": text}, "sections": [{"id": "s", "content": {"note": text}, "items": [{"id": 1, "content": {"text": text}}]}]}
            self.wrote(state, f"{CHANGES}?content=delta&dialect={dialect}")

    def test_changes_of_an_outline(self):
        states = [OUTLINE, [{"id": "fruit", "expanded": False, "items": OUTLINE[0]["items"]}, "bread"],
                  [{"id": "bread", "items": ["apple", "fruit"]}], ["apple", "fruit", "bread"]]
        first = self.made(OUTLINE)
        for state in states + states[::-1]:
            self.wrote(state)
            for dialect in DIALECTS:
                for content in ("full", "patch"):
                    self.ask("GET", f"{CHANGES}?since={first}&dialect={dialect}&content={content}")
            self.ask("GET", SESSION)

    def test_all_edits(self):
        example = validator.description().document["components"]["requestBodies"]["Changes"]
        edits = example["content"]["application/json"]["examples"]["edits"]["value"]["edits"]
        self.made(NEW)
        before = self.ask("GET", SESSION).json["revision"]
        for dialect in DIALECTS:
            self.wrote({"edits": edits}, f"{CHANGES}?since={before}&dialect={dialect}")
            self.made(NEW)
        for edit in edits:
            self.wrote({"edits": [edit]})
        more = [
            {"op": "insert", "items": ["x", {"id": "y", "items": ["z"]}], "at": "start"},
            {"op": "insert", "sections": [{"id": "new"}], "before": "today"}, {"op": "move", "sections": ["new"], "after": "later"},
            {"op": "move", "items": ["z"], "into": "new"}, {"op": "move", "items": ["z"], "into": {"item": "x"}, "at": "end"},
            {"op": "update", "sections": [{"id": "new", "content": [1], "expanded": False}]},
            {"op": "update", "items": [{"id": "x", "content": None, "kind": "k", "expanded": False}]},
            {"op": "delete", "sections": ["later", "gone"]}, {"op": "clear", "items": ["y"]}, {"op": "reload", "items": ["y"]},
            {"op": "collapse", "items": ["y"]}, {"op": "clear"}]
        for edit in more:
            for dialect in DIALECTS:
                self.wrote({"edits": [edit] if dialect == "keyed" else []}, f"{CHANGES}?since={before}&dialect={dialect}")

    def test_patches_of_one_content(self):
        self.made(NEW)
        examples = validator.description().document["components"]["requestBodies"]["Patch"]["content"]
        (kind, media), = examples.items()
        patch = media["examples"]["text"]["value"]
        for place in ("items/1", "sections/today"):
            for accepted in [*map(media_type, DIALECTS), PATCH_TYPE, "application/json"]:
                answer = self.ask("PATCH", f"{SESSION}/{place}", patch, Content_Type=kind, Accept=accepted)
                self.assertEqual(answer.status, 200, answer)
            for dialect in DIALECTS:
                for query in ("", "&since=", "&content=patch"):
                    answer = self.ask("PATCH", f"{SESSION}/{place}?dialect={dialect}{query}", {"n": dialect}, Content_Type=kind)
                    self.assertEqual(answer.status, 200, answer)
            self.ask("PATCH", f"{SESSION}/{place}", 1, Content_Type=kind, Prefer="return=minimal")
            self.assertEqual(self.ask("PATCH", f"{SESSION}/{place}", patch).status, 415)
            self.assertEqual(self.ask("PATCH", f"{SESSION}/{place}x", patch, Content_Type=kind).status, 404)
            self.assertEqual(self.ask("PATCH", f"{SESSION}/{place}", patch, Content_Type=kind, If_Match='"9-0123456789abcdef"').status, 412)

    def test_json_of_ones_own(self):
        groups = {"groups": [{"name": "g", "title": "G", "members": [{"userID": 7, "n": 1}]}]}
        pointers = "sectionsAt=/groups&sectionIdAt=/name&itemsAt=/members&idAt=/userID"
        incidents = "itemsAt=/Incidents&idAt=/UniqueId"
        self.ask("DELETE", SESSION)
        self.assertEqual(self.wrote(OWN, f"{CHANGES}?{incidents}").status, 201)
        self.wrote({"Incidents": OWN["Incidents"][::-1]}, f"{CHANGES}?{incidents}&dialect=indexed")
        self.wrote([{"userID": "x"}], f"{CHANGES}?idAt=/userID")
        self.assertEqual(self.ask("PUT", f"{SESSION}?{pointers}", {"state": groups}).status, 200)
        self.assertEqual(self.ask("POST", f"/v1/diff?{pointers}", {"old": groups, "new": {"groups": []}}).status, 200)
        self.assertEqual(self.ask("POST", "/v1/diff?itemsAt=", {"old": [{"id": 1}], "new": [{"id": 2, "title": "t"}]}).status, 200)

    def test_writes_are_repeated(self):
        revision = self.made(OLD)
        for _ in range(2):
            answer = self.wrote(NEW, If_Match=f'"{revision}"', Idempotency_Key="once")
            self.assertEqual(answer.json["from"], revision)
        self.wrote(NEW, If_Match=f'"{revision}"')
        self.ask("DELETE", SESSION)
        for prefer in ("", "return=minimal"):
            self.assertEqual(self.wrote(OLD, Idempotency_Key="first", Prefer=prefer).status, 201)
        self.wrote(OLD, f"{CHANGES}?since=", Idempotency_Key="first")

    # Waiting

    def test_long_polls(self):
        revision = self.made(OLD)
        for headers in ({}, {"Prefer": "wait=1"}):
            self.assertEqual(self.ask("GET", f"{CHANGES}?since={revision}" + ("" if headers else "&wait=1"), **headers).json["changes"], [])
        poll = []
        waiting = threading.Thread(target=lambda: poll.append(self.ask("GET", f"{CHANGES}?since={revision}&wait=20&dialect=staged")))
        waiting.start()
        self.wrote(NEW)
        waiting.join()
        self.assertTrue(poll[0].json["changes"])

    def test_event_streams(self):
        revision = self.made(OLD)
        self.wrote(NEW)
        for dialect in DIALECTS:
            for query in (f"since={revision}", "", f"since={revision}&content=patch&maxChanges=1&staging=compact"):
                answer = self.service.stream(f"{CHANGES}?dialect={dialect}&{query}", "event: changes")
                self.assertEqual(answer.media_type, "text/event-stream")
        self.service.stream(CHANGES, '"reset":"unknown"', Last_Event_ID="broken")
        self.service.stream(CHANGES, f'"from":"{revision}"', Last_Event_ID=revision)
        self.ask("HEAD", CHANGES, Accept="text/event-stream")
        self.ask("HEAD", "/v1/changes?session=nobody")
        for dialect in DIALECTS:
            found = self.ask("GET", f"/v1/changes?session={SESSION.rsplit('/', 1)[1]}@{revision}&session=nobody&dialect={dialect}").json["answers"]
            named = self.ask("GET", f"/v1/changes?session={SESSION.rsplit('/', 1)[1]}", Accept=media_type(dialect))
            self.assertEqual(named.media_type, media_type(dialect))
            self.assertEqual([each["session"] for each in found], [SESSION.rsplit("/", 1)[1], "nobody"])
            answer = self.service.stream(f"/v1/changes?session={SESSION.rsplit('/', 1)[1]}&dialect={dialect}&every=0.5", "event: changes")
            self.assertEqual(answer.media_type, "text/event-stream")
        head = self.ask("GET", SESSION).json["revision"]
        streams = []
        reading = threading.Thread(target=lambda: streams.append(self.service.stream(f"{CHANGES}?since={head}", "event: end")))
        reading.start()
        self.wrote(OLD)
        while not any(target.endswith(f"since={head}") for _, target, _ in story.seen):
            self.ask("DELETE", SESSION)
            reading.join(0.1)
            self.ask("PUT", SESSION, {"state": OLD})
        self.assertIn(b"session-not-found", streams[0].body)

    # Views and windows

    def test_views_and_windows(self):
        revision = self.made(OLD)
        view = quote('{"where":[{"at":"/id","not":2}],"order":[{"at":"/id","descending":true}],"limit":9,"fields":["/content/text"]}')
        seen = self.ask("GET", f"{SESSION}?view={view}")
        self.assertEqual(self.ask("GET", f"{SESSION}?view={view}", If_None_Match=seen.headers["ETag"]).status, 304)
        self.wrote(NEW, f"{CHANGES}?view={view}&at=start&after=1")
        for window in ("at=start&after=1", "at=end&before=1", "at=1", "around=1&before=1&after=1"):
            shown = self.ask("GET", f"{CHANGES}?{window}").json
            self.assertIn("~", shown["to"])
            for dialect in ("keyed", "indexed", "staged", "diffable", "sequential"):
                self.ask("GET", f"{CHANGES}?{window}&dialect={dialect}")
                moved = self.ask("GET", f"{CHANGES}?at=start&after=0&since={shown['to']}&dialect={dialect}").json
                self.assertEqual(moved["from"], shown["to"])
        for dialect in DIALECTS:
            self.ask("GET", f"{CHANGES}?view={view}&since={seen.json['revision']}&dialect={dialect}")
            self.service.stream(f"{CHANGES}?view={view}&dialect={dialect}", "event: changes")
        self.ask("GET", f"{SESSION}/items?id=1&view={view}")
        self.ask("GET", f"{SESSION}/items/1?revision={seen.json['revision']}&view={view}")
        self.ask("GET", f"{SESSION}/sections?at=0&view={view}")
        self.ask("GET", f"{SESSION}/sections/today?view={view}")
        self.assertEqual(self.ask("POST", f"/v1/diff?view={view}", {"old": OLD, "new": NEW}).status, 200)
        self.assertIsNone(self.ask("GET", CHANGES + "?at=0&view=" + quote('{"limit":0}')).json["window"]["anchor"])
        self.assertEqual(self.ask("GET", f"{SESSION}?view=" + quote('{"order":' + str([{"at": "/id"}] * 5).replace("'", '"') + "}")).status, 422)
        self.assertEqual(self.ask("GET", f"{CHANGES}?after=3").status, 400)
        minted = self.ask("POST", SESSION + "/tokens", {"view": {"limit": 1}}).json["token"]
        self.assertEqual(self.ask("GET", SESSION, Authorization="Bearer " + minted).status, 200)

    # Look-ups

    def test_look_ups(self):
        first = self.made(OUTLINE)
        self.wrote([{"id": "fruit", "expanded": False, "kind": "folder", "items": OUTLINE[0]["items"]}, "bread"])
        for query in ("", f"revision={first}"):
            for item in ("fruit", "pear", "core", "bread"):
                self.assertEqual(self.ask("GET", f"{SESSION}/items/{item}?{query}").json["id"], item)
                self.ask("HEAD", f"{SESSION}/items/{item}?{query}")
            answer = self.ask("GET", f"{SESSION}/items?at=0,0&id=core&at=0,3&id=none&{query}")
            self.assertEqual(len(answer.json["items"]) + len(answer.json["missing"]), 4)
            self.ask("HEAD", f"{SESSION}/items?at=0,0&{query}")
            self.assertEqual(self.ask("GET", f"{SESSION}/sections/main?{query}").json["index"], 0)
            self.ask("HEAD", f"{SESSION}/sections/main?{query}")
            self.assertEqual(self.ask("GET", f"{SESSION}/sections?at=0&id=main&at=1&id=none&{query}").json["missing"], [{"at": 1}, {"id": "none"}])
            self.ask("HEAD", f"{SESSION}/sections?at=0&{query}")
        self.made(["a/b", "é ?", 5])
        for item in ("a%2Fb", "%C3%A9%20%3F", "5"):
            self.assertEqual(self.ask("GET", f"{SESSION}/items/{item}").status, 200)

    def test_the_rows_of_one_section(self):
        for dialect in DIALECTS:
            self.made(OLD)
            target = f"{SESSION}/sections/today/changes?dialect={dialect}"
            for body in ([3, {"id": 1, "content": {"text": "Bread"}}], {"content": {"title": "Today"}, "items": None, "expanded": True}, {}):
                self.assertEqual(self.ask("POST", target, body).status, 200)
            for body in ({"state": OLD}, [{"title": "no id"}], [4]):
                self.assertEqual(self.ask("POST", target, body).status, 422)
            self.assertEqual(self.ask("POST", f"{target}&itemsAt=/Incidents&idAt=/UniqueId&rest=true&idScope=section", OWN).status, 200)
            self.assertEqual(self.ask("POST", f"{target}&sectionsAt=/a", OWN).status, 400)
        self.ask("DELETE", SESSION)
        for number, kind in enumerate([*map(media_type, DIALECTS), PATCH_TYPE]):
            target = f"/v1/sessions/section-{number}/sections/today/changes"
            self.assertEqual([self.ask("POST", target, ids, Accept=kind).status for ids in (["a"], ["b"])], [201, 200])
            self.ask("DELETE", f"/v1/sessions/section-{number}")
        self.assertEqual(self.ask("POST", f"{SESSION}/sections/today/changes", [], If_Match='"1-0123456789abcdef"').status, 412)
        self.assertEqual(self.ask("POST", f"{SESSION}/sections/today/changes", []).status, 201)

    # The rest

    def test_tokens(self):
        for body in ({"scope": ["read"]}, {"scope": ["read", "edit"], "ttl": 60}):
            token = self.ask("POST", "/v1/sessions/not-yet/tokens", body)
            self.assertEqual(token.status, 201)
        held = {"Authorization": "Bearer " + token.json["token"]}
        self.made(OLD, "/v1/sessions/not-yet")
        self.assertEqual(self.ask("GET", "/v1/sessions/not-yet", **held).status, 200)
        self.assertEqual(self.ask("POST", "/v1/sessions/not-yet/changes", {"edits": [{"op": "clear"}]}, **held).status, 200)
        self.assertEqual(self.ask("PUT", "/v1/sessions/not-yet", {"state": []}, **held).status, 403)
        several = self.ask("POST", "/v1/tokens", {"sessions": ["not-yet", "nor-this"], "scope": ["read", "edit:move"]})
        held = {"Authorization": "Bearer " + several.json["token"]}
        self.assertEqual(self.ask("GET", "/v1/sessions/not-yet", **held).status, 200)
        self.assertEqual(self.ask("POST", "/v1/sessions/not-yet/changes", {"edits": [{"op": "clear"}]}, **held).status, 403)
        self.assertEqual(self.ask("POST", "/v1/tokens", {"sessions": ["s"] * 65}).status, 422)
        self.assertEqual(self.ask("DELETE", f"/v1/sessions/not-yet/tokens/{token.json['jti']}").status, 204)
        self.assertEqual(self.ask("OPTIONS", "/v1/sessions/not-yet/tokens/x").status, 204)
        self.assertEqual(self.ask("DELETE", "/v1/sessions/nor-this/tokens").status, 204)
        self.assertEqual(self.ask("GET", "/v1/sessions/not-yet", **held).status, 401)

    def test_lists(self):
        self.made(OLD, SESSION + "-of-others")
        self.made(OLD)
        self.wrote(NEW)
        page = self.ask("GET", "/v1/sessions?prefix=groceries&limit=1").json
        self.assertEqual((page["sessions"][0]["session"], page["next"]), ("groceries", "groceries"))
        page = self.ask("GET", "/v1/sessions?prefix=groceries&after=groceries").json
        self.assertEqual(page["sessions"][0]["session"], "groceries-of-others")
        self.assertEqual(self.ask("HEAD", "/v1/sessions").status, 200)
        self.assertEqual(self.ask("GET", "/v1/sessions?limit=1001").status, 400)

    def test_lists_that_fetch_themselves(self):
        for dialect in DIALECTS:
            path = f"/v1/sessions/board:{dialect}"
            self.assertEqual(self.ask("POST", f"{path}/fetch", Accept=media_type(dialect)).status, 201)
            self.upstream.lists[f"/boards/{dialect}"] = NEW
            answer = self.ask("POST", f"{path}/fetch", Accept=media_type(dialect))
            self.assertEqual((answer.status, answer.json["session"]), (200, f"board:{dialect}"))
            self.assertIn("changes", answer.json)
        for name, status in (("plain", 201), ("plain", 200)):
            self.assertEqual(self.ask("POST", f"/v1/sessions/board:{name}/fetch").status, status)
            self.assertEqual(self.ask("POST", f"/v1/sessions/board:{name}-patch/fetch", Accept=PATCH_TYPE).status, status)
        board = "/v1/sessions/board"
        self.assertEqual(self.ask("GET", board).json["state"], OLD)
        self.assertEqual(self.ask("PUT", board, {"state": NEW}).status, 409)
        self.assertEqual(self.ask("POST", f"{board}/changes", NEW).status, 409)
        self.assertEqual(self.ask("POST", f"{board}/changes", {"edits": [{"op": "delete", "items": [1]}]}).status, 200)
        refused = self.ask("POST", f"{board}/changes", {"edits": [{"op": "move", "items": [3], "before": 2}]})
        self.assertEqual((refused.status, refused.json["detail"]), (422, REFUSAL))
        down = self.ask("GET", "/v1/sessions/down")
        self.assertEqual((down.status, down.json["type"]), (503, "/problems/source-unavailable"))
        self.made(OLD, "/v1/sessions/unasked")
        down = self.ask("POST", "/v1/sessions/unasked/changes", {"edits": [{"op": "delete", "items": [1]}]})
        self.assertEqual((down.status, down.json["type"]), (503, "/problems/hook-unavailable"))
        self.assertEqual(self.ask("GET", "/v1/sessions/silent").status, 200)
        let_pass(0.5, "interval of a source")
        stale = self.ask("POST", "/v1/sessions/silent/changes", {"edits": [{"op": "delete", "items": [1]}]})
        self.assertGreaterEqual(stale.json["stale"], 0)
        self.assertEqual(self.ask("POST", f"{SESSION}/fetch").status, 404)

    def test_operations_and_pages(self):
        for target in ("/livez", "/readyz", "/metrics", "/openapi.json", "/client.js", "/apply.js", "/bind.js", "/updates.js", "/edits.js",
                       "/live-list.js", "/client.d.ts", "/", "/page", "/playground/main.js"):
            answer = self.ask("GET", target)
            self.assertEqual(answer.status, 200, target)
            self.assertEqual(self.ask("HEAD", target).status, 200)
            self.assertEqual(self.ask("GET", target + "?any=1&any=2").status, 400 if target == "/metrics" else 200)
            if tag := answer.headers.get("ETag"):
                self.assertEqual(self.ask("GET", target, If_None_Match=tag).status, 304)
                self.assertEqual(self.ask("HEAD", target, If_None_Match=tag).status, 304)

    def test_which_sessions_are_busy(self):
        for query in ("", "?by=writes", "?by=readers", "?by=bytes", "?by=conflicts"):
            self.made(OLD)
            self.assertEqual(self.ask("GET", f"/debug/hot{query}").status, 200, query)
            self.assertEqual(self.ask("HEAD", f"/debug/hot{query}").status, 200, query)
        self.assertEqual(self.ask("OPTIONS", "/debug/hot").status, 204)
        self.assertEqual(self.ask("GET", "/debug/hot?by=reads").status, 400)

    def test_the_description_is_what_the_server_sends(self):
        self.assertEqual(self.ask("GET", "/openapi.json").json, validator.description().document)

    def test_every_problem_has_a_page(self):
        for name in validator.description().document["components"]["schemas"]["ProblemName"]["enum"]:
            self.assertEqual(self.ask("GET", f"/problems/{name}").status, 200, name)
            self.assertEqual(self.ask("HEAD", f"/problems/{name}").status, 200, name)

    def test_options_and_other_methods(self):
        for path, item in validator.description().document["paths"].items():
            target = path.replace("{name}", "internal").replace("{", "").replace("}", "")
            described = {method.upper() for method in item if method != "parameters"}
            allowed = self.ask("OPTIONS", target)
            self.assertEqual(allowed.status, 204)
            self.assertEqual(set(allowed.headers["Allow"].split(", ")), described, target)
            for method in {"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "TRACE"} - described:
                self.assertEqual(self.ask(method, target).status, 405, (method, target))
        self.assertEqual(self.ask("OPTIONS", "*").status, 204)
