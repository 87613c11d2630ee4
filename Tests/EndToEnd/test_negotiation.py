"""Which dialect, encoding and body is accepted: CONTRACT §3 and §6."""

import gzip
import zlib

from support.appliers import DIALECTS
from support.case import ServiceCase
from support.client import session_path
from support.states import canonical

OLD, NEW = ["a", "b"], ["b", "a", "c"]


def own(dialect):
    return f"application/vnd.diffserver.{dialect}+json"


class Dialects(ServiceCase):
    def chosen(self, accept, **query):
        answer = self.diff(OLD, NEW, query, Accept=accept)
        self.assertStatus(answer, 200)
        return answer

    def test_each_dialect_by_query(self):
        for dialect in DIALECTS:
            with self.subTest(dialect):
                self.assertEqual(self.chosen(None, dialect=dialect).json["dialect"], dialect)

    def test_each_dialect_by_media_type(self):
        for dialect in DIALECTS:
            with self.subTest(dialect):
                answer = self.chosen(own(dialect))
                self.assertEqual((answer.media_type, answer.json["dialect"]), (own(dialect), dialect))

    def test_a_list_of_more_than_a_hundred_elements_is_400(self):
        for name, element in (("Accept", "*/*"), ("Accept-Encoding", "gzip"), ("Prefer", "return=minimal"),
                              ("If-Match", '"a"'), ("If-None-Match", '"a"'), ("Accept", "")):
            with self.subTest(name, element=element):
                for path in ("/livez", session_path("none")):
                    few = self.get(path, None, **{name: ",".join([element] * 100)})
                    self.assertNotEqual(few.status, 400)
                    answer = self.get(path, None, **{name: ",".join([element] * 101)})
                    self.assertProblem(answer, 400, "malformed-request")

    def test_the_default_is_keyed(self):
        for accept in (None, "*/*", "application/json", "application/*", "text/html, */*;q=0.1"):
            with self.subTest(accept):
                self.assertEqual(self.chosen(accept).json["dialect"], "keyed")

    def test_the_query_wins_over_accept(self):
        for accept in (own("indexed"), "application/json", "*/*"):
            with self.subTest(accept):
                self.assertEqual(self.chosen(accept, dialect="staged").json["dialect"], "staged")

    def test_q_values_decide(self):
        cases = {
            f"{own('indexed')};q=0.5, {own('staged')};q=0.6": "staged",
            f"{own('indexed')};q=0.5, application/json;q=0.4": "indexed",
            f"{own('indexed')};q=0, */*;q=0.1": "keyed",
            f"{own('indexed')};q=0.001": "indexed",
            f"text/html;q=1, {own('sequential')};q=0.2": "sequential",
            f"  {own('diffable').upper()} ; q=1.000 ,": "diffable",
        }
        for accept, dialect in cases.items():
            with self.subTest(accept):
                self.assertEqual(self.chosen(accept).json["dialect"], dialect)

    def test_none_acceptable_is_406_listing_them(self):
        for accept in ("text/html", "application/xml, image/*", "*/*;q=0", "application/vnd.diffserver.other+json"):
            with self.subTest(accept):
                problem = self.assertProblem(self.diff(OLD, NEW, Accept=accept), 406, "not-acceptable")
                for dialect in DIALECTS:
                    self.assertIn(own(dialect), str(problem))

    def test_an_unknown_dialect_staging_or_content_is_400(self):
        session, _ = self.made(["a"])
        for query in ({"dialect": "other"}, {"dialect": ""}, {"dialect": "Keyed"}, {"staging": "fast"}, {"content": "half"}):
            with self.subTest(query):
                self.assertProblem(self.diff(OLD, NEW, query), 400, "malformed-request")
                self.assertProblem(self.get_changes(session, query), 400, "malformed-request")
                self.assertProblem(self.post_changes(session, ["a"], query), 400, "malformed-request")

    def test_the_bare_patch_is_the_body_where_its_type_wins(self):
        answer = self.chosen("application/json-patch+json")
        self.assertEqual(answer.media_type, "application/json-patch+json")
        rules = DIALECTS["json-patch"]
        self.assertEqual(rules.applied(canonical(OLD), answer.exact), canonical(NEW))
        self.assertNotIn("Delta-Base", answer.headers)

    def test_the_query_wins_over_the_bare_patch(self):
        answer = self.chosen("application/json-patch+json", dialect="indexed")
        self.assertEqual(answer.json["dialect"], "indexed")

    def test_reading_and_writing_changes_follow_accept(self):
        session, first = self.made(OLD)
        for number, dialect in enumerate(DIALECTS):
            with self.subTest(dialect):
                wrote = self.post_changes(session, [*NEW, number], Accept=own(dialect))
                read = self.get_changes(session, {"since": first}, Accept=f"application/json;q=0.1, {own(dialect)}")
                for answer in (wrote, read):
                    self.assertStatus(answer, 200)
                    self.assertEqual((answer.media_type, answer.json["dialect"]), (own(dialect), dialect))
        head = self.get_session(session).json["revision"]
        for answer in (self.get_changes(session, Accept="text/html"), self.post_changes(session, OLD, Accept="text/html")):
            self.assertProblem(answer, 406, "not-acceptable")
        self.assertEqual(self.get_session(session).json["revision"], head)

    def test_the_bare_patch_names_its_revisions_in_headers(self):
        session, first = self.made(OLD)
        answer = self.post_changes(session, NEW, Accept="application/json-patch+json")
        head = self.get_session(session).json["revision"]
        self.assertEqual((answer.headers["Delta-Base"], answer.headers["ETag"]), (f'"{first}"', f'"{head}"'))
        answer = self.get_changes(session, {"since": first}, Accept="application/json-patch+json")
        self.assertEqual((answer.headers["Delta-Base"], answer.headers["ETag"]), (f'"{first}"', f'"{head}"'))
        self.assertEqual(DIALECTS["json-patch"].applied(canonical(OLD), answer.exact), canonical(NEW))

    def test_the_bare_reset_replaces_the_whole(self):
        session, head = self.made(OLD)
        answer = self.get_changes(session, Accept="application/json-patch+json")
        self.assertEqual(answer.exact, [{"op": "replace", "path": "", "value": canonical(OLD)}])
        self.assertEqual(answer.headers["ETag"], f'"{head}"')
        self.assertNotIn("Delta-Base", answer.headers)

    def test_other_endpoints_answer_json_or_406(self):
        session, _ = self.made(OLD)
        self.assertStatus(self.get_session(session, Accept="application/json"), 200)
        self.assertProblem(self.get_session(session, Accept="text/html"), 406, "not-acceptable")
        self.assertProblem(self.put_session(session, {"state": []}, Accept="text/html"), 406, "not-acceptable")


