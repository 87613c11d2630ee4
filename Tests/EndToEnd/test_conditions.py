"""If-Match, If-None-Match on writes, and the answer that was lost: CONTRACT §3."""

from support.case import ServiceCase
from support.client import session_path
from support.states import canonical

STALE = '"1-0123456789abcdef"'


def quoted(revision):
    return f'"{revision}"'


class IfMatch(ServiceCase):
    def write(self, verb, session, body, **headers):
        if verb == "POST":
            return self.post_changes(session, body, **headers)
        return self.put_session(session, {"state": body}, **headers)

    def test_the_head_matches_in_every_form(self):
        for form in ('"{}"', 'W/"{}"', '"{};gzip"', '"x", "{}"', '"{}" , "x"'):
            for verb in ("POST", "PUT"):
                with self.subTest(verb, form=form):
                    session, revision = self.made(["a"])
                    self.assertStatus(self.write(verb, session, ["b"], If_Match=form.format(revision)), 200)

    def test_a_star_matches_whatever_is_there(self):
        session, _ = self.made(["a"])
        self.assertStatus(self.post_changes(session, ["b"], If_Match="*"), 200)
        self.assertStatus(self.put_session(session, {"state": ["c"]}, If_Match="*"), 200)

    def test_another_revision_is_412_with_the_current_one_and_changes_nothing(self):
        session, first = self.made(["a"])
        head = self.wrote(session, ["b"])
        for verb in ("POST", "PUT"):
            for tag in (quoted(first), STALE, '"anything"'):
                with self.subTest(verb, tag=tag):
                    answer = self.write(verb, session, ["c"], If_Match=tag)
                    self.assertProblem(answer, 412, "revision-mismatch", current=head)
        self.assertEqual(self.get_session(session).json["revision"], head)

    def test_edits_with_another_revision_are_412(self):
        session, first = self.made(["a"])
        head = self.wrote(session, ["b"])
        edits = {"edits": [{"op": "clear"}]}
        answer = self.post_changes(session, edits, If_Match=quoted(first))
        self.assertProblem(answer, 412, "revision-mismatch", current=head)
        self.assertStatus(self.post_changes(session, edits, If_Match=quoted(head)), 200)

    def test_delete_follows_if_match(self):
        session, first = self.made(["a"])
        head = self.wrote(session, ["b"])
        self.assertProblem(self.delete_session(session, If_Match=quoted(first)), 412, "revision-mismatch", current=head)
        self.assertStatus(self.delete_session(session, If_Match=quoted(head)), 204)

    def test_a_missing_session_is_412_without_a_current_one(self):
        for verb in ("POST", "PUT"):
            for tag in (STALE, "*"):
                with self.subTest(verb, tag=tag):
                    session = self.new_name()
                    self.assertProblem(self.write(verb, session, ["a"], If_Match=tag), 412, "revision-mismatch", current=None)
                    self.assertStatus(self.get_session(session), 404)

    def test_put_with_if_none_match_star_only_creates(self):
        session = self.new_name()
        self.assertStatus(self.put_session(session, {"state": ["a"]}, If_None_Match="*"), 201)
        self.assertProblem(self.put_session(session, {"state": ["b"]}, If_None_Match="*"), 412, "session-exists")
        self.assertEqual(self.get_session(session).exact["state"], canonical(["a"]))

    def test_since_is_not_a_demand(self):
        session, first = self.made(["a"])
        self.wrote(session, ["b"])
        answer = self.post_changes(session, ["c"], {"since": first})
        self.assertStatus(answer, 200)


