"""A caller's requests, drawn at random from all routes, parameters, headers and dialects, well-formed or not."""

import re
from urllib.parse import quote, unquote

from noninterference_secrets import NAMED, NAMED_SECTIONS, SECRETS, SECTIONS
from noninterference_wire import Request, told
from support.jsontext import text
from support.states import CONTENTS, changed, random_state
from support.views import random_view

DIALECTS = ["keyed", "indexed", "staged", "diffable", "sequential", "counts", "json-patch"]
OPERATIONS = ["insert", "delete", "move", "update", "reload", "reconfigure", "expand", "collapse", "clear"]
MEDIA = ["*/*", "application/json", "application/json-patch+json", "text/html", "application/vnd.diffserver.staged+json;q=0.4, */*;q=0.1",
         *(f"application/vnd.diffserver.{dialect}+json" for dialect in DIALECTS)]
# Every client uses these; who else did, and for what, is a secret.
KEYS = [f"key-{number}" for number in range(6)]
FORGED = ["1-0123456789abcdef", "3-0123456789abcdef", "4-00000000000000ff~0.2.0", "2-fedcba9876543210~1.3.2"]
PAGES = ["/livez", "/readyz", "/problems/internal", "/problems/none", "/openapi.json", "/client.js", "/", "/metrics", "/favicon.ico",
         "/v1/none", "/v1", "/v1/sessions/", "/playground/none", "/v1/sessions/a%2Fb", "/v1/sessions/.."]
# Views with members that the model in support.views does not know; a server that knows none of them refuses these.
STRANGE_VIEWS = [{"any": 1}, {"where": [{"any": [{"at": "/content/secret", "exists": True}, {"at": "/id", "is": "h0"}]}]},
                 {"where": [{"at": "/kind", "is": "SECRET", "fold": True}]}, {"group": {"at": "/content/secret"}},
                 {"group": {"at": "/content/title", "prefix": 1}, "order": [{"at": "/content/n"}]}, {"emptySections": False},
                 {"sectionOrder": [{"at": "/content/secret"}]}, {"collapsed": {"items": ["h0", "a"], "sections": ["hs0", "s"]}},
                 {"where": [{"at": "/content/secret", "exists": True}]}, {"where": [{"at": "/id", "has": "h"}]}, {"limit": 1},
                 {"order": [{"at": "/content/secret", "descending": True}], "limit": 2}, {"where": [{"at": "/kind", "is": "secret"}]},
                 {"fields": ["/content/secret", "/content/other"]}, {"sectionFields": ["/content"], "listFields": ["/content/noise"]},
                 {"sections": ["hs0", "hs1", "s", "t"]}, {"where": [{"at": "/content/secret", "above": 1}]}]


