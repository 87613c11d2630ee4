"""Two servers with the same data except for the secrets, a third that tells what edits would do, and the findings."""

import collections
import hashlib
import json
import re

from noninterference_wire import Line, Request
from support.client import session_path, target
from support.jsontext import text
from support.server import Server
from support.tokens import SECRET

KEEPER, OTHER, TEAM = "the keeper's key", "another writer's key", "the key of the team"
DIGESTS = "the key of the digests in both worlds"


def hashed(key):
    return hashlib.sha256(key.encode()).hexdigest()


def bearer(given):
    return f"Bearer {given}" if given else ""


class World:
    """One of the two servers, with a connection for the caller and one for everybody else."""

    def __init__(self, *options):
        self.server = Server("--digest-key", DIGESTS, "--token-secret", SECRET, "--key", f"keeper:{hashed(KEEPER)}",
                             "--key", f"other:{hashed(OTHER)}", "--key", f"team:{hashed(TEAM)}:team:",
                             # The connection for everybody else waits while another is used.
                             "--idle-timeout", "1h",
                             # Limited by bytes, histories of more hidden things would be shorter.
                             "--history-bytes", "64MiB", *options)
        self.line, self.elsewhere = Line(self.server), Line(self.server)

    def ask(self, method, path, body=None, query=None, given=KEEPER, **headers):
        """One request from another caller."""
        named = [(name.replace("_", "-"), value) for name, value in headers.items()]
        request = Request("", method, target(path, query), [], named, None if body is None else text(body))
        self.elsewhere.send(request.octets(bearer(given), []))
        return self.elsewhere.answer(method)

    def close(self):
        self.line.close()
        self.elsewhere.close()
        return self.server.stop()


class Oracle:
    """A third server, where edits are first tried on copies of both worlds' states: what they must be told of."""

    SESSION = "tried"

    def __init__(self):
        self.world = World("--store", "memory")

    def outcome(self, world, session, request):
        """Whether it is refused, with which codes, and whether it changes anything: all that its sender may learn."""
        found = world.ask("GET", session_path(session))
        if found.status != 200:
            return found.status
        self.world.ask("PUT", session_path(self.SESSION), {"state": json.loads(found.text)["state"]})
        path = re.sub("^/v1/sessions/[^/]+", session_path(self.SESSION), request.path)
        headers = [each for each in request.headers if each[0] == "Content-Type"]
        self.world.elsewhere.send(Request("", request.method, path, [], headers, request.body).octets(bearer(KEEPER), []))
        answer = self.world.elsewhere.answer(request.method)
        said = answer.json if answer.body else {}
        codes = sorted((each.get("pointer", ""), each.get("code", "")) for each in said.get("errors", []))
        return answer.status, codes, said.get("from") == said.get("to")

    def close(self):
        self.world.close()


class Findings:
    """What was compared, and what differed."""

    def __init__(self):
        self.compared = collections.Counter()
        self.statuses = collections.Counter()
        self.differences = []

    def count(self, kind, endpoint, status, number=1):
        self.compared[kind, endpoint] += number
        self.statuses[status] += number

    def differ(self, kind, what, one, other):
        self.differences.append((kind, str(what), one, other))
