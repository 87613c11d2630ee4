"""PUT, GET and DELETE of a session: CONTRACT §2 and §3."""

import gzip
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime

from support.case import ServiceCase
from support.client import session_path
from support.states import canonical

OUTLINE = {"sections": [
    {"id": "s", "content": {"title": "S", "n": 1.0}, "expanded": True, "items": [
        "a", 7, {"id": "b", "content": None, "kind": "cell", "expanded": True, "items": []},
        {"id": "c", "expanded": False, "items": [{"id": "d", "items": ["e"]}]}]},
    {"id": 2, "expanded": False, "items": []}]}

# Times are told in whole seconds.
SECOND = timedelta(seconds=1)


class Sessions(ServiceCase):
    def test_put_creates_with_201_and_a_location(self):
        session = self.new_name()
        answer = self.put_session(session, {"state": ["a"]})
        self.assertStatus(answer, 201)
        self.assertEqual(answer.headers["Location"], session_path(session))
        self.assertEqual(set(answer.json), {"session", "revision", "expiresAt"})
        self.assertEqual(answer.json["session"], session)
        self.assertRevision(answer.json["revision"])

    def test_put_starts_over_with_200_and_the_sequence_goes_on(self):
        session, revision = self.made(["a"])
        self.wrote(session, ["b"])
        answer = self.put_session(session, {"state": ["c"]})
        self.assertStatus(answer, 200)
        sequences = [int(each.split("-")[0]) for each in (revision, answer.json["revision"])]
        self.assertLess(sequences[0] + 1, sequences[1])
        self.assertNotIn("Location", answer.headers)
        self.assertEqual(self.get_session(session).exact["state"], canonical(["c"]))

    def test_put_drops_the_history(self):
        session, first = self.made(["a"])
        self.wrote(session, ["b"])
        self.put_session(session, {"state": ["c"]})
        changeset = self.get_changes(session, {"since": first}).json
        self.assertEqual(changeset["reset"], "replaced")

    def test_put_of_the_same_state_leaves_readers_where_they_are(self):
        session, revision = self.made(["a"])
        self.put_session(session, {"state": ["a"]})
        self.assertEqual(self.get_changes(session, {"since": revision}).json.get("changes"), [])

    def test_put_takes_the_pointers(self):
        body = {"groups": [{"name": "g", "members": [{"user": 1}, {"user": 2}]}]}
        query = {"sectionsAt": "/groups", "sectionIdAt": "/name", "itemsAt": "/members", "idAt": "/user"}
        session = self.new_name()
        self.assertStatus(self.put_session(session, {"state": body, "ttl": 60}, query), 201)
        sections = self.get_session(session).json["state"]["sections"]
        self.assertEqual(sections, [{"id": "g", "content": {"name": "g"}, "items": [
            {"id": 1, "content": {"user": 1}}, {"id": 2, "content": {"user": 2}}]}])

    def test_put_takes_a_state_and_settings_and_nothing_else(self):
        for body in ({"edits": []}, {"items": []}, {"sections": []}, {"state": [], "title": 1}):
            with self.subTest(body):
                self.assertProblem(self.put_session(self.new_name(), body), 422, "wrong-shape")

    def test_get_writes_every_item_as_an_object_and_leaves_defaults_out(self):
        session, revision = self.made(OUTLINE)
        answer = self.get_session(session)
        self.assertStatus(answer, 200)
        self.assertEqual(answer.media_type, "application/json")
        self.assertEqual(set(answer.json), {"session", "revision", "state"})
        self.assertEqual((answer.json["session"], answer.json["revision"]), (session, revision))
        self.assertEqual(answer.exact["state"], canonical(OUTLINE))

    def test_content_and_ids_come_back_verbatim(self):
        content = '{"z":1e400,"a":[1.0,-0,12345678901234567890],"\\u00e9":"\\ud83d\\ude00\\/"}'
        body = '{"state":[{"id":"e\u0301","content":' + content + '},{"id":123456789012345678901234567890}]}'
        session = self.new_name()
        self.assertStatus(self.put_session(session, body), 201)
        text = self.get_session(session).text
        self.assertIn('"content":' + content, text)
        self.assertIn('"id":"e\u0301"', text)
        # Too large for a double.
        self.assertIn('"id":"123456789012345678901234567890"', text)

    def test_the_shorthands_are_one_section_main(self):
        for state in (["a", 1], {"items": ["a", 1]}, {"items": [{"id": "a"}, {"id": 1}]}):
            with self.subTest(state):
                session = self.new_name()
                self.put_session(session, {"state": state})
                self.assertEqual(self.get_session(session).json["state"],
                                 {"sections": [{"id": "main", "items": [{"id": "a"}, {"id": 1}]}]})

    def test_equal_states_of_one_session_share_the_digest_and_others_do_not(self):
        session, first = self.made([{"id": "a", "content": {"x": 1, "y": [2]}}])
        second = self.wrote(session, ["b"])
        third = self.wrote(session, '[ {"content" : { "y":[2], "\\u0078":1 }, "id":"\\u0061"} ]')
        digests = [each.split("-")[1] for each in (first, second, third)]
        self.assertEqual(digests[0], digests[2])
        self.assertNotEqual(digests[0], digests[1])
        self.assertNotEqual(first, third)

    def test_get_says_when_the_session_expires(self):
        session = self.new_name()
        before = datetime.now(timezone.utc)
        made = self.put_session(session, {"state": [], "ttl": 100})
        told = datetime.fromisoformat(self.get_session(session).headers["Diffserver-Expires"])
        first = datetime.fromisoformat(made.json["expiresAt"])
        for moment in (first, told):
            since = moment - timedelta(seconds=100)
            self.assertLessEqual(before - SECOND, since)
            self.assertLessEqual(since, datetime.now(timezone.utc) + SECOND)

    def test_a_session_lives_an_hour_unless_told(self):
        for make in (self.put_session, self.post_changes):
            session = self.new_name()
            self.assertStatus(make(session, {"state": []}), 201)
            answer = self.get_session(session)
            left = datetime.fromisoformat(answer.headers["Diffserver-Expires"]) - parsedate_to_datetime(answer.headers["Date"])
            self.assertLessEqual(abs(left - timedelta(hours=1)), timedelta(seconds=2))

    def test_delete_is_204_also_when_it_was_gone_already(self):
        session, _ = self.made(["a"])
        for _ in range(2):
            answer = self.delete_session(session)
            self.assertStatus(answer, 204)
            self.assertEqual(answer.body, b"")
        self.assertProblem(self.get_session(session), 404, "session-not-found")

    def test_a_session_made_again_starts_anew(self):
        session, old = self.made(["a"])
        self.delete_session(session)
        self.made(["b"], session)
        self.assertIn("reset", self.get_changes(session, {"since": old}).json)

    def test_names(self):
        for name in ("a", "A.b_c~d:e-f", "x" * 128, "...", "0"):
            with self.subTest(good=name):
                self.assertStatus(self.put_session(name, {"state": []}), 201)
                self.assertEqual(self.get_session(name).json["session"], name)
        for name in ("x" * 129, "%20", "a%2Fb", "%C3%A9", "a@b", "", "%2E%2E", "%2E"):
            with self.subTest(bad=name):
                answer = self.request("PUT", f"/v1/sessions/{name}", {"state": []})
                self.assertIn(answer.status, (400, 404), answer)
                self.assertEqual(answer.media_type, "application/problem+json")

    def test_names_are_case_sensitive_and_percent_decoded(self):
        self.put_session("Case", {"state": ["upper"]})
        self.put_session("case", {"state": ["lower"]})
        self.assertEqual(self.get_session("Case").exact["state"], canonical(["upper"]))
        self.assertEqual(self.get("/v1/sessions/%43ase").json["session"], "Case")

    def test_a_missing_session_is_404(self):
        name = self.new_name()
        self.assertProblem(self.get_session(name), 404, "session-not-found")
        self.assertProblem(self.get_changes(name), 404, "session-not-found")
        self.assertProblem(self.get_changes(name, {"since": "1-0123456789abcdef"}), 404, "session-not-found")