class Script:
    """Makes random requests for one caller. `revisions` holds pairs it was told; requests name them by number."""

    def __init__(self, chance, caller, sessions, foreign, revisions):
        self.chance, self.caller, self.sessions, self.foreign, self.revisions = chance, caller, sessions, foreign, revisions
        self.numbers = 0
        # The revisions it was told of a session through its own view, or through none, by number.
        self.known = {}

    def next(self):
        draws = [(self.session, 3), (self.changes, 9), (self.items, 5), (self.sections, 3), (self.many, 4), (self.post, 3),
                 (self.write, 1), (self.tokens, 1), (self.fetch, 0.5), (self.diff, 1), (self.shape, 0.5), (self.patch, 1),
                 (self.listing, 1), (self.page, 1)]
        weights = [weight * self.caller.weights.get(draw.__name__, 1) for draw, weight in draws]
        request = self.chance.choices([draw for draw, _ in draws], weights)[0]()
        self._negotiate(request)
        return request

    def is_likely(self, share):
        return self.chance.random() < share

    def remember(self, request, number):
        """Notes a revision from an answer, through the view of the request."""
        match = re.match("/v1/sessions/([^/]+)", request.path)
        if match:
            self.known.setdefault((unquote(match[1]), dict(request.query).get("view")), []).append(number)

    # Parts

    def name(self):
        """A session: most likely one of its own."""
        if self.is_likely(0.95):
            return self.chance.choice(self.sessions)
        return self.chance.choice(self.foreign + [f"{self.sessions[0]}x"])

    def path(self, *rest):
        return "/".join([f"/v1/sessions/{quote(self.name(), safe='~:')}"] + [quote(str(each), safe="") for each in rest])

    def revision(self):
        if self.revisions and self.is_likely(0.85):
            # Mostly the newest ones.
            back = min(int(self.chance.expovariate(0.25)), len(self.revisions) - 1)
            return told(len(self.revisions) - 1 - back)
        return self.chance.choice(FORGED)

    def followed(self, numbers):
        """One of these revisions, most likely a recent one."""
        return told(numbers[-1 - min(int(self.chance.expovariate(0.35)), len(numbers) - 1)])

    def since(self):
        kind = self.chance.random()
        if kind < 0.15:
            return []
        if kind < 0.2:
            return [("since", "")]
        return [("since", self.revision() if kind < 0.97 else self.chance.choice(["x", "1-", "0", "1-XYZ", "~0.1.0"]))]

    def view(self, share=0.3):
        if not self.is_likely(share):
            return []
        if self.is_likely(0.08):
            return [("view", self.chance.choice(["{", "[]", "", '{"limits":1}', '{"limit":-1}', '{"where":[{"at":"x","is":1}]}']))]
        return [("view", text(random_view(self.chance) if self.is_likely(0.7) else self.chance.choice(STRANGE_VIEWS)))]

    def window(self, share=0.3):
        if not self.is_likely(share):
            return []
        anchor = self.chance.choice([("at", "start"), ("at", "end"), ("at", self.chance.randint(0, 6)),
                                     ("around", self.chance.choice(NAMED)), ("around", self.chance.choice(NAMED))])
        sizes = [(name, self.chance.choice([0, 0, 1, 1, 2, 3, 5, 1000])) for name in ("before", "after") if self.is_likely(0.7)]
        if self.is_likely(0.06):
            sizes.append(self.chance.choice([("before", 1001), ("after", "x"), ("at", "start"), ("around", "")]))
        return ([anchor] if self.is_likely(0.97) else []) + sizes

    def style(self):
        query = []
        if self.is_likely(0.5):
            query.append(("dialect", self.chance.choice(DIALECTS if self.is_likely(0.97) else ["none"])))
        for name, values, share in (("staging", ["safe", "compact"], 0.15), ("content", ["patch", "delta", "full"], 0.5),
                                    ("maxChanges", [0, 1, 2, 4], 0.12), ("smallest", ["true", "false"], 0.15)):
            if self.is_likely(share):
                query.append((name, self.chance.choice(values)))
        return query

    def strange(self, query):
        """Now and then an unknown, repeated or invalid parameter."""
        if self.is_likely(0.03):
            query.append(self.chance.choice([("sinse", 1), ("dialect", "keyed"), ("limit", 5), ("staging", "x"), ("wait", "x"),
                                             ("every", 0)]))
        return query

    def identity(self):
        return self.chance.choice(NAMED)

    def fresh(self):
        """Things that never existed."""
        self.numbers += 1
        return f"fresh {self.numbers}"

    # Headers that go with any request

    def _negotiate(self, request):
        add = request.headers.append
        if self.is_likely(0.25 if "changes" in request.endpoint else 0.08):
            add(("Accept", self.chance.choice(MEDIA)))
        if self.is_likely(0.4):
            add(("Accept-Encoding", self.chance.choice(["gzip", "gzip", "identity", "gzip;q=0", "br, gzip;q=0.5", "*"])))
        if self.is_likely(0.15):
            tag = self.revision()
            add(("If-None-Match", self.chance.choice(["*", '"x"', f'"{tag}"', f'W/"{tag}"', f'"{tag};gzip"'])))
        if self.is_likely(0.03):
            add(("Origin", "https://example.org"))
        if self.is_likely(0.03):
            add(("X-Request-Id", "mine"))
        if request.method == "GET" and self.is_likely(0.08):
            request.method = "HEAD"
        elif self.is_likely(0.02):
            request.method = self.chance.choice(["OPTIONS", "PATCH", "PUT", "BREW"]) if request.body is None else "OPTIONS"
        request.endpoint = f"{request.method} {request.endpoint}"

    def conditions(self, share=0.2):
        headers = []
        if self.is_likely(share):
            headers.append(("If-Match", self.chance.choice(["*", '"x"'] + [f'"{self.revision()}"'] * 6)))
        if self.is_likely(0.3):
            headers.append(("Idempotency-Key", self.chance.choice(KEYS)))
        if self.is_likely(0.2):
            headers.append(("Prefer", "return=minimal"))
        kind = self.chance.random()
        if kind < 0.5:
            headers.append(("Content-Type", "application/json"))
        elif kind < 0.58:
            headers.append(("Content-Type", self.chance.choice([
                "text/plain", "application/merge-patch+json", "application/json-patch+json", "application/vnd.my+json",
                "application/x-www-form-urlencoded"])))
        return headers

    # Endpoints

    def session(self):
        return Request("session", "GET", self.path(), self.strange(self.view()))

    def changes(self):
        if self.known and self.is_likely(0.65):
            name, view = self.chance.choice(list(self.known))
            path = f"/v1/sessions/{quote(name, safe='~:')}/changes"
            query = [("since", self.followed(self.known[name, view]))] + self.style() + ([("view", view)] if view is not None else [])
            query += self.window()
        else:
            path, query = self.path("changes"), self.since() + self.style() + self.view() + self.window()
        if self.is_likely(0.08):
            query.append(("wait", 0))
        if self.is_likely(0.04):
            query.append(("every", 1))
        return Request("changes", "GET", path, self.strange(query))

    def _looked_up(self, kind, names, places):
        if self.is_likely(0.4):
            query = self.view()
            path = self.path(kind, self.chance.choice(names))
        else:
            query = [("id", self.chance.choice(names)) for _ in range(self.chance.randint(0, 3))]
            query += [("at", self.chance.choice(places)) for _ in range(self.chance.randint(0, 4))] + self.view()
            path = self.path(kind)
        if self.is_likely(0.4):
            known = self.known.get((unquote(path.split("/")[3]), dict(query).get("view")))
            query.append(("revision", self.followed(known) if known and self.is_likely(0.7) else self.revision()))
        return Request(kind, "GET", path, self.strange(query))

    def items(self):
        paths = [f"{section},{row}" for section in range(4) for row in range(4)] * 3
        return self._looked_up("items", NAMED, paths + ["x", "9,9", "-1,0", "0"])

    def sections(self):
        return self._looked_up("sections", NAMED_SECTIONS, [0, 0, 1, 1, 2, 3, 9, "x"])

    def many(self):
        names = [self.name() for _ in range(self.chance.choice([1, 1, 2, 2, 3]))]
        names = names if self.is_likely(0.03) else list(dict.fromkeys(names))
        query = [("session", name + self.base(name)) for name in names]
        query += self.style() + (self.view(1) if self.is_likely(0.05) else [])
        return Request("changes of many", "GET", "/v1/changes", self.strange(query))

    def base(self, name):
        if (name, None) in self.known and self.is_likely(0.6):
            return f"@{self.followed(self.known[name, None])}"
        return f"@{self.revision()}" if self.is_likely(0.5) else ""

    def post(self):
        """Edits, or from some callers a state."""
        query = self.style() + (self.since() if self.is_likely(0.4) else []) + self.view(0.15) + self.window(0.15)
        if self.is_likely(0.05):
            query.append(("reload", "true"))
        body = text({"edits": self.edits()}) if self.is_likely(self.caller.edits_share) else self.state()
        if self.is_likely(0.03):
            body = self.chance.choice(["", "{", "null", '{"edits":1}', '{"edits":[],"state":[]}', '{"edits":[{"op":"none"}]}'])
        return Request("changes", "POST", self.path("changes"), self.strange(query), self.conditions(), body)

    def state(self):
        made = random_state(self.chance)
        if self.is_likely(0.5):
            made = changed(self.chance, made)
        return text(self.chance.choice([made, {"state": made}, {"state": made, "ttl": 900}, ["a", "b", {"id": "c", "content": 1}]]))

    def edits(self):
        operations = self.caller.operations if self.caller.operations and self.is_likely(0.9) else OPERATIONS
        return [self.edit(self.chance.choice(operations)) for _ in range(self.chance.choice([0, 1, 1, 1, 2, 3]))]

    def edit(self, operation):
        made = {"op": operation}
        if operation == "clear" and self.is_likely(0.3):
            return made
        of_sections = self.is_likely(0.2)
        names = NAMED_SECTIONS if of_sections else NAMED
        chosen = self.chance.sample(names, self.chance.choice([1, 1, 2]))
        if operation == "insert":
            chosen = [{"id": self.fresh() if self.is_likely(0.7) else each, "content": self.chance.choice(CONTENTS)} for each in chosen]
        elif operation == "update":
            chosen = [{"id": each, **self.updated()} for each in chosen]
        made["sections" if of_sections else "items"] = chosen
        if operation in ("insert", "move"):
            made |= self.chance.choice([{}, {"at": "start"}, {"at": "end"}, {"before": self.chance.choice(names)},
                                        {"after": self.chance.choice(names)}, {"before": None},
                                        {"after": [*self.chance.sample(names, 2), None]}, {"before": self.chance.sample(names, 2)},
                                        {"into": {"section": self.chance.choice(SECTIONS)}},
                                        {"into": {"item": self.identity()}, "at": "start"}, {"into": self.identity()}])
        return made

    def updated(self):
        kind = self.chance.random()
        if kind < 0.6:
            return {"content": self.chance.choice([{"title": self.fresh()}, self.chance.choice(SECRETS)])}
        if kind < 0.7:
            return {"patch": {self.chance.choice(["secret", "title"]): self.chance.choice([self.fresh(), None])}}
        if kind < 0.77:
            return {"add": {self.chance.choice(["/secret", "/n", "/fresh"]): 1}}
        if kind < 0.83:
            return {"append": {self.chance.choice(["/secret", "/title", "/fresh"]): self.chance.choice(["", "x"])}}
        return self.chance.choice([{"kind": self.fresh()}, {"expanded": True}, {}, {"content": None}])

    def patch(self):
        kind, names = self.chance.choice([("items", NAMED), ("sections", NAMED_SECTIONS)])
        query = self.style() + self.view(0.2) + self.window(0.2)
        headers = [each for each in self.conditions() if each[0] != "Content-Type"]
        headers.append(("Content-Type", "application/merge-patch+json" if self.is_likely(0.9) else "application/json"))
        body = text(self.chance.choice([{"title": self.fresh()}, {"secret": None}, self.chance.choice(SECRETS)]))
        return Request(kind, "PATCH", self.path(kind, self.chance.choice(names)), self.strange(query), headers, body)

    def write(self):
        kind = self.chance.random()
        if kind < 0.2:
            return Request("session", "DELETE", self.path(), [], self.conditions(0.6))
        headers = self.conditions() + ([("If-None-Match", "*")] if self.is_likely(0.2) else [])
        made = self.chance.choice([{"state": random_state(self.chance)}, {"ttl": 1000}, {}, {"state": ["a"], "keep": ["expanded"]}, []])
        return Request("session", "PUT", self.path(), [], headers, text(made))

    def tokens(self):
        body = {"ttl": 100, "scope": self.chance.choice([["read"], ["edit"], ["read", "edit:move"], ["none"]])}
        if self.is_likely(0.3):
            body["view"] = random_view(self.chance)
        if self.is_likely(0.3):
            body["client_id"] = self.chance.choice(["me", "you", ""])
        if self.is_likely(0.3):
            return Request("tokens", "POST", "/v1/tokens", [], [], text({**body, "sessions": [self.name(), self.name()]}))
        if self.is_likely(0.2):
            return Request("tokens of a session", "DELETE", self.path("tokens"))
        return Request("tokens of a session", "POST", self.path("tokens"), [], [], text(body))

    def fetch(self):
        return Request("fetch", "POST", self.path("fetch"), self.strange(self.since() + self.style()))

    def diff(self):
        old = random_state(self.chance)
        body = text({"old": old, "new": changed(self.chance, old)})
        return Request("diff", "POST", "/v1/diff", self.strange(self.style() + self.view()), [], body)

    def shape(self):
        return Request("shape", "POST", "/v1/shape", [], [], text({"data": {"rows": [{"id": 1, "title": "x"}, {"id": 2}]}}))

    def listing(self):
        values = {"prefix": ["", "team:", "team", "t", "other:", "s", self.sessions[0]],
                  "after": ["", "a", "team:", self.sessions[0], "other:9"], "limit": [1, 2, 100, 0, "x"]}
        query = [(name, self.chance.choice(some)) for name, some in values.items() if self.is_likely(0.5)]
        return Request("sessions", "GET", "/v1/sessions", self.strange(query))

    def page(self):
        path = self.chance.choice(PAGES)
        return Request("unknown path" if path.startswith("/v1") else path, "GET", path)
