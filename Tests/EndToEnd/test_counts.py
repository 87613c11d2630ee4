"""dialect=counts: how far the head is from a base that stays: CONTRACT §6."""

import random

from support.appliers import NOT_ADOPTED
from support.states import canonical, changed, random_state
from test_events import StreamCase

RULES = NOT_ADOPTED["counts"]
TYPE = "application/vnd.diffserver.counts+json"


class Counts(StreamCase):
    def counts(self, session, since, **query):
        return self.assertChangeset(self.get_changes(session, {"since": since, "dialect": "counts", **query}), dialect="counts")

    def test_numbers_are_the_minimum_between_random_states(self):
        chance = random.Random(12)
        for _ in range(150):
            old = random_state(chance)
            new = changed(chance, old) if chance.random() < 0.8 else random_state(chance)
            found = self.diff(old, new, {"dialect": "counts"}).json["changes"]
            self.assertEqual(found, RULES.expected(canonical(old), canonical(new)), (old, new))

    def test_zeros_are_left_out(self):
        answer = self.diff(["a", "b"], ["b", "c", "d"], {"dialect": "counts"})
        self.assertChangeset(answer, dialect="counts")
        self.assertSameJSON(answer.text, '{"session":null,"from":null,"to":null,"dialect":"counts",'
                                         '"changes":{"items":{"deleted":1,"inserted":2}}}')
        self.assertEqual(self.diff(["a"], ["a"], {"dialect": "counts"}).json["changes"], {})

    def test_it_has_a_media_type(self):
        answer = self.diff(["a"], [], Accept=TYPE)
        self.assertEqual((answer.headers["Content-Type"].split(";")[0], answer.json["dialect"]), (TYPE, "counts"))
        self.assertIn(TYPE, self.diff([], [], Accept="text/html").json["detail"])

    def test_a_reset_says_how_many_rows_there_are(self):
        session, _ = self.made([{"id": "a", "items": ["b"]}, {"id": "c", "expanded": False, "items": ["d"]}])
        for since, reason in (("", "initial"), ("7-0123456789abcdef", "unknown")):
            with self.subTest(reason):
                answer = self.get_changes(session, {"since": since, "dialect": "counts"}).json
                self.assertEqual(set(answer), {"session", "from", "to", "dialect", "reset", "rows"})
                self.assertEqual((answer["reset"], answer["rows"], answer["from"]), (reason, 3, since or None))
        self.assertEqual(self.diff(["a"], ["b", "c"], {"dialect": "counts", "maxChanges": 1}).json["rows"], 2)

    def test_a_large_list_is_not_written_for_its_reset(self):
        session, _ = self.made([{"id": number, "content": "x" * 100} for number in range(2_000)])
        for _ in range(2):
            self.assertLess(len(self.get_changes(session, {"dialect": "counts"}).text), 200)

    def test_posts_count_too(self):
        session, first = self.made(["a"])
        answer = self.post_changes(session, ["a", "b", "c"], {"dialect": "counts"}).json
        self.assertEqual((answer["from"], answer["changes"]["items"]["inserted"]), (first, 2))

    def test_it_is_not_held(self):
        session, first = self.made(["a"])
        for query, headers in (({"wait": 1}, {}), ({"wait": 0}, {}), ({}, {"Prefer": "wait=1"})):
            with self.subTest(query, **headers):
                asked = {"since": first, "dialect": "counts", **query}
                self.assertProblem(self.get_changes(session, asked, **headers), 400, "malformed-request")

    def test_the_base_of_a_stream_stays(self):
        session, first = self.made(["a"])
        stream = self.opened(session, first, dialect="counts")
        for state, changes in ((["a", "b"], {"items": {"inserted": 1}}), (["a", "b", "c"], {"items": {"inserted": 2}}), (["a"], {})):
            head = self.wrote(session, state)
            event = stream.next_event()
            self.assertEqual((event.id, event.json["from"], event.json["to"]), (first, first, head))
            self.assertEqual(event.json["changes"], changes)
        again = self.stream(session, {"dialect": "counts"}, Last_Event_ID=first)
        self.assertEqual(self.primer(again).id, first)
        self.assertEqual(self.counts(session, first)["changes"], {})

    def test_a_stream_without_a_base_has_no_ids(self):
        session, _ = self.made(["a"])
        stream = self.stream(session, {"dialect": "counts"})
        rows = []
        for number in (1, 2):
            event = stream.next_event()
            self.assertEqual((set(event.fields), event.json["reset"], event.json["from"]), ({"event", "data"}, "initial", None))
            rows.append(event.json["rows"])
            if number == 1:
                self.wrote(session, ["a", "b"])
        self.assertEqual(rows, [1, 2])
        unknown = self.stream(session, {"dialect": "counts", "since": "7-0123456789abcdef"})
        self.assertEqual(unknown.next_event().id, "7-0123456789abcdef")