class StateRules(ServiceCase):
    """Invalid states: 422 invalid-state, each place named."""

    def refused(self, state, *pointers_and_codes):
        session = self.new_name()
        answer = self.put_session(session, {"state": state})
        problem = self.assertProblem(answer, 422, "invalid-state")
        if pointers_and_codes:
            found = [(each["pointer"], each["code"]) for each in problem["errors"]]
            self.assertEqual(sorted(found), sorted(pointers_and_codes), answer)
        self.assertProblem(self.get_session(session), 404, "session-not-found")
        return problem

    def test_an_unknown_member_is_named_with_the_way_out(self):
        cases = {"/state/0/title": [{"id": "a", "title": "x"}],
                 "/state/sections/0/title": {"sections": [{"id": "s", "title": "x", "items": []}]},
                 "/state/0/items/0/level": [{"id": "a", "items": [{"id": "b", "level": 1}]}]}
        for pointer, state in cases.items():
            with self.subTest(pointer):
                problem = self.refused(state, (pointer, "unknown-member"))
                self.assertIn("?idAt=/id", problem["detail"] + str(problem["errors"]))

    def test_every_duplicate_is_named_with_both_places(self):
        problem = self.refused({"sections": [{"id": "s", "items": ["a", {"id": "b", "items": ["a"]}]},
                                             {"id": "t", "items": ["b", 1, "1"]}]})
        pointers = {each["pointer"] for each in problem["errors"]}
        self.assertTrue(all(each["code"] == "duplicate-id" for each in problem["errors"]))
        places = ("0/items/0", "0/items/1/items/0", "0/items/1", "1/items/0", "1/items/1", "1/items/2")
        for place in places:
            self.assertTrue(any(each.startswith(f"/state/sections/{place}") for each in pointers), problem)

    def test_duplicate_sections_are_refused_but_a_section_may_share_an_items_id(self):
        self.refused({"sections": [{"id": "s", "items": []}, {"id": "s", "items": []}]})
        session = self.new_name()
        self.assertStatus(self.put_session(session, {"state": {"sections": [{"id": "s", "items": ["s"]}]}}), 201)

    def test_ids(self):
        for bad in ("", "a\u0000", "a\u001f", "a\u007f", "x" * 2049, "\u00e9" * 1025, 1.5, True, None, [], {}):
            with self.subTest(bad=str(bad)[:20]):
                self.refused([{"id": bad}])
        for good in (" ", "x" * 2048, "\u00e9" * 1024, 0, -5, 2 ** 53 - 1, "a/b"):
            with self.subTest(good=str(good)[:20]):
                session = self.new_name()
                self.assertStatus(self.put_session(session, {"state": [{"id": good}]}), 201)
                self.assertEqual(self.get_session(session).json["state"]["sections"][0]["items"][0]["id"], good)

    def test_an_item_has_an_id(self):
        self.refused([{"content": 1}])
        self.refused({"sections": [{"items": []}]})

    def test_shapes_within_a_state(self):
        for state in ([None], [True], [1.5], [["a"]], {"sections": [1]}, {"sections": {}}, {"sections": [{"id": "s", "items": {}}]},
                      {"items": "a"}, [{"id": "a", "expanded": 1}], [{"id": "a", "items": {}}], [{"id": "a", "kind": 1}]):
            with self.subTest(state):
                answer = self.put_session(self.new_name(), {"state": state})
                self.assertEqual(answer.status, 422, answer)
                self.assertIn(answer.json["type"], ("/problems/invalid-state", "/problems/wrong-shape"))

    def test_a_refused_write_changes_nothing(self):
        session, revision = self.made(["a"])
        self.assertProblem(self.post_changes(session, ["b", "b"]), 422, "invalid-state")
        self.assertProblem(self.put_session(session, {"state": ["b", "b"]}), 422, "invalid-state")
        self.assertEqual(self.get_session(session).json["revision"], revision)


