"""The effect of a patch and an addition on a content, values as `jsontext.exact` reads them."""

import decimal
import re

from support.appliers.rows import merged
from support.jsontext import Number

NOTHING = object()
MOST_DIGITS = 18
EXACT = decimal.Context(prec=1_000)


class Unfit(Exception):
    """It cannot be added there: `not-a-number` or `limit-exceeded`."""


def intended(content, intents):
    """The content, NOTHING for none, after the members `patch` and `add` of an update."""
    if "patch" in intents:
        content = merged(content, intents["patch"])
    for pointer, amount in intents.get("add", {}).items():
        content = added(content, [name.replace("~1", "/").replace("~0", "~") for name in pointer.split("/")[1:]], amount)
    return content


def added(value, names, amount):
    if not names:
        if not isinstance(value, Number) and value is not NOTHING:
            raise Unfit("not-a-number")
        one, other = (decimal.Decimal(getattr(each, "token", "0")) for each in (value, amount))
        return Number(plain([one, other, EXACT.add(one, other)])[-1])
    name, *rest = names
    if value is NOTHING or isinstance(value, dict):
        own = {} if value is NOTHING else value
        return {**own, name: added(own.get(name, NOTHING), rest, amount)}
    if isinstance(value, list) and re.fullmatch("0|[1-9][0-9]*", name) and int(name) < len(value):
        return [added(each, rest, amount) if index == int(name) else each for index, each in enumerate(value)]
    raise Unfit("not-a-number")


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
