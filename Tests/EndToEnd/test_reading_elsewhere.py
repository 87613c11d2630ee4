"""A read that begins after a write was acknowledged sees it, on any node of the same store, whichever way it comes: CONTRACT §12.

Two nodes share a Redis. What Redis says to the subscriptions of the second is held back from before the write until after the read, so
that this node learns nothing that it does not ask for.
"""

import hashlib
import json
import random
import unittest
from urllib.parse import urlencode

from support.client import Client, session_path, target
from support.events import Stream
from support.node import Node
from support.proxy import Proxy
from support.redis import IS_INSTALLED, MISSING, Redis
from support.store import names_its_stores
from support.tokens import SECRET, bearer

KEY = "a-writer's-key"
# One that leaves out nothing of what is read here, but has names of its own for revisions.
VIEW = {"where": [{"at": "/id", "exists": True}]}
WINDOW = {"at": "start", "after": 20}
DIALECTS = ("keyed", "indexed", "staged", "diffable", "sequential", "json-patch")


class Way:
    """One way of reading: which request, and what of its answer says what the session is at."""

    def __init__(self, path="", query=None, method="GET", headers=None, of_many=False, base=False, head=False):
        self.path, self.query, self.method, self.headers = path, query or {}, method, headers or {}
        # The reader has the revision before the write, or already the one that it made.
        self.of_many, self.base, self.head = of_many, base, head

    def __repr__(self):
        return f"{self.method} {'/v1/changes' if self.of_many else '…/' + self.path} {self.query} {self.headers}" + (
            " with the base" * self.base + " with the head" * self.head)

    @property
    def is_stream(self):
        return "Accept" in self.headers

    @property
    def is_of_changes(self):
        return self.of_many or self.path == "changes"

    def target(self, session, revision):
        if self.of_many:
            names = [session, f"{session}-other"]
            return "/v1/changes?" + urlencode([("session", f"{name}@{revision}" if revision and name == session else name)
                                               for name in names] + list(self.query.items()))
        return target(session_path(session, *self.path.split("/") if self.path else ()),
                      {**self.query, **({"since": revision} if revision else {})})


def ways():
    yield Way()
    yield Way(method="HEAD")
    yield Way(query={"view": json.dumps(VIEW)})
    for path, query in (("items/a", {}), ("items", {"id": "a"}), ("items", {"at": "0,0"}), ("sections/main", {}), ("sections", {"id": "main"})):
        yield Way(path, query)
        yield Way(path, {**query, "view": json.dumps(VIEW)})
    for headers in ({}, {"Accept": "text/event-stream"}):
        for of_many in (False, True):
            forms = [{"dialect": dialect} for dialect in DIALECTS] + [{"content": "patch"}, {"content": "delta"}]
            if not of_many:
                forms += [WINDOW, {"view": json.dumps(VIEW)}, {"view": json.dumps(VIEW), **WINDOW}]
                if not headers:
                    forms += [{"wait": 1}, {"wait": 1, **WINDOW}]
            for form in forms:
                yield Way("changes", form, headers=headers, of_many=of_many)
                # The base and the head are named as the session names them.
                if "view" not in form and "at" not in form:
                    yield Way("changes", form, headers=headers, of_many=of_many, base=True)
                    yield Way("changes", form, headers=headers, of_many=of_many, head=True)
            yield Way("changes", {"dialect": "counts"}, headers=headers, of_many=of_many, base=True)


