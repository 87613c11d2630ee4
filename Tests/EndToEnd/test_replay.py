"""A real list's history, posted as its upstream wrote it, to readers of every dialect."""


from support.appliers import DIALECTS
from support.case import ServiceCase
from support.client import session_path
from support.clock import pause
from support.jsontext import exact
from support.readers import BreakingReader, problems
from support.replica import Replica
from support.server import ROOT

POINTERS = {"itemsAt": "/Incidents", "idAt": "/UniqueId"}
LINES = (ROOT / "Tests" / "Fixtures" / "fire-incidents.jsonl").read_text("utf-8").splitlines()


def document(line):
    """The state that a line of the history stands for."""
    items = [{"id": each["UniqueId"], "content": each} for each in exact(line)["Incidents"]]
    return {"sections": [{"id": "main", "items": items}]}


class Replay(ServiceCase):
    def test_each_answer_leads_to_the_state_that_was_posted(self):
        for dialect in DIALECTS:
            for content in ("full", "patch"):
                with self.subTest(dialect, content=content):
                    session, replica = self.new_name(), Replica(dialect)
                    for line in LINES:
                        query = {"dialect": dialect, "content": content, **POINTERS}
                        if replica.revision:
                            query["since"] = replica.revision
                        answer = self.post_changes(session, line, query)
                        self.assertEqual(replica.receive(answer.exact), "adopted")
                        self.assertTrue(replica.shows(document(line)))

    def test_event_streams_that_break_at_random_end_at_the_last_state(self):
        session = self.new_name()
        self.post_changes(session, LINES[0], POINTERS)
        readers = [BreakingReader(self.server, session_path(session, "changes"), dialect, document(LINES[-1]), seed)
                   for seed, dialect in enumerate(DIALECTS)]
        for each in readers:
            each.start()
        for line in LINES[1:]:
            self.post_changes(session, line, POINTERS)
            pause(0.03, "the writer")
        self.assertEqual(problems(readers), [])