class ConditionalReads(ServiceCase):
    def test_the_etag_is_the_quoted_revision(self):
        session, revision = self.made(["a"])
        self.assertEqual(self.get_session(session).headers["ETag"], f'"{revision}"')

    def test_if_none_match_answers_304(self):
        session, revision = self.made(["a"])
        for tag in (f'"{revision}"', f'W/"{revision}"', f'"{revision};gzip"', f'"other", "{revision}"', "*"):
            with self.subTest(tag):
                answer = self.get_session(session, If_None_Match=tag)
                self.assertStatus(answer, 304)
                self.assertEqual(answer.body, b"")
                self.assertIn(revision, answer.headers["ETag"])

    def test_another_tag_answers_200(self):
        session, revision = self.made(["a"])
        self.wrote(session, ["b"])
        for tag in (f'"{revision}"', '"x"'):
            with self.subTest(tag):
                self.assertStatus(self.get_session(session, If_None_Match=tag), 200)

    def test_a_gzip_answer_has_its_own_tag(self):
        session, revision = self.made([{"id": f"i{n}", "content": "some words " * 5} for n in range(200)])
        answer = self.get_session(session, Accept_Encoding="gzip")
        self.assertEqual(answer.headers.get("Content-Encoding"), "gzip")
        self.assertEqual(answer.headers["ETag"], f'"{revision};gzip"')
        self.assertIn("accept-encoding", answer.headers.get("Vary", "").lower())
        self.assertEqual(gzip.decompress(answer.body), self.get_session(session).body)
        again = self.get_session(session, Accept_Encoding="gzip", If_None_Match=answer.headers["ETag"])
        self.assertStatus(again, 304)

    def test_head_answers_as_get_without_a_body(self):
        session, _ = self.made(["a"])
        paths = [session_path(session), session_path(session, "changes"), "/livez", "/readyz", "/metrics",
                 "/openapi.json", "/", "/client.js", "/problems/internal", session_path(session, "items", "a"),
                 session_path(session, "items") + "?at=0,0&id=none", session_path(session, "sections", "main"),
                 session_path(session, "sections") + "?at=0"]
        for path in paths:
            with self.subTest(path):
                full, head = self.get(path), self.request("HEAD", path)
                self.assertEqual((head.status, head.body), (200, b""))
                for name in ("Content-Type", "ETag"):
                    self.assertEqual(head.headers.get(name), full.headers.get(name))
                if path != "/metrics":
                    self.assertEqual(head.headers.get("Content-Length"), full.headers.get("Content-Length"))