class LostAnswers(ServiceCase):
    """A writer that never saw the answer of its own write repeats it with the same If-Match."""

    def test_a_state_that_is_the_head_and_was_made_from_that_revision_is_200(self):
        session, first = self.made(["a"])
        lost = self.post_changes(session, ["b"], If_Match=quoted(first)).json
        again = self.assertChangeset(self.post_changes(session, ["b"], If_Match=quoted(first)))
        self.assertEqual(again["to"], lost["to"])
        self.assertEqual(self.get_session(session).json["revision"], lost["to"])

    def test_the_repeated_answer_leads_from_the_same_base(self):
        session, first = self.made(["a"])
        lost = self.post_changes(session, ["b"], {"since": first}, If_Match=quoted(first)).json
        self.assertEqual(self.post_changes(session, ["b"], {"since": first}, If_Match=quoted(first)).json, lost)

    def test_a_state_written_otherwise_but_equal_is_the_same(self):
        session, first = self.made(["a"])
        self.post_changes(session, [{"id": "b", "content": {"x": 1, "y": 2}}], If_Match=quoted(first))
        again = self.post_changes(session, '[{"content":{ "y":2, "x":1 },"id":"b"}]', If_Match=quoted(first))
        self.assertStatus(again, 200)

    def test_a_put_is_repeated_too(self):
        session, first = self.made(["a"])
        lost = self.put_session(session, {"state": ["b"]}, If_Match=quoted(first))
        again = self.put_session(session, {"state": ["b"]}, If_Match=quoted(first))
        self.assertStatus(again, 200)
        self.assertEqual(again.json["revision"], lost.json["revision"])

    def test_another_state_is_412(self):
        session, first = self.made(["a"])
        head = self.wrote(session, ["b"], If_Match=quoted(first))
        answer = self.post_changes(session, ["c"], If_Match=quoted(first))
        self.assertProblem(answer, 412, "revision-mismatch", current=head)

    def test_the_head_made_from_another_revision_is_412(self):
        session, first = self.made(["a"])
        second = self.wrote(session, ["b"])
        head = self.wrote(session, ["c"])
        answer = self.post_changes(session, ["c"], If_Match=quoted(first))
        self.assertProblem(answer, 412, "revision-mismatch", current=head)
        self.assertStatus(self.post_changes(session, ["c"], If_Match=quoted(second)), 200)

    def test_a_state_that_edits_made_from_that_revision_is_200(self):
        session, first = self.made(["a"])
        edits = {"edits": [{"op": "insert", "items": [{"id": "b"}]}]}
        head = self.wrote(session, edits, If_Match=quoted(first))
        again = self.assertChangeset(self.post_changes(session, ["a", "b"], {"since": first}, If_Match=quoted(first)))
        self.assertEqual((again["from"], again["to"], len(again["changes"])), (first, head, 1))
        self.assertEqual(self.get_session(session).json["revision"], head)

    def test_edits_are_known_again_by_their_fingerprint(self):
        session, first = self.made(["a"])
        edits = {"edits": [{"op": "insert", "items": [{"id": "b"}]}]}
        lost = self.post_changes(session, edits, If_Match=quoted(first)).json
        again = self.assertChangeset(self.post_changes(session, edits, If_Match=quoted(first)))
        self.assertEqual(again["to"], lost["to"])
        other = {"edits": [{"op": "insert", "items": [{"id": "c"}]}]}
        self.assertProblem(self.post_changes(session, other, If_Match=quoted(first)), 412, "revision-mismatch")

    def test_edits_that_reach_the_same_state_by_another_body_are_412(self):
        session, first = self.made(["a"])
        self.post_changes(session, {"edits": [{"op": "insert", "items": [{"id": "b"}]}]}, If_Match=quoted(first))
        other = {"edits": [{"op": "insert", "items": [{"id": "b"}], "after": "a"}]}
        self.assertProblem(self.post_changes(session, other, If_Match=quoted(first)), 412, "revision-mismatch")

    def test_a_key_that_is_not_known_is_no_retry(self):
        """Two viewers like the same post from the same revision: the second must try again, not be told that it did."""
        for body in ({"edits": [{"op": "update", "items": [{"id": "a", "content": {"likes": 1}}]}]}, [{"id": "a", "content": {"likes": 1}}]):
            with self.subTest(body):
                session, first = self.made([{"id": "a", "content": {"likes": 0}}])
                one = self.post_changes(session, body, If_Match=quoted(first), Idempotency_Key="one")
                self.assertStatus(one, 200)
                other = self.post_changes(session, body, If_Match=quoted(first), Idempotency_Key="other")
                self.assertProblem(other, 412, "revision-mismatch", current=one.json["to"])
                # Its own retry is one, and without a key the rule holds.
                self.assertStatus(self.post_changes(session, body, If_Match=quoted(first), Idempotency_Key="one"), 200)
                self.assertStatus(self.post_changes(session, body, If_Match=quoted(first)), 200)

    def test_a_lost_deletion_is_repeated(self):
        session, head = self.made(["a"])
        self.assertStatus(self.delete_session(session, If_Match=quoted(head)), 204)
        self.assertStatus(self.delete_session(session, If_Match=quoted(head)), 204)

    def test_a_write_is_retried_wherever_its_answer_was_lost(self):
        """The request is cut after every few bytes, or whole and its answer unread; the retry always ends at the state."""
        session, base = self.made(["a"])
        body = b'["a","b"]'
        path = session_path(session, "changes")
        for cut in [*range(0, 140, 20), None]:
            with self.subTest(cut):
                base = self.wrote(session, ["a"])
                head = (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                        f"If-Match: {quoted(base)}\r\nContent-Length: {len(body)}\r\n\r\n").encode()
                connection = self.raw()
                connection.send((head + body)[:cut])
                connection.close()
                answer = self.post_changes(session, ["a", "b"], If_Match=quoted(base))
                self.assertStatus(answer, 200)
                self.assertEqual(self.get_session(session).exact["state"], canonical(["a", "b"]))
                self.assertEqual(self.sequence(answer.json["to"]), self.sequence(base) + 1)

    def sequence(self, revision):
        return int(revision.split("-")[0])


