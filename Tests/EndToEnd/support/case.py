"""A test class with its own server."""

import itertools
import threading
import unittest

from . import jsontext
from .client import Client, RawConnection, session_path, target
from .server import Server

REVISION = r"^[0-9]+-[0-9a-f]{16}$"


class ServiceCase(unittest.TestCase):
    """Starts one server for the class, with fixed options and variables, and asserts that SIGTERM ends it with 0."""

    options = ()
    variables = None
    maxDiff = None
    _numbers = itertools.count(1)

    @classmethod
    def setUpClass(cls):
        cls.server = Server("--digest-key", "the key of the end-to-end tests", *cls.options, variables=cls.variables)
        cls.client = Client(cls.server)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        status = cls.server.stop()
        if status != 0:
            log = "\n".join(cls.server.lines[-20:])
            raise AssertionError(f"SIGTERM ended the server with {status}; its log ends:\n{log}")

    def run_together(self, *tasks):
        """Runs each task in a separate thread with its own client; re-raises what any raised."""
        problems = []

        def run(task):
            client = Client(self.server, 60)
            try:
                task(client)
            except Exception as problem:  # told below, in the test's own thread
                problems.append(problem)
            finally:
                client.close()

        threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        if problems:
            raise problems[0]

    # Requests

    def new_name(self):
        """A session that no other test of the class uses."""
        return f"s{next(self._numbers)}"

    def request(self, method, path, body=None, query=None, **headers):
        """Header names are keywords with _ for -, as If_Match."""
        named = {name.replace("_", "-"): value for name, value in headers.items() if value is not None}
        return self.client.request(method, target(path, query), body, named)

    def get(self, path, query=None, **headers):
        return self.request("GET", path, None, query, **headers)

    def post_changes(self, session, body, query=None, **headers):
        return self.request("POST", session_path(session, "changes"), body, query, **headers)

    def get_changes(self, session, query=None, **headers):
        return self.get(session_path(session, "changes"), query, **headers)

    def get_session(self, session, **headers):
        return self.get(session_path(session), **headers)

    def put_session(self, session, body, query=None, **headers):
        return self.request("PUT", session_path(session), body, query, **headers)

    def delete_session(self, session, **headers):
        return self.request("DELETE", session_path(session), **headers)

    def diff(self, old, new, query=None, **headers):
        return self.request("POST", "/v1/diff", {"old": old, "new": new}, query, **headers)

    def raw(self, timeout=20):
        connection = RawConnection(self.server, timeout)
        self.addCleanup(connection.close)
        return connection

    # Prepared sessions

    def made(self, state, session=None, query=None):
        """A new session of the state: its name and revision."""
        session = session or self.new_name()
        answer = self.post_changes(session, state, query)
        self.assertEqual(answer.status, 201, answer)
        return session, answer.json["to"]

    def wrote(self, session, state, **headers):
        """The revision after a POST that must succeed."""
        answer = self.post_changes(session, state, **headers)
        self.assertEqual(answer.status, 200, answer)
        return answer.json["to"]

    # Claims

    def assertStatus(self, answer, status):
        self.assertEqual(answer.status, status, answer)

    def assertRevision(self, text):
        self.assertIsInstance(text, str)
        self.assertRegex(text, REVISION)

    def assertProblem(self, answer, status, name, **members):
        """An RFC 9457 answer of this type, with these members."""
        self.assertEqual((answer.status, answer.media_type), (status, "application/problem+json"), answer)
        problem = answer.json
        self.assertEqual(problem.get("type"), f"/problems/{name}", answer)
        self.assertEqual(problem.get("status"), status, answer)
        for member in ("title", "detail", "instance"):
            self.assertIsInstance(problem.get(member), str, answer)
        for member, expected in members.items():
            self.assertEqual(problem.get(member, "(missing)"), expected, answer)
        return problem

    def assertErrors(self, answer, name, *pointers_and_codes):
        """A 422 whose `errors` are exactly these (pointer, code)."""
        problem = self.assertProblem(answer, 422, name)
        found = [(each.get("pointer"), each.get("code")) for each in problem.get("errors", [])]
        self.assertEqual(sorted(found), sorted(pointers_and_codes), answer)
        return problem

    def assertChangeset(self, answer, status=200, dialect="keyed"):
        """A changeset with `changes` or with `reset` and `state`, and nothing else."""
        self.assertEqual(answer.status, status, answer)
        self.assertIn(answer.media_type, media_types(dialect), answer)
        changeset = answer.json
        members = set(changeset) - {"warnings", "window"} - ({"list"} if "changes" in changeset else set())
        envelope = {"session", "from", "to", "dialect"}
        self.assertIn(members, (envelope | {"changes"}, envelope | {"reset", "state"}), answer)
        self.assertEqual(changeset["dialect"], dialect, answer)
        return changeset

    def assertReset(self, answer, reason, status=200):
        changeset = self.assertChangeset(answer, status)
        self.assertEqual(changeset.get("reset"), reason, answer)
        return changeset

    def assertSameJSON(self, text, expected):
        """The same JSON value, number tokens compared as text."""
        self.assertEqual(jsontext.exact(text), jsontext.exact(expected))



def media_types(dialect):
    """The types a changeset of the dialect may have."""
    own = f"application/vnd.diffserver.{dialect}+json"
    return (own, "application/json") if dialect == "keyed" else (own,)
