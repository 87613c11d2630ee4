"""Your own JSON, untouched: `idAt`, `itemsAt`, `sectionsAt`, `sectionIdAt` of CONTRACT §2."""

from support.case import ServiceCase
from support.jsontext import exact, text

MEMBERS = [{"userID": 7, "name": "Ann"}, {"userID": "x", "name": "Bo", "deep": {"n": 1.0}}]
GROUPS = {"version": 3, "groups": [{"key": {"id": "g"}, "title": "G", "members": MEMBERS}, {"key": {"id": 2}, "members": []}]}


class OwnJSON(ServiceCase):
    def state_of(self, body, query):
        session = self.new_name()
        answer = self.post_changes(session, body, query)
        self.assertStatus(answer, 201)
        return self.get_session(session).json["state"]["sections"]

    def items(self, elements, at):
        return [{"id": at(each), "content": each} for each in elements]

    def test_a_bare_array_with_id_at(self):
        sections = self.state_of(MEMBERS, {"idAt": "/userID"})
        self.assertEqual(sections, [{"id": "main", "items": self.items(MEMBERS, lambda each: each["userID"])}])

    def test_items_at_a_place_of_the_document(self):
        body = {"data": {"members": MEMBERS}, "next": None}
        sections = self.state_of(body, {"idAt": "/userID", "itemsAt": "/data/members"})
        self.assertEqual(sections, [{"id": "main", "items": self.items(MEMBERS, lambda each: each["userID"])}])

    def test_id_at_defaults_to_id(self):
        elements = [{"id": "a", "title": 1}, {"id": 2}]
        sections = self.state_of({"rows": elements}, {"itemsAt": "/rows"})
        self.assertEqual(sections, [{"id": "main", "items": self.items(elements, lambda each: each["id"])}])

    def test_sections_with_pointers_relative_to_a_section(self):
        query = {"sectionsAt": "/groups", "sectionIdAt": "/key/id", "itemsAt": "/members", "idAt": "/userID"}
        self.assertEqual(self.state_of(GROUPS, query), [
            {"id": "g", "content": {"key": {"id": "g"}, "title": "G"}, "items": self.items(MEMBERS, lambda each: each["userID"])},
            {"id": 2, "content": {"key": {"id": 2}}, "items": []}])

    def test_with_sections_the_items_default_to_items_and_ids_to_id(self):
        body = [{"id": "s", "items": [{"id": "a", "x": 1}]}]
        self.assertEqual(self.state_of(body, {"sectionsAt": ""}), [
            {"id": "s", "content": {"id": "s"}, "items": [{"id": "a", "content": {"id": "a", "x": 1}}]}])

    def test_the_elements_are_kept_byte_by_byte(self):
        session = self.new_name()
        element = '{ "userID" : 7,\t"n":1.0, "big":12345678901234567890, "esc":"\\u00e9\\/" }'
        self.assertStatus(self.post_changes(session, f'[{element}]', {"idAt": "/userID"}), 201)
        stored = self.get_session(session).text
        self.assertEqual(exact(stored)["state"]["sections"][0]["items"][0]["content"], exact(element))
        self.assertIn("\\u00e9\\/", stored)

    def test_names_of_a_state_mean_nothing_in_an_own_document(self):
        elements = [{"id": "a", "items": ["a"], "expanded": 1, "content": 2, "kind": []}]
        self.assertEqual(self.state_of(elements, {"idAt": "/id"}),
                         [{"id": "main", "items": [{"id": "a", "content": elements[0]}]}])
        body = {"state": 1, "edits": 2, "sections": 3, "rows": elements}
        self.assertEqual(len(self.state_of(body, {"itemsAt": "/rows"})[0]["items"]), 1)

    def test_elements_may_be_their_own_ids(self):
        self.assertEqual(self.state_of(["a", 7], {"idAt": ""}),
                         [{"id": "main", "items": [{"id": "a", "content": "a"}, {"id": 7, "content": 7}]}])

    def test_pointers_are_rfc_6901(self):
        body = {"a/b": {"m~n": [[{"": {"é": "one"}}]]}}
        sections = self.state_of(body, {"itemsAt": "/a~1b/m~0n/0", "idAt": "//é"})
        self.assertEqual(sections[0]["items"][0]["id"], "one")

    def test_a_diff_applies_them_to_old_and_new_each(self):
        old, new = {"rows": [{"k": 1, "v": 1}]}, {"rows": [{"k": 1, "v": 2}, {"k": 2}]}
        changes = self.assertChangeset(self.diff(old, new, {"itemsAt": "/rows", "idAt": "/k"}))["changes"]
        self.assertEqual([(each["op"], each["items"][0]["content"]) for each in changes],
                         [("insert", {"k": 2}), ("update", {"k": 1, "v": 2})])

    def test_a_diff_applies_those_of_sections_too(self):
        old = {"groups": [{"key": "g", "title": 1, "members": [{"k": 1}]}]}
        new = {"groups": [{"key": "g", "title": 2, "members": [{"k": 1}, {"k": 2}]}]}
        query = {"sectionsAt": "/groups", "sectionIdAt": "/key", "itemsAt": "/members", "idAt": "/k"}
        changes = self.assertChangeset(self.diff(old, new, query))["changes"]
        self.assertEqual(changes, [
            {"op": "insert", "items": [{"id": 2, "content": {"k": 2}}], "in": "g", "before": None},
            {"op": "update", "section": {"id": "g", "content": {"key": "g", "title": 2}}, "as": "reconfigure"}])

    def test_a_section_without_a_usable_id_is_named(self):
        for bad in ({"members": []}, {"key": None, "members": []}, {"key": "", "members": []}):
            with self.subTest(bad):
                answer = self.post_changes(self.new_name(), [{"key": "g", "members": []}, bad],
                                           {"sectionsAt": "", "sectionIdAt": "/key", "itemsAt": "/members"})
                problem = self.assertProblem(answer, 422, "invalid-state")
                self.assertTrue(problem["errors"][0]["pointer"].startswith("/1"), answer)

    def test_an_element_without_a_usable_id_is_named(self):
        cases = [("/rows/1", {"rows": [{"k": 1}, {"x": 1}]}), ("/rows/0", {"rows": [{"k": {}}]}),
                 ("/rows/2", {"rows": [{"k": 1}, {"k": 2}, "text"]}), ("/rows/0", {"rows": [{"k": ""}]})]
        for pointer, body in cases:
            with self.subTest(pointer, body=body):
                answer = self.post_changes(self.new_name(), body, {"itemsAt": "/rows", "idAt": "/k"})
                problem = self.assertProblem(answer, 422, "invalid-state")
                self.assertTrue(problem["errors"][0]["pointer"].startswith(pointer), answer)

    def test_duplicates_are_named_with_both_places(self):
        answer = self.post_changes(self.new_name(), [{"k": 1}, {"k": 2}, {"k": "1"}], {"idAt": "/k"})
        problem = self.assertProblem(answer, 422, "invalid-state")
        self.assertEqual({each["code"] for each in problem["errors"]}, {"duplicate-id"})
        self.assertTrue({"/0", "/2"} <= {each["pointer"].removesuffix("/k") for each in problem["errors"]}, answer)

    def test_a_list_that_is_not_there_is_refused(self):
        for body in ({"rows": 1}, {}, [], {"rows": {"0": 1}}):
            with self.subTest(body):
                answer = self.post_changes(self.new_name(), body, {"itemsAt": "/rows"})
                self.assertEqual(answer.status, 422, answer)

    def test_a_pointer_that_is_none_is_400(self):
        for query in ({"idAt": "id"}, {"itemsAt": "a/b"}, {"idAt": "/~2"}, {"idAt": "/~"}, {"sectionsAt": "x"},
                      {"sectionsAt": "/x", "sectionIdAt": "y"}, {"idAt": "/a" * 65}, {"itemsAt": "/" * 65}):
            with self.subTest(query):
                self.assertProblem(self.post_changes(self.new_name(), [], query), 400, "malformed-request")
                self.assertProblem(self.put_session(self.new_name(), [], query), 400, "malformed-request")
                self.assertProblem(self.diff([], [], query), 400, "malformed-request")

    def test_a_pointer_of_64_segments_is_read(self):
        answer = self.post_changes(self.new_name(), [1], {"idAt": "/a" * 64})
        problem = self.assertProblem(answer, 422, "invalid-state")
        self.assertEqual([each["code"] for each in problem["errors"]], ["missing-id"])

    def test_own_documents_update_and_ignore_like_states(self):
        session = self.new_name()
        self.post_changes(session, MEMBERS, {"idAt": "/userID"})
        swapped = [MEMBERS[1], {**MEMBERS[0], "name": "Anna"}]
        changes = self.post_changes(session, swapped, {"idAt": "/userID"}).json["changes"]
        self.assertEqual([each["op"] for each in changes], ["move", "update"])
        self.assertEqual(self.post_changes(session, text(swapped), {"idAt": "/userID"}).json["changes"], [])
