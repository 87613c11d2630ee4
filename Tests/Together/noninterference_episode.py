"""One caller, for a while, in both worlds: what others write and do meanwhile, and what it is answered."""

import copy
import json

from noninterference_callers import TOKEN_LIFE
from noninterference_requests import KEYS, STRANGE_VIEWS, Script
from noninterference_secrets import EVERYTHING, IGNORED, NOTHING, Secrets
from noninterference_wire import compared, cursors, difference, inflated
from noninterference_worlds import KEEPER, OTHER, TEAM, bearer
from support.client import session_path
from support.jsontext import exact, text
from support.tokens import token
from support.views import random_view


class Diverged(Exception):
    """The worlds are no longer at the same sequence, so nothing further can be compared."""


class Episode:
    """One caller, for a while, in both worlds."""

    def __init__(self, chance, worlds, oracle, findings, make, name, doctor=None, given=None):
        self.chance, self.worlds, self.oracle, self.findings, self.doctor = chance, worlds, oracle, findings, doctor
        self.caller = make(chance, name)
        self.given = given(self.caller) if given else self.caller.given
        self.name = name
        self.names = [self.caller.names for _ in worlds]
        self.revisions = [[], []]
        # Sessions that the caller may not touch.
        self.foreign = [f"other:{name}:{number}" for number in range(3)]
        self.script = Script(chance, self.caller, self.caller.sessions, self.foreign, self.revisions[0])
        self.keys_left = [chance.sample(KEYS, len(KEYS)), [f"yek-{number}" for number in range(len(KEYS))]]
        self.secrets = {}
        # Sessions whose last revision was made by edits that differ between the worlds.
        self.edited = set()
        self.failures = 0

    def run(self, steps=18, requests=8):
        try:
            self.begin()
            for _ in range(steps):
                self.others()
                self.write()
                for _ in range(requests):
                    self.compare(self.script.next())
                    if self.failures >= 3:
                        return
        except Diverged:
            pass
        finally:
            self.end()

    # What the worlds hold

    def begin(self):
        for session in self.caller.sessions:
            secrets = self.secrets[session] = Secrets(self.chance, self.caller.sight)
            self.start(session, secrets)
        if not self.caller.sees_existence:
            self.worlds[self.chance.randint(0, 1)].ask("DELETE", session_path(self.caller.sessions[0]))
        elif isinstance(self.caller.sight, dict) and self.given == self.caller.given:
            for session in self.caller.sessions:
                self.check_sight(session)

    def start(self, session, secrets):
        """A PUT of a state, with the same settings in both worlds."""
        settings = self.ignoring(0.5)
        if self.caller.sight is EVERYTHING and self.chance.random() < 0.2:
            settings["keep"] = ["expanded"]
        self.commit(session, "PUT", (), [{**body, **settings} for body in secrets.puts], secrets.query)

    def ignoring(self, share):
        """Places that are ignored, in what is hidden and in what is not."""
        if self.caller.sight is NOTHING or self.chance.random() >= share:
            return {}
        return {"ignore": self.chance.sample(IGNORED, self.chance.choice([1, 1, 2, 4]))}

    def check_sight(self, session):
        """Checks that the view hides what the model says, and no more."""
        for world, state in zip(self.worlds, self.secrets[session].pair):
            answer = world.ask("GET", session_path(session), given=self.given)
            wanted = exact(self.secrets[session].seen(state))
            found = exact(answer.text).get("state") if answer.status == 200 else answer
            self.findings.count(self.caller.kind, "the model of the view", answer.status)
            if found != wanted:
                self.fail(f"GET of the session through {text(self.caller.sight)}, and the model", str(found), str(wanted))

    def commit(self, session, method, rest, bodies, query=None, headers=({}, {}), given=(KEEPER, KEEPER), may_fail=False):
        """Writes in both worlds, and checks that both are at the same sequence afterwards."""
        answers = [world.ask(method, session_path(session, *rest), body, query, given=key, **more)
                   for world, body, more, key in zip(self.worlds, bodies, headers, given)]
        heads = [self.head(answer) for answer in answers]
        if may_fail and heads == [None, None] and answers[0].status == answers[1].status:
            return
        if None in heads or heads[0].split("-")[0] != heads[1].split("-")[0]:
            self.fail(f"another's {method} of {session} {text(bodies[0])[:300]}", repr(answers[0])[:300], repr(answers[1])[:300])
            raise Diverged
        if self.chance.random() < 0.3:
            for told, head, names in zip(self.revisions, heads, self.names):
                told.append(head)
                names.foreign.add(head)

    @staticmethod
    def head(answer):
        if answer.status not in (200, 201):
            return None
        said = answer.json
        return said.get("to") or said.get("revision")

    def post(self, session, bodies, query=None, **more):
        self.commit(session, "POST", ("changes",), bodies, query, **more)

    def write(self):
        """The writer's next revision, or none."""
        session = self.chance.choice(self.caller.sessions)
        secrets = self.secrets[session]
        deed = self.chance.choice(["change"] * 5 + ["hide"] * 3 + ["mark"] * 2 + ["hidden edit"] * 2
                                  + ["reload", "same", "start over", "again", "key", "settings"])
        if not self.caller.sees_existence:
            return self.write_for_stranger(session)
        if deed in ("mark", "hidden edit"):
            return self.edit(session, secrets, deed)
        if deed == "start over":
            secrets.restart()
            return self.start(session, secrets)
        if deed == "settings":
            body = self.ignoring(0.8) or {"ignore": []}
            return self.commit(session, "PUT", (), [body, body])
        if deed == "again":
            for world in self.worlds:
                world.ask("DELETE", session_path(session))
        # Edits may have made the head equal to the posted state in one world only.
        if deed == "hide" or deed == "same" and (self.caller.sight is NOTHING or session in self.edited):
            secrets.hide()
        elif deed != "same":
            secrets.change()
        self.edited.discard(session)
        # The caller's own writes since are gone.
        headers = [{"Idempotency_Key": keys.pop()} if keys and deed == "key" else {} for keys in self.keys_left]
        query = {"reload": "true"} if deed == "reload" else {}
        self.post(session, secrets.posts, {**query, **secrets.query}, headers=headers)

    def write_for_stranger(self, session):
        """A caller who may see nothing at all may not count commits either."""
        secrets = self.secrets[session]
        secrets.hide()
        for world, body in zip(self.worlds, secrets.puts):
            for _ in range(self.chance.randint(0, 2)):
                if self.chance.random() < 0.3:
                    world.ask("DELETE", session_path(session))
                else:
                    world.ask("PUT", session_path(session), body, secrets.query)

    def edit(self, session, secrets, deed):
        """Edits of what is hidden, different in the two worlds; perhaps with a mark on what is seen.

        Of hidden rows, only those that no view ever shows are marked: a mark on a row seen before and after it is told.
        """
        secrets.hide()
        self.post(session, secrets.posts, secrets.query)
        common = secrets.common_ids()
        marks = [{"op": self.chance.choice(["reload", "reconfigure"]), "items": [self.chance.choice(common)]}] if common else []
        bodies = []
        for world in (0, 1):
            rows, heads = secrets.hidden_ids(world)
            edits = marks[:] if deed == "mark" else []
            if self.caller.sight is not EVERYTHING:
                edits += [{"op": self.chance.choice(["reload", "reconfigure"]), "items": rows[:2]}] if rows else []
                edits += [{"op": "reload", "sections": heads[:1]}] if heads else []
                content = {"secret": self.script.fresh()}
                if rows and secrets.stays_hidden(world, rows[-1], content=content):
                    edits.append({"op": "update", "items": [{"id": rows[-1], "content": content}]})
            bodies.append({"edits": edits})
        if all(body["edits"] for body in bodies):
            self.post(session, bodies)
            self.edited.add(session)

    def others(self):
        """Other callers' deeds: different in each world, except for the number of commits to the caller's sessions."""
        for index, world in enumerate(self.worlds):
            for _ in range(self.chance.choice([0, 0, 1, 2, 3])):
                self.elsewhere(index, world)
        may_edit = self.caller.operations or self.caller.given == TEAM
        if may_edit and self.caller.sees_existence and self.chance.random() < 0.5:
            self.others_edit()

    def elsewhere(self, index, world):
        chance, name = self.chance, self.chance.choice(self.foreign)
        secrets = Secrets(chance, NOTHING)
        own = chance.choice(self.caller.sessions)
        view = {"view": text(random_view(chance) if chance.random() < 0.8 else chance.choice(STRANGE_VIEWS))}
        match chance.choice(["put", "post", "delete", "read", "read own", "read own", "tokens", "revoke", "diff", "tokens of own"]):
            case "put":
                world.ask("PUT", session_path(name), {**secrets.puts[0], "ttl": chance.randint(100, 1000)}, secrets.query)
            case "post":
                world.ask("POST", session_path(name, "changes"), secrets.posts[1], secrets.query, Idempotency_Key=chance.choice(KEYS))
            case "delete":
                world.ask("DELETE", session_path(name))
            case "read":
                world.ask("GET", session_path(name, "changes"), None, view)
            case "read own":
                since = {"since": chance.choice(self.revisions[index])} if self.revisions[index] else {}
                query = {**view, **since, **chance.choice([{}, {"at": chance.choice(["start", "end"]), "after": 2, "before": 1}])}
                world.ask("GET", session_path(own, "changes"), None, query, Accept_Encoding=chance.choice(["gzip", "identity"]))
            case "tokens":
                world.ask("POST", "/v1/tokens", {"scope": ["read"], "sessions": [name, f"{name}x"]})
            case "revoke":
                world.ask("DELETE", session_path(name, "tokens"))
            case "diff":
                world.ask("POST", "/v1/diff", {"old": {"sections": []}, "new": secrets.document(secrets.pair[0])}, {**view, **secrets.query})
            case "tokens of own":
                world.ask("POST", session_path(own, "tokens"), {"scope": ["read", "edit"]})

    def others_edit(self):
        """Another client's edit, the same in both worlds, except that in one its key is the caller's next."""
        session = self.chance.choice(self.caller.sessions)
        givers = [OTHER, token(session, "read edit", TOKEN_LIFE, client_id="you"), token(session, "edit", TOKEN_LIFE, client_id="they")]
        if self.caller.client:
            givers.append(token(session, "edit", TOKEN_LIFE))
        given = self.chance.choice(givers)
        if not all(self.keys_left):
            return
        body = {"edits": [{"op": "insert", "sections": [{"id": self.script.fresh(), "items": [self.script.fresh()]}]}]}
        headers = [{"Idempotency_Key": keys.pop(), "Prefer": "return=minimal"} for keys in self.keys_left]
        # The caller may have deleted the session, or revoked the token.
        self.post(session, [body, body], headers=headers, given=(given, given), may_fail=True)

    # What the caller is told

    def compare(self, request):
        if self.caller.sight is NOTHING and request.method in ("POST", "PATCH") and self.caller.operations and not self.is_fair(request):
            return
        answers = self.answers(request)
        is_measure = request.path == "/metrics"
        parts = [compared(answer, names, is_measure, request.path == "/v1/sessions") for answer, names in zip(answers, self.names)]
        self.findings.count(self.caller.kind, request.endpoint, answers[0].status)
        if parts[0] != parts[1]:
            request = self.smallest(request)
            self.fail(request, *difference(*parts))
        elif not is_measure:
            self.learn(request, answers)

    def answers(self, request):
        octets = [request.octets(bearer(self.given), revisions) for revisions in self.revisions]
        for world, sent in zip(self.worlds, octets):
            world.line.send(sent)
        answers = [world.line.answer(request.method) for world in self.worlds]
        return self.doctor(answers, self.revisions) if self.doctor else answers

    def is_fair(self, request):
        """Whether its edits have the same fate in both worlds, which their sender must learn."""
        if not request.path.startswith(session_path(self.caller.sessions[0]) + "/"):
            return True
        return len({str(self.oracle.outcome(world, self.caller.sessions[0], request)) for world in self.worlds}) == 1

    def learn(self, request, answers):
        """The caller remembers revisions, by both worlds' names."""
        found = [cursors(answer) for answer in answers]
        for pair in dict.fromkeys(zip(*found)):
            if pair not in list(zip(*(told[-4:] for told in self.revisions))):
                for told, each in zip(self.revisions, pair):
                    told.append(each)
        if request.method in ("GET", "POST") and answers[0].status in (200, 201) and "json" in answers[0].headers.get("Content-Type", ""):
            self.learn_base(request, json.loads(inflated(answers[0])))

    def learn_base(self, request, said):
        """Which revision it may ask from, when it repeats a request."""
        to = (said.get("to") or said.get("revision")) if isinstance(said, dict) else None
        if to in self.revisions[0]:
            self.script.remember(request, len(self.revisions[0]) - 1 - self.revisions[0][::-1].index(to))

    def smallest(self, request):
        """The same difference, with as few parameters and headers as possible; only if repeating changes nothing."""
        if request.method not in ("GET", "HEAD") or self.doctor:
            return request
        for other in request.smaller():
            parts = [compared(answer, copy.deepcopy(names)) for answer, names in zip(self.answers(other), self.names)]
            if parts[0] != parts[1]:
                return self.smallest(other)
        return request

    def fail(self, what, one, other):
        self.failures += 1
        self.findings.differ(self.caller.label, what, one, other)

    def end(self):
        for world in self.worlds:
            for session in [*self.caller.sessions, *self.foreign]:
                world.ask("DELETE", session_path(session))