class Encodings(ServiceCase):
    BIG = [{"id": f"i{number}", "content": {"title": "a line that repeats", "number": number}} for number in range(300)]

    def test_a_large_answer_is_compressed_when_asked(self):
        session, _ = self.made(self.BIG)
        for query in ({}, {"dialect": "indexed"}):
            plain = self.get_changes(session, query)
            answer = self.get_changes(session, query, Accept_Encoding="gzip, deflate, br")
            self.assertEqual(answer.headers.get("Content-Encoding"), "gzip")
            self.assertLess(len(answer.body), len(plain.body))
            self.assertEqual(gzip.decompress(answer.body), plain.body)

    def test_no_answer_is_compressed_unasked_or_when_refused(self):
        session, _ = self.made(self.BIG)
        for accept in (None, "identity", "gzip;q=0", "br", "*;q=0, identity"):
            with self.subTest(accept):
                self.assertNotIn("Content-Encoding", self.get_changes(session, Accept_Encoding=accept).headers)

    def test_gzip_and_deflate_bodies_are_inflated(self):
        body = b'["a","b"]'
        for name, packed in {"gzip": gzip.compress(body), "deflate": zlib.compress(body), "identity": body}.items():
            with self.subTest(name):
                session = self.new_name()
                answer = self.request("POST", session_path(session, "changes"), packed, Content_Encoding=name)
                if name == "deflate" and answer.status == 415:
                    continue
                self.assertStatus(answer, 201)
                self.assertEqual(self.get_session(session).exact["state"], canonical(["a", "b"]))

    def test_an_unknown_encoding_is_415(self):
        for name in ("br", "zstd", "gzip, gzip", "nonsense"):
            with self.subTest(name):
                answer = self.request("POST", "/v1/diff", b"x", Content_Encoding=name)
                self.assertProblem(answer, 415, "unsupported-encoding")

    def test_a_body_that_does_not_inflate_is_400(self):
        for packed in (b"no gzip at all", gzip.compress(b'{"old":[],"new":[]}')[:-6]):
            with self.subTest(packed):
                answer = self.request("POST", "/v1/diff", packed, Content_Encoding="gzip")
                self.assertEqual(answer.status, 400, answer)


class MediaTypes(ServiceCase):
    BODY = '{"old":["a"],"new":["b"]}'

    def test_json_any_plus_json_none_and_what_curl_sends_are_taken(self):
        for given in ("application/json", "application/json; charset=utf-8", "Application/JSON", "application/problem+json",
                      "application/vnd.github.v3+json", "text/x+json", "application/x-www-form-urlencoded", None):
            with self.subTest(given):
                self.assertStatus(self.request("POST", "/v1/diff", self.BODY, Content_Type=given), 200)

    def test_another_type_is_415(self):
        for given in ("text/plain", "application/xml", "multipart/form-data; boundary=x", "application/jsonx", "image/png",
                      "text/html"):
            with self.subTest(given):
                answer = self.request("POST", "/v1/diff", self.BODY, Content_Type=given)
                self.assertProblem(answer, 415, "unsupported-media-type")
                session = self.new_name()
                for answer in (self.put_session(session, {"state": []}, Content_Type=given),
                               self.post_changes(session, [], Content_Type=given),
                               self.request("POST", session_path(session, "tokens"), {"scope": ["read"]}, Content_Type=given)):
                    self.assertProblem(answer, 415, "unsupported-media-type")

    def test_a_patch_is_no_state(self):
        patches = ("application/merge-patch+json", "application/json-patch+json", "Application/Merge-Patch+JSON; charset=utf-8")
        for given in patches:
            with self.subTest(given):
                session, first = self.made([{"id": "a", "content": 1}, "b"])
                for answer in (self.post_changes(session, [{"id": "a"}], Content_Type=given),
                               self.put_session(session, {"state": []}, Content_Type=given),
                               self.request("POST", "/v1/diff", self.BODY, Content_Type=given)):
                    self.assertProblem(answer, 415, "unsupported-media-type")
                    self.assertEqual(answer.headers["Accept-Post"], "application/json")
                    self.assertIn("patch", answer.json["detail"])
                self.assertEqual(self.get_session(session).json["revision"], first)

    def test_the_refusal_says_what_to_send(self):
        answer = self.post_changes(self.new_name(), [], Content_Type="text/plain;charset=UTF-8")
        self.assertProblem(answer, 415, "unsupported-media-type")
        self.assertEqual(answer.headers["Accept-Post"], "application/json")
        self.assertIn("Content-Type: application/json", answer.json["detail"])
