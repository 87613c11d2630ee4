"""The effect of intents on a content, values as `jsontext.exact` reads them."""

import decimal
import re

from support.appliers.rows import merged
from support.jsontext import Number

NOTHING = object()
MOST_DIGITS = 18
EXACT = decimal.Context(prec=1_000)


class Unfit(Exception):
    """It cannot be added there: `not-a-number`, `not-a-string` or `limit-exceeded`."""


def intended(content, intents):
    """The content, NOTHING for none, after the members `patch`, `add` and `append` of an update."""
    if "patch" in intents:
        content = merged(content, intents["patch"])
    for pointer, amount in intents.get("add", {}).items():
        content = reached(content, pointer, "not-a-number", lambda value: summed(value, amount))
    for pointer, rest in intents.get("append", {}).items():
        content = reached(content, pointer, "not-a-string", lambda value: lengthened(value, rest))
    return content


def summed(value, amount):
    if not isinstance(value, Number) and value is not NOTHING:
        raise Unfit("not-a-number")
    one, other = (decimal.Decimal(getattr(each, "token", "0")) for each in (value, amount))
    return Number(plain([one, other, EXACT.add(one, other)])[-1])


def lengthened(value, rest):
    if not isinstance(value, str) and value is not NOTHING:
        raise Unfit("not-a-string")
    return rest if value is NOTHING else value + rest


def reached(content, pointer, code, change):
    """The content with the value at a pointer changed."""
    def below(value, names):
        if not names:
            return change(value)
        name, *rest = names
        if value is NOTHING or isinstance(value, dict):
            own = {} if value is NOTHING else value
            return {**own, name: below(own.get(name, NOTHING), rest)}
        if isinstance(value, list) and re.fullmatch("0|[1-9][0-9]*", name) and int(name) < len(value):
            return [below(each, rest) if index == int(name) else each for index, each in enumerate(value)]
        raise Unfit(code)
    return below(content, [name.replace("~1", "/").replace("~0", "~") for name in pointer.split("/")[1:]])


def plain(numbers):
    """Each without an exponent and insignificant zeros."""
    texts = []
    for each in numbers:
        text = format(each.copy_abs(), "f")
        text = text.rstrip("0").rstrip(".") if "." in text else text
        if len(text.replace(".", "").lstrip("0") if not text.startswith("0.") else text[2:]) > MOST_DIGITS:
            raise Unfit("limit-exceeded")
        texts.append("-" + text if each < 0 else text)
    return texts
