"""smallest=true: the state if the changes would be longer: CONTRACT §4."""

import random

from support.appliers import DIALECTS
from support.case import ServiceCase
from support.states import changed, random_state
from test_events import StreamCase


def value(answer, name):
    """The bytes of the last member of an answer, except warnings."""
    text = answer.text.split(f'"{name}":', 1)[1]
    return text.rsplit(',"warnings"', 1)[0] if '"warnings":["' in text else text[:-1]


class Smallest(ServiceCase):
    def test_what_is_shorter_is_sent_in_every_dialect(self):
        chance, sent = random.Random(5), {True: 0, False: 0}
        for _ in range(60):
            old = random_state(chance)
            new = changed(chance, old) if chance.random() < 0.5 else random_state(chance, size=4)
            for dialect in DIALECTS:
                query = {"dialect": dialect, "content": chance.choice(["full", "patch"]), "staging": "compact"}
                plain = self.diff(old, new, query)
                whole = self.made_anew(new, dialect)
                is_longer = len(value(plain, "changes").encode()) > len(value(whole, "state").encode())
                sent[is_longer] += 1
                with self.subTest(dialect, old=old, new=new):
                    answer = self.diff(old, new, {**query, "smallest": "true"})
                    if is_longer:
                        self.assertEqual(answer.json["reset"], "large")
                        self.assertEqual(value(answer, "state"), value(whole, "state"))
                    else:
                        self.assertEqual(answer.text, plain.text)
                    self.assertEqual(self.diff(old, new, {**query, "smallest": "false"}).text, plain.text)
        self.assertGreater(min(sent.values()), 30, sent)

    def made_anew(self, state, dialect):
        session, _ = self.made(state)
        return self.get_changes(session, {"dialect": dialect})

    def test_a_bare_patch_gives_way_too(self):
        session, first = self.made([f"a long id, number {number}" for number in range(20)])
        head = self.wrote(session, ["b"])
        answer = self.get_changes(session, {"since": first, "smallest": "true"}, Accept="application/json-patch+json")
        self.assertEqual((answer.json[0]["op"], answer.json[0]["path"]), ("replace", ""))
        self.assertEqual(answer.headers["ETag"], f'"{head}"')

    def test_counts_have_no_state_to_give_way_to(self):
        self.assertIn("changes", self.diff(["b"], [], {"dialect": "counts", "smallest": "true"}).json)

    def test_it_is_true_or_false(self):
        for given in ("1", "", "True", "yes"):
            with self.subTest(given):
                self.assertProblem(self.diff([], [], {"smallest": given}), 400, "malformed-request")


class OnTheWay(StreamCase):
    def test_posts_reads_and_streams(self):
        old = [f"a long id, number {number}" for number in range(20)]
        session, first = self.made(old)
        stream = self.opened(session, first, smallest="true")
        posted = self.post_changes(session, ["b"], {"smallest": "true"}).json
        self.assertEqual((posted["reset"], posted["from"]), ("large", first))
        self.assertEqual(self.get_changes(session, {"since": first, "smallest": "true"}).json, posted)
        self.assertEqual(self.assertBatch(stream.next_event()), posted)
        self.wrote(session, ["b", *old])
        self.assertEqual(self.assertBatch(stream.next_event())["reset"], "large")
        self.wrote(session, ["b", *old[::-1][:1], *old[:-1]])
        self.assertIn("changes", self.assertBatch(stream.next_event()))
