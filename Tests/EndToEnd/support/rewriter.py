"""A writer whose session is compacted all the time."""

import copy
import random

from .client import Client, session_path, target
from .replica import Replica
from .states import canonical

# The node is gone, or was just killed while it answered.
GONE = (OSError, ValueError, IndexError)


class Rewriter:
    """The only writer of a session. Half of its states keep nothing of the previous one, so a store often writes a
    checkpoint and removes the log before it. The writer knows what was acknowledged, and what was under way."""

    def __init__(self, session, seed):
        self.path, self.chance = session_path(session), random.Random(seed)
        self.count, self.past, self.under_way = 0, [], None

    def run(self, node):
        """Writes until the node is gone."""
        client = Client(node, 10)
        try:
            while True:
                self.write(client)
        except GONE:
            return
        finally:
            client.close()

    def write(self, client):
        self.under_way = self.next()
        answer = client.request("POST", self.path + "/changes", {"state": self.under_way}, {"Prefer": "return=minimal"})
        assert answer.status in (200, 201), answer
        self.was_done(answer.json["to"])

    def next(self):
        self.count += 1
        if self.past and self.chance.random() < 0.5:
            rows = copy.deepcopy(self.past[-1][1])
            self.chance.choice(rows)["content"] = [self.count]
            return rows
        return [{"id": f"{self.count}-{row}", "content": ["x" * 60, row]} for row in range(self.chance.randint(5, 40))]

    def was_done(self, revision):
        self.past.append((revision, self.under_way))
        self.under_way = None

    def check(self, node, remembered):
        """A node has what was acknowledged, and leads there from each of this many earlier revisions."""
        client = Client(node)
        answer = client.request("GET", self.path)
        if answer.status == 404 and not self.past:
            return client.close()
        assert answer.status == 200, answer
        shown = answer.exact["state"]
        if self.under_way and shown == canonical(self.under_way):
            self.was_done(answer.json["revision"])
        revision, state = self.past[-1]
        assert (answer.json["revision"], shown) == (revision, canonical(state)), (self.path, answer, revision)
        for since, state in self.past[-1 - remembered:-1]:
            changeset = client.request("GET", target(self.path + "/changes", {"since": since})).exact
            assert "reset" not in changeset, (self.path, since, changeset)
            replica = Replica("keyed")
            replica.receive({"reset": "initial", "state": canonical(state), "to": since})
            replica.receive(changeset)
            assert replica.shows(shown), (self.path, since, changeset)
        client.close()