@names_its_stores
@unittest.skipUnless(IS_INSTALLED, MISSING)
class ReadingElsewhere(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.redis = Redis()
        cls.addClassCleanup(cls.redis.close)
        cls.proxy = Proxy(cls.redis.port, seed=1)
        cls.addClassCleanup(cls.proxy.close)
        options = ("--digest-key", "shared", "--key", f"writer:{hashlib.sha256(KEY.encode()).hexdigest()}", "--token-secret", SECRET)
        nodes = [Node(*options, "--store", f"redis://127.0.0.1:{port}") for port in (cls.redis.port, cls.proxy.port)]
        for node in nodes:
            cls.addClassCleanup(node.stop)
        cls.here, cls.elsewhere = nodes
        cls.clients = {node: Client(node) for node in nodes}
        cls.count = 0

    def ask(self, node, method, path, body=None, given=KEY, status=None, **headers):
        answer = self.clients[node].request(method, path, body, {**bearer(given), **{k.replace("_", "-"): v for k, v in headers.items()}})
        if status:
            self.assertIn(answer.status, status, (method, path, answer))
        return answer

    def made(self):
        """A session that both nodes have, and somebody follows at the other one: its name, its revision, and that stream."""
        type(self).count += 1
        session = f"s{self.count}"
        made = self.ask(self.here, "PUT", session_path(session), {"state": ["a", "old"]}, status=(201,)).json["revision"]
        self.ask(self.here, "PUT", session_path(f"{session}-other"), {"state": ["o"]}, status=(201,))
        follower = Stream(self.elsewhere, session_path(session, "changes"), None, bearer(KEY))
        self.assertEqual(follower.next_event().json["to"], made)
        return session, made, follower

    # The writes, each with the rows that it leaves; None: there is no session any more.

    def post(self, session):
        return self.ask(self.here, "POST", session_path(session, "changes"), ["a", "new"], status=(200, 201)).json["to"], ["a", "new"]

    def edit(self, session):
        edits = {"edits": [{"op": "insert", "items": ["new"]}]}
        return self.ask(self.here, "POST", session_path(session, "changes"), edits, status=(200,)).json["to"], ["a", "old", "new"]

    def put(self, session):
        return self.ask(self.here, "PUT", session_path(session), {"state": ["a", "put"]}, status=(200,)).json["revision"], ["a", "put"]

    def delete(self, session):
        self.ask(self.here, "DELETE", session_path(session), status=(204,))
        return None, None

    def make_again(self, session):
        self.delete(session)
        return self.post(session)

    WRITES = (post, edit, put, delete, make_again)

    def opened(self, way, session, revision, given=KEY):
        stream = Stream(self.elsewhere, way.target(session, revision), None, {**bearer(given), **way.headers})
        self.addCleanup(stream.close)
        return stream

    def event(self, stream, session):
        """The next changeset of the session, on a stream of one or several."""
        while True:
            event = stream.next_event(10)
            self.assertIsNotNone(event)
            self.assertEqual(event.event, "changes", event)
            if event.json["session"] == session:
                return event.json

    def check(self, way, session, made, written, rows):
        revision = made if way.base else (written or made) if way.head else None
        if way.is_stream:
            return self.check_stream(way, session, made, revision, written, rows)
        answer = self.ask(self.elsewhere, way.method, way.target(session, revision))
        if way.of_many:
            self.assertEqual(answer.status, 200, answer)
            found = answer.json["answers"][0]
            if rows is None:
                return self.assertEqual(found.get("problem", {}).get("status"), 404, answer)
        elif rows is None:
            return self.assertEqual(answer.status, 404, answer)
        else:
            self.assertEqual(answer.status, 200, answer)
            found = json.loads(answer.body) if answer.body else {"revision": answer.headers["ETag"].strip('"')}
        self.check_revision(way, found, written)
        if way.is_of_changes:
            self.check_changeset(way, found, revision, rows)
        elif "state" in found:
            self.assertEqual([item["id"] for item in found["state"]["sections"][0]["items"]], rows)

    def check_revision(self, way, found, written):
        revision = found["to"] if way.is_of_changes else found["revision"]
        if "view" in way.query or "at" in way.query and way.path == "changes":
            self.assertEqual(revision.split("-")[0], written.split("-")[0], found)
        else:
            self.assertEqual(revision, written, found)

    def check_changeset(self, way, found, revision, rows):
        self.assertEqual(found["from"], revision, found)
        if way.head:
            self.assertNotIn("reset", found)
        if "state" in found:
            sections = found["state"]["sections"]
            self.assertEqual([item["id"] for section in sections for item in section["items"]], rows)

    def check_stream(self, way, session, made, revision, written, rows):
        """The first event tells all, but for a reader that has the head already: then it leads from there."""
        stream = self.opened(way, session, revision)
        self.assertEqual(stream.status, 200)
        if rows is None or way.head:
            written, after = self.post(session) if rows != ["a", "new"] else self.edit_after(session)
            self.proxy.hints.set()
            found = self.event(stream, session)
            if rows is not None:
                self.assertNotIn("reset", found)
            rows = after
        else:
            found = self.event(stream, session)
        self.check_revision(way, found, written)
        self.check_changeset(Way(), found, revision, rows)

    def edit_after(self, session):
        edits = {"edits": [{"op": "insert", "items": ["newer"]}]}
        answer = self.ask(self.here, "POST", session_path(session, "changes"), edits, status=(200,))
        return answer.json["to"], ["a", "new", "newer"]

    def run_pair(self, name, act):
        session, made, follower = self.made()
        try:
            self.proxy.hints.clear()
            with self.subTest(name):
                act(session, made)
        finally:
            self.proxy.hints.set()
            follower.close()

    def test_each_way_sees_each_write(self):
        chance = random.Random(20)
        for way in ways():
            # Held requests that have the head wait, and the others have seen all writes when each way has seen some.
            for write in chance.sample(self.WRITES, 1 if way.head and "wait" in way.query else 3):
                def act(session, made):
                    written, rows = write(self, session)
                    self.check(way, session, made, written, rows)
                self.run_pair(f"{write.__name__}: {way}", act)

    def test_conditions_and_past_revisions(self):
        def conditions(session, made):
            written, _ = self.post(session)
            path = session_path(session)
            self.ask(self.elsewhere, "GET", path, If_None_Match=f'"{made}"', status=(200,))

        def unchanged(session, made):
            written, _ = self.post(session)
            self.ask(self.elsewhere, "GET", session_path(session), If_None_Match=f'"{written}"', status=(304,))

        def shown(session, made):
            written, _ = self.post(session)
            answer = self.ask(self.elsewhere, "GET", target(session_path(session, "items"), {"id": "new", "revision": written}), status=(200,))
            self.assertEqual(answer.json["items"][0]["indexPath"], [0, 1])

        def listed(session, made):
            written, _ = self.post(session)
            answer = self.ask(self.elsewhere, "GET", target("/v1/sessions", {"prefix": session, "limit": 1}), status=(200,))
            self.assertEqual((answer.json["sessions"][0]["session"], answer.json["sessions"][0]["revision"]), (session, written))

        def no_longer_listed(session, made):
            self.delete(session)
            answer = self.ask(self.elsewhere, "GET", target("/v1/sessions", {"prefix": session}), status=(200,))
            self.assertEqual([each["session"] for each in answer.json["sessions"]], [f"{session}-other"])

        def settings(session, made):
            self.ask(self.here, "PUT", session_path(session), {"ttl": 5000, "ignore": ["/seen"]}, status=(200,))
            found = self.ask(self.elsewhere, "GET", session_path(session, "settings"), status=(200,)).json
            self.assertEqual((found["ttl"], found["ignore"]), (5000, ["/seen"]))

        def no_longer_public(session, made):
            self.ask(self.here, "PUT", session_path(session), {"public": True}, status=(200,))
            self.assertEqual(self.clients[self.elsewhere].request("GET", session_path(session)).status, 200)
            self.ask(self.here, "PUT", session_path(session), {"public": False}, status=(200,))
            for path in (session_path(session), session_path(session, "changes"), session_path(session, "items", "a")):
                self.assertEqual(self.clients[self.elsewhere].request("GET", path).status, 401, path)

        def through_the_view_of_a_token(session, made):
            minted = self.ask(self.here, "POST", session_path(session, "tokens"), {"view": {"where": [{"at": "/id", "not": "old"}]}},
                              status=(201,)).json["token"]
            written, _ = self.edit(session)
            answer = self.ask(self.elsewhere, "GET", session_path(session), given=minted, status=(200,)).json
            self.assertEqual([item["id"] for item in answer["state"]["sections"][0]["items"]], ["a", "new"])
            self.assertEqual(answer["revision"].split("-")[0], written.split("-")[0])

        for act in (conditions, unchanged, shown, listed, no_longer_listed, settings, no_longer_public, through_the_view_of_a_token):
            self.run_pair(act.__name__, act)

    def test_no_way_takes_a_token_that_was_revoked(self):
        chance = random.Random(21)
        for way in ways():
            for covered in ((0,), (1,), (0, 1)) if way.of_many else ((0,),):
                def act(session, made):
                    names = [session, f"{session}-other"]
                    made_token = self.ask(self.here, "POST", "/v1/tokens", {"sessions": names, "scope": ["read"]}, status=(201,)).json
                    minted = made_token["token"]
                    self.ask(self.elsewhere, "GET", session_path(session), given=minted, status=(200,))
                    # All tokens of a session, or this one alone.
                    alone = chance.choice(((), (made_token["jti"],)))
                    for each in covered:
                        self.ask(self.here, "DELETE", session_path(names[each], "tokens", *alone), status=(204,))
                    revision = made if way.base or way.head else None
                    if way.is_stream:
                        self.assertEqual(self.opened(way, session, revision, minted).status, 401)
                    else:
                        self.ask(self.elsewhere, way.method, way.target(session, revision), given=minted, status=(401,))
                self.run_pair(f"revoked for {covered}: {way}", act)