class Required(ServiceCase):
    """--require-if-match"""

    options = ("--require-if-match",)

    def test_a_write_without_if_match_is_428(self):
        session, revision = self.made(["a"])
        self.assertProblem(self.post_changes(session, ["b"]), 428, "precondition-required")
        self.assertProblem(self.post_changes(session, {"edits": [{"op": "clear"}]}), 428, "precondition-required")
        self.assertProblem(self.put_session(session, {"state": ["b"]}), 428, "precondition-required")
        self.assertProblem(self.delete_session(session), 428, "precondition-required")
        self.assertEqual(self.get_session(session).json["revision"], revision)

    def test_a_write_with_it_goes_on_and_reading_needs_none(self):
        session, revision = self.made(["a"])
        self.assertStatus(self.post_changes(session, ["b"], If_Match=quoted(revision)), 200)
        self.assertStatus(self.get_changes(session), 200)
        self.assertStatus(self.diff([], ["a"]), 200)

    def test_put_if_none_match_is_refused_for_what_it_says(self):
        session = self.new_name()
        self.assertStatus(self.put_session(session, {"state": ["a"]}, If_None_Match="*"), 201)
        answer = self.put_session(session, {"state": ["b"]}, If_None_Match="*")
        self.assertProblem(answer, 412, "session-exists")
        self.assertProblem(self.put_session(session, {"state": ["b"]}), 428, "precondition-required")
        revision = self.get_session(session).json["revision"]
        other = '"1-0123456789abcdef"'
        self.assertProblem(self.put_session(session, {"state": ["b"]}, If_None_Match=other), 428, "precondition-required")
        answer = self.put_session(session, {"state": ["b"]}, If_None_Match="*", If_Match=f'"{revision}"')
        self.assertProblem(answer, 412, "session-exists")


class NotModified(ServiceCase):
    """A 304 has the ETag and the Vary of its 200: RFC 9110 §15.4.5."""

    LARGE = [{"id": number, "content": "x" * 50} for number in range(100)]

    def assertLikeTheAnswer(self, path, query=None, **headers):
        for coding in (None, "gzip"):
            whole = self.get(path, query, Accept_Encoding=coding, **headers)
            self.assertStatus(whole, 200)
            plain = self.get(path, query, **headers).headers["ETag"]
            for tag in {whole.headers["ETag"], plain, f"W/{plain}", f'"x", {plain}'}:
                with self.subTest(path, query=query, coding=coding, tag=tag):
                    same = self.get(path, query, Accept_Encoding=coding, If_None_Match=tag, **headers)
                    self.assertEqual((same.status, same.body), (304, b""))
                    for name in ("ETag", "Vary", "Cache-Control"):
                        self.assertEqual(same.headers.get_all(name), whole.headers.get_all(name), name)

    def test_of_sessions(self):
        for state in (["a"], self.LARGE, [{"id": number, "content": "y" * 500} for number in range(2000)]):
            session, _ = self.made(state)
            self.assertLikeTheAnswer(session_path(session))
            self.assertLikeTheAnswer(session_path(session), {"view": '{"limit":1}'})
            self.assertLikeTheAnswer(session_path(session), {"view": '{"limit":90}'})

    def test_of_pages(self):
        for path in ("/", "/page", "/client.js", "/apply.js", "/bind.js", "/updates.js", "/edits.js", "/client.d.ts", "/openapi.json", "/playground/main.js"):
            self.assertLikeTheAnswer(path)


class NotModifiedAcrossOrigins(NotModified):
    options = ("--origin", "https://app.example")

    def assertLikeTheAnswer(self, path, query=None, **headers):
        super().assertLikeTheAnswer(path, query, Origin="https://app.example", **headers)
