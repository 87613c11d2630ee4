"""Idempotency-Key: a write is executed once, and its answer computed again: CONTRACT §3."""

from support.case import ServiceCase
from support.client import session_path
from support.states import canonical


class Keys(ServiceCase):
    def test_a_repeated_request_is_not_executed_again(self):
        session, first = self.made(["a"])
        once = self.post_changes(session, {"edits": [{"op": "insert", "items": [{"id": "b"}]}]}, Idempotency_Key="k")
        again = self.post_changes(session, {"edits": [{"op": "insert", "items": [{"id": "b"}]}]}, Idempotency_Key="k")
        self.assertStatus(again, 200)
        self.assertEqual(again.json, once.json)
        self.assertEqual(once.json["from"], first)

    def test_the_creation_of_a_session_is_201_again(self):
        session = self.new_name()
        once = self.post_changes(session, ["a"], Idempotency_Key="k")
        again = self.post_changes(session, ["a"], Idempotency_Key="k")
        self.assertEqual((once.status, again.status), (201, 201))
        self.assertEqual(again.headers["Location"], session_path(session))
        self.assertEqual(again.json["to"], once.json["to"])
        self.assertReset(again, "initial", status=201)

    def test_the_changeset_leads_from_the_head_before_the_first_try_to_the_head_now(self):
        session, first = self.made(["a"])
        self.post_changes(session, ["a", "b"], Idempotency_Key="k")
        head = self.wrote(session, ["a", "b", "c"])
        again = self.assertChangeset(self.post_changes(session, ["a", "b"], Idempotency_Key="k"))
        self.assertEqual((again["from"], again["to"]), (first, head))
        self.assertEqual([each["id"] for each in again["changes"][0]["items"]], ["b", "c"])
        self.assertEqual(self.get_session(session).exact["state"], canonical(["a", "b", "c"]))

    def test_with_since_it_leads_from_there(self):
        session, first = self.made(["a"])
        second = self.post_changes(session, ["b"], Idempotency_Key="k").json["to"]
        head = self.wrote(session, ["b", "c"])
        again = self.post_changes(session, ["b"], {"since": second}, Idempotency_Key="k")
        if again.status == 200:
            self.assertEqual((again.json["from"], again.json["to"]), (second, head))
        else:
            self.assertProblem(again, 422, "idempotency-key-reused")

    def test_the_same_since_again_leads_from_there_to_the_head_now(self):
        session, first = self.made(["a"])
        self.wrote(session, ["a", "b"])
        once = self.post_changes(session, ["a", "b", "c"], {"since": first}, Idempotency_Key="k").json
        head = self.wrote(session, ["a", "b", "c", "d"])
        again = self.assertChangeset(self.post_changes(session, ["a", "b", "c"], {"since": first}, Idempotency_Key="k"))
        self.assertEqual((once["from"], again["from"], again["to"]), (first, first, head))
        self.assertEqual([each["id"] for each in again["changes"][0]["items"]], ["b", "c", "d"])

    def test_if_match_is_skipped(self):
        session, first = self.made(["a"])
        self.post_changes(session, ["b"], Idempotency_Key="k", If_Match=f'"{first}"')
        self.wrote(session, ["c"])
        again = self.post_changes(session, ["b"], Idempotency_Key="k", If_Match=f'"{first}"')
        self.assertStatus(again, 200)
        self.assertEqual(self.get_session(session).exact["state"], canonical(["c"]))

    def test_a_key_outlives_a_put_but_not_a_deletion(self):
        session, _ = self.made(["a"])
        self.post_changes(session, ["b"], Idempotency_Key="k")
        self.put_session(session, {"state": ["c"]})
        again = self.post_changes(session, ["b"], Idempotency_Key="k")
        self.assertReset(again, "replaced")
        self.assertEqual(self.get_session(session).exact["state"], canonical(["c"]))
        self.assertProblem(self.post_changes(session, ["d"], Idempotency_Key="k"), 422, "idempotency-key-reused")
        self.delete_session(session)
        self.assertStatus(self.post_changes(session, ["d"], Idempotency_Key="k"), 201)

    def test_another_request_is_422(self):
        session, _ = self.made(["a"])
        head = self.post_changes(session, ["b"], Idempotency_Key="k").json["to"]
        for body in (["c"], {"edits": [{"op": "clear"}]}):
            with self.subTest(body):
                self.assertProblem(self.post_changes(session, body, Idempotency_Key="k"), 422, "idempotency-key-reused")
        self.assertEqual(self.get_session(session).json["revision"], head)

    def test_refusals_are_not_remembered(self):
        session, first = self.made(["a"])
        self.assertStatus(self.post_changes(session, ["b", "b"], Idempotency_Key="k"), 422)
        self.assertStatus(self.post_changes(session, ["b"], Idempotency_Key="k"), 200)
        self.assertStatus(self.post_changes(session, ["c"], Idempotency_Key="l", If_Match='"1-0123456789abcdef"'), 412)
        self.assertStatus(self.post_changes(session, ["c"], Idempotency_Key="l"), 200)

    def test_keys_are_of_one_session(self):
        one, _ = self.made(["a"])
        two, _ = self.made(["a"])
        self.assertStatus(self.post_changes(one, ["b"], Idempotency_Key="k"), 200)
        self.assertStatus(self.post_changes(two, ["c"], Idempotency_Key="k"), 200)
        self.assertEqual(self.get_session(two).exact["state"], canonical(["c"]))

    def likes(self, session):
        return self.get_session(session).json["state"]["sections"][0]["items"][0]["content"]["likes"]

    def test_thousands_of_adds_of_one_writer_are_known(self):
        """4,096 are kept of a session: all of one writer's, and its oldest is forgotten."""
        session, _ = self.made([{"id": "a", "content": {"likes": 0}}])
        body, minimal = {"edits": [{"op": "update", "items": [{"id": "a", "add": {"/likes": 1}}]}]}, {"Prefer": "return=minimal"}
        for number in range(4096):
            self.assertStatus(self.post_changes(session, body, Idempotency_Key=f"k{number}", **minimal), 200)
        for number in (0, 1, 63, 64, 2000, 4000, 4095):
            self.assertStatus(self.post_changes(session, body, Idempotency_Key=f"k{number}", **minimal), 200)
        self.assertEqual(self.likes(session), 4096)
        self.assertStatus(self.post_changes(session, body, Idempotency_Key="one more", **minimal), 200)
        self.assertStatus(self.post_changes(session, body, Idempotency_Key="k1", **minimal), 200)
        self.assertEqual(self.likes(session), 4097)
        self.assertStatus(self.post_changes(session, body, Idempotency_Key="k0", **minimal), 200)
        self.assertEqual(self.likes(session), 4098)

    def test_an_add_under_if_match_counts_or_is_refused(self):
        """The same bytes of two writers who saw the same revision: neither is taken for the other's retry."""
        for edits in ([{"op": "update", "items": [{"id": "a", "add": {"/likes": 1}}]}],
                      [{"op": "insert", "items": ["b"]}, {"op": "update", "items": [{"id": "b", "add": {"/likes": 1}}]}]):
            session, first = self.made([{"id": "a", "content": {"likes": 0}}])
            once, again = (self.post_changes(session, {"edits": edits}, If_Match=f'"{first}"') for _ in range(2))
            self.assertStatus(once, 200)
            self.assertProblem(again, 412, "revision-mismatch")
        session, first = self.made([{"id": "a", "content": {"likes": 0}}])
        for _ in range(2):
            edits = [{"op": "update", "items": [{"id": "a", "patch": {"likes": 7}}]}]
            self.assertStatus(self.post_changes(session, {"edits": edits}, If_Match=f'"{first}"'), 200)

    def test_requests_are_compared_byte_for_byte(self):
        session, _ = self.made(["a"])
        self.assertStatus(self.post_changes(session, b'["b","\xc3\xb6"]', Idempotency_Key="k"), 200)
        for body in (b'["b", "\xc3\xb6"]', b'["b","\\u00f6"]'):
            self.assertProblem(self.post_changes(session, body, Idempotency_Key="k"), 422, "idempotency-key-reused")
        self.assertStatus(self.post_changes(session, b'["b","\xc3\xb6"]', Idempotency_Key="k"), 200)

    def test_a_write_that_changed_nothing_is_remembered_too(self):
        session, first = self.made(["a"])
        self.post_changes(session, ["a"], Idempotency_Key="k")
        head = self.wrote(session, ["b"])
        self.post_changes(session, ["a"], Idempotency_Key="k")
        self.assertEqual(self.get_session(session).json["revision"], head)

    def test_a_write_is_retried_wherever_its_answer_was_lost(self):
        """The request is cut after every few bytes, or whole and its answer unread; the edit is made once."""
        session, _ = self.made([])
        for number, cut in enumerate([*range(0, 220, 25), None]):
            with self.subTest(cut):
                body = f'{{"edits":[{{"op":"insert","items":[{{"id":"{number}"}}]}}]}}'.encode()
                head = (f"POST {session_path(session, 'changes')} HTTP/1.1\r\nHost: localhost\r\n"
                        f"Content-Type: application/json\r\nIdempotency-Key: cut-{number}\r\n"
                        f"Content-Length: {len(body)}\r\n\r\n").encode()
                connection = self.raw()
                connection.send((head + body)[:cut])
                connection.close()
                for _ in range(2):
                    answer = self.post_changes(session, body, Idempotency_Key=f"cut-{number}")
                    self.assertStatus(answer, 200)
        ids = [each["id"] for each in self.get_session(session).json["state"]["sections"][0]["items"]]
        self.assertEqual(ids, [str(number) for number in range(10)])
