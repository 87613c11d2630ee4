"""The spelling of an id is no change: whoever followed a view shows what it shows afresh, here, at another node, after a restart."""

import random
import unittest

from support.client import Client, session_path, target
from support.jsontext import text
from support.node import Node
from support.replica import Replica
from support.states import spelled_otherwise
from support.store import KIND, Store
from support.views import viewed

VIEWS = [
    {"order": [{"at": "/id"}]},
    {"order": [{"at": "/id", "descending": True}], "limit": 2},
    {"order": [{"at": "/content"}, {"at": "/id"}]},
    {"sectionOrder": [{"at": "/id"}]},
    {"group": {"at": "/id"}},
    {"group": {"at": "/id", "prefix": 1}, "sectionOrder": [{"at": "/id"}]},
    {"group": {"at": "/content"}, "sectionOrder": [{"at": "/id", "descending": True}], "order": [{"at": "/id"}]},
    {"where": [{"at": "/id", "above": 6}]},
    {"where": [{"any": [{"at": "/id", "has": "1"}, {"at": "/id", "in": ["7", 5.0]}]}], "order": [{"at": "/id"}]},
    {"where": [{"at": "/id", "not": "10"}, {"at": "/id", "not": 850}, {"at": "/id", "atMost": "a1"}]},
]
IDS = ["5", "7", "10", "-3", "0", "850", "1999", "9007199254740993", "a1", "05"]
SECTIONS = ["10", "9", "2", "x"]


class Spelling(unittest.TestCase):
    def setUp(self):
        self.store = Store(())
        options = ("--digest-key", "the key of the spelling", *self.store.options)
        self.nodes = [Node(*options) for _ in range(2 if KIND == "redis" else 1)]
        self.random = random.Random(1999)

    def tearDown(self):
        for node in self.nodes:
            node.stop()
        self.store.close()

    def request(self, method, path, query, body=None):
        client = Client(self.random.choice(self.nodes))
        try:
            answer = client.request(method, target(path, query), body)
            self.assertIn(answer.status, (200, 201), answer)
            return answer.exact
        finally:
            client.close()

    def written(self, identity):
        """An id in one of its spellings."""
        return spelled_otherwise(identity) if self.random.random() < 0.5 else identity

    def state(self, items):
        sections = [{"id": self.written(each), "items": []} for each in SECTIONS]
        for identity, (section, content) in items.items():
            sections[section]["items"].append({"id": self.written(identity), "content": content})
        return {"sections": sections}

    def change(self, items):
        for identity in self.random.sample(IDS, 2):
            if identity in items and self.random.random() < 0.5:
                del items[identity]
            else:
                items[identity] = self.random.randrange(len(SECTIONS)), self.random.randrange(3)

    def get(self, name, view, **query):
        return self.request("GET", session_path(name, "changes"), {"view": text(view), **query})

    def check(self, name, readers, is_followed):
        state = self.request("GET", session_path(name), {})["state"]
        for view, reader in readers:
            fresh = Replica("keyed")
            if is_followed():
                reader.receive(self.get(name, view, since=reader.revision or ""))
                fresh.receive(self.get(name, view))
                self.assertEqual((reader.revision, reader.model), (fresh.revision, fresh.model), (view, text(state)))
                self.assertTrue(fresh.shows(viewed(state, view)), (view, text(state), fresh.model))

    def test_followed_afresh_elsewhere_and_after_a_restart(self):
        for number in range(6):
            name, items, readers = f"s{number}", {}, [(view, Replica("keyed")) for view in VIEWS]
            for _ in range(12):
                self.request("POST", session_path(name, "changes"), {}, self.state(items))
                self.check(name, readers, lambda: self.random.random() < 0.6)
                if self.random.random() < 0.7:
                    self.change(items)
            self.check(name, readers, lambda: True)
            if KIND == "memory":
                continue
            for node in self.nodes:
                node.stop()
                node.start()
            self.check(name, readers, lambda: True)
            self.change(items)
            self.request("POST", session_path(name, "changes"), {}, self.state(items))
            self.check(name, readers, lambda: True)


if __name__ == "__main__":
    unittest.main()
