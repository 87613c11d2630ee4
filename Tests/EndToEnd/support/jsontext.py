"""JSON read strictly: number tokens as text, no duplicate members, equality as the contract means it."""

import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Number:
    """A number token; 1.0 and 1 differ."""

    token: str

    def __repr__(self):
        return self.token


def _members(pairs):
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise ValueError(f"a member is there twice among {names}")
    return dict(pairs)


def _no_constant(name):
    raise ValueError(f"{name} is not JSON")


def exact(text):
    """The value of a text, each number as its token."""
    return json.loads(text, object_pairs_hook=_members, parse_int=Number, parse_float=Number,
                      parse_constant=_no_constant)


def value(text):
    """The value of a text, as Python has it."""
    return json.loads(text, object_pairs_hook=_members, parse_constant=_no_constant)


def text(document):
    """A value as JSON; a Number as its token."""
    if isinstance(document, Number):
        return document.token
    if isinstance(document, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{text(each)}" for name, each in document.items()) + "}"
    if isinstance(document, (list, tuple)):
        return "[" + ",".join(text(each) for each in document) + "]"
    return json.dumps(document, ensure_ascii=False)


def key(identity):
    """What ids are compared by: their text, 1 like "1"."""
    if isinstance(identity, Number):
        return identity.token
    if isinstance(identity, bool) or not isinstance(identity, (str, int)):
        raise ValueError(f"{identity!r} is no id")
    return str(identity)
