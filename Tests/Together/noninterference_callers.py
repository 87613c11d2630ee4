"""Callers of every kind: their credentials, and what they may see of their sessions."""

from dataclasses import dataclass, field

from noninterference_requests import OPERATIONS
from noninterference_secrets import EVERYTHING, NOTHING, random_sight
from noninterference_wire import Names
from noninterference_worlds import TEAM
from support.jsontext import text
from support.tokens import token

SCOPED = [f"edit:{operation}" for operation in OPERATIONS]


@dataclass
class Caller:
    """A caller, and what it may see of its sessions."""

    kind: str
    given: str | None
    sessions: list
    sight: object
    operations: list = field(default_factory=list)
    client: str | None = None
    edits_share: float = 0.95
    weights: dict = field(default_factory=dict)
    # Whether it may not even learn that a session exists.
    sees_existence: bool = True

    @property
    def label(self):
        return self.kind + (f" {text(self.sight)}" if isinstance(self.sight, dict) else "")

    @property
    def names(self):
        return Names({EVERYTHING: "exact", NOTHING: "whole"}[self.sight] if isinstance(self.sight, str) else "hash")


MOSTLY_READS = dict.fromkeys(("post", "patch", "write", "tokens", "diff", "shape", "listing", "fetch", "page"), 0.4)
MOSTLY_EDITS = {"post": 8, "patch": 2}
ONLY_EDITS = {**MOSTLY_READS, **MOSTLY_EDITS, "session": 0.4, "changes": 0.4, "items": 0.4, "sections": 0.4, "many": 0.4}
TOKEN_LIFE = 3600


def reader(chance, name):
    return Caller("read", token(name, "read", TOKEN_LIFE), [name], EVERYTHING, weights=MOSTLY_READS)


def view_reader(chance, name):
    sight = random_sight(chance)
    return Caller("read, view", token(name, "read", TOKEN_LIFE, view=sight), [name], sight, weights=MOSTLY_READS)


def several(chance, name):
    names = [f"{name}:{number}" for number in range(3)]
    return Caller("read, several sessions", token(None, "read", TOKEN_LIFE, sessions=names), names, EVERYTHING,
                  weights={**MOSTLY_READS, "many": 4})


def several_viewed(chance, name):
    names, sight = [f"{name}:{number}" for number in range(2)], random_sight(chance)
    return Caller("read, several sessions, view", token(None, "read", TOKEN_LIFE, sessions=names, view=sight), names, sight,
                  weights={**MOSTLY_READS, "many": 4})


def editor(chance, name):
    client = chance.choice([None, "me"])
    return Caller("edit", token(name, "edit", TOKEN_LIFE, client_id=client), [name], NOTHING, OPERATIONS, client, weights=ONLY_EDITS)


def scoped_editor(chance, name, scope=None):
    scope = scope or chance.choice(SCOPED)
    client = chance.choice([None, "me"])
    return Caller(scope, token(name, scope, TOKEN_LIFE, client_id=client), [name], NOTHING, [scope[5:]], client, weights=ONLY_EDITS)


def read_editor(chance, name):
    return Caller("read edit", token(name, "read edit", TOKEN_LIFE), [name], EVERYTHING, OPERATIONS, weights=MOSTLY_EDITS)


def client_editor(chance, name):
    return Caller("read edit, client_id", token(name, "read edit", TOKEN_LIFE, client_id="me"), [name], EVERYTHING, OPERATIONS, "me",
                  weights=MOSTLY_EDITS)


def key_holder(chance, name):
    names = [f"team:{name}", f"team:{name}:2"]
    return Caller("key of a prefix", TEAM, names, EVERYTHING, edits_share=0.5, weights={"post": 3, "write": 1.5, "listing": 4, "tokens": 2})


def stranger(chance, name):
    kind, given = chance.choice([
        ("no token", None), ("forged token", token(name, "read", TOKEN_LIFE, secret="another secret of thirty-two bytes or more")),
        ("forged token", token(name, "read", TOKEN_LIFE, header={"alg": "none"})), ("forged token", "not a token"),
        ("expired token", token(name, "read edit", -5)), ("token not yet good", token(name, "read edit", 99, nbf=4102444800)),
        ("token of another session", token(f"{name}:none", "read edit", TOKEN_LIFE)),
        ("token of a view and edits", token(name, "read edit", TOKEN_LIFE, view={})),
        ("token without a scope", token(name, "", TOKEN_LIFE))])
    return Caller(kind, given, [name], NOTHING, weights={"listing": 2}, sees_existence=False)


CALLERS = [reader, view_reader, view_reader, view_reader, several, several_viewed, editor, editor, scoped_editor, scoped_editor,
           scoped_editor, read_editor, client_editor, key_holder, stranger]
