"""A node over its own database."""

import pathlib
import re
import shutil
import tempfile
import unittest

from .client import Client, session_path, target
from .node import Node
from .store import names_its_stores


@names_its_stores
class SQLiteCase(unittest.TestCase):
    """Has the node, the database's path, and a client."""

    options = ()
    variables = None

    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="diffserver-sqlite-"))
        self.addCleanup(shutil.rmtree, self.directory)
        self.path = self.directory / "sessions.db"
        self.node = Node("--store", f"sqlite:{self.path}", *self.options, variables=self.variables)
        self.addCleanup(self.node.stop)
        self.client = Client(self.node)
        self.addCleanup(self.client.close)

    def restarted(self, between=lambda: None):
        self.node.kill()
        between()
        self.node.start()

    def request(self, method, session, body=None, query=None, *rest, **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.request(method, target(session_path(session, *rest), query), body, named)

    def post(self, session, body, **headers):
        return self.request("POST", session, body, None, "changes", **headers)

    def changes(self, session, since):
        return self.request("GET", session, None, {"since": since}, "changes").json

    def shown(self, session):
        """The ids of a session's items, in order."""
        answer = self.request("GET", session)
        self.assertEqual(answer.status, 200, answer)
        return [item["id"] for section in answer.json["state"]["sections"] for item in section["items"]]

    def metric(self, name):
        text = self.client.request("GET", "/metrics").text
        return float(re.search(rf"^{name} (\S+)$", text, re.M).group(1))
