"""Which settings meet: what may be in force together, what the contract forbids, and the table of counts."""

import itertools
import random

from drawing import WITHOUT

SETTINGS = ["ignore", "keep", "public", "shape", "sections", "map", "rest", "duplicates", "missing", "invalid", "children", "kind", "parts",
            "expandedAt", "groups", "scope", "match"]
WRITES = ["state", "edits", "marks", "reload", "put", "source", "sources", "hook", "history-short", "history-off"]
READERS = ["token", "view", "window"]
DIALECTS = ["keyed", "indexed", "staged", "diffable", "sequential", "counts", "json-patch"]
FORMS = ["bare", "compact", "accept", "patch", "delta", "smallest", "maxChanges", "gzip"]
WAYS = ["plain", "post", "held", "stream", "many", "many-stream", "lookup", "whole"]
FEATURES = SETTINGS + WRITES + READERS + DIALECTS + FORMS + WAYS

# Settings that cannot even be requested together: one answer has one way and one dialect.
APART = {frozenset(pair) for group in (DIALECTS, WAYS) for pair in itertools.combinations(group, 2)}
APART |= {frozenset(("compact", each)) for each in DIALECTS if each != "staged"}
APART |= {frozenset(("bare", each)) for each in DIALECTS + ["compact"] if each != "json-patch"}
APART |= {frozenset(("match", each)) for each in ("map", "children", "parts", "scope", "duplicates", "invalid")}
# Sections with sources of their own: native documents, and no state of anybody else.
APART |= {frozenset(("sources", each)) for each in [*SETTINGS[3:], "state", "put"]}
APART |= {frozenset((one, other)) for one in ("lookup", "whole") for other in ("reload", "compact", "accept", "bare", "marks")}
APART |= {frozenset((way, each)) for way in ("stream", "many-stream") for each in ("accept", "bare")}
APART |= {frozenset(pair) for pair in (("marks", "json-patch"), ("marks", "bare"), ("history-short", "history-off"), ("patch", "delta"))}

# Settings that the contract refuses.
FORBIDDEN = {frozenset(pair) for pair in (
    ("window", "json-patch"), ("window", "bare"), ("window", "counts"), ("window", "many"), ("window", "many-stream"), ("window", "lookup"),
    ("window", "whole"), ("held", "counts"), ("many", "bare"), ("put", "source"), ("state", "source"),
    *(("lookup", each) for each in DIALECTS + ["patch", "delta", "smallest", "maxChanges"]),
    *(("whole", each) for each in DIALECTS + ["patch", "delta", "smallest", "maxChanges"]))}


def is_allowed(one, other):
    return frozenset((one, other)) not in APART | FORBIDDEN


PAIRS = [pair for pair in itertools.combinations(FEATURES, 2) if is_allowed(*pair)]


def count(met, features):
    """Counts each pair of settings in force for one answer."""
    for pair in itertools.combinations([each for each in FEATURES if each in features], 2):
        met[pair] += 1


def scarce(met, seed):
    """The settings for a session: two of the rarest pairs that go together."""
    chance = random.Random(seed)
    rarest = sorted([pair for pair in PAIRS if not WITHOUT & set(pair)], key=lambda pair: (met[pair], chance.random()))[:40]
    wanted = set(chance.choice(rarest))
    chance.shuffle(rarest)
    for pair in rarest:
        if all(one == other or is_allowed(one, other) for one in wanted for other in pair):
            return sorted(wanted | set(pair))
    return sorted(wanted)


def shown(met, refused):
    """The table, and the pairs that met too seldom."""
    names = [f"{index + 1:2} {name}" for index, name in enumerate(FEATURES)]
    width = max(map(len, names))
    lines = [" " * width + "".join(f"{index + 1:6}" for index in range(len(FEATURES) - 1))]
    for row, name in enumerate(FEATURES):
        cells = []
        for column in FEATURES[:row]:
            pair = frozenset((name, column))
            number = met[column, name]
            cells.append(f"-{refused[pair]}" if pair in FORBIDDEN else "" if pair in APART else str(number))
        lines.append(f"{names[row]:{width}}" + "".join(f"{cell:>6}" for cell in cells))
    return "\n".join(lines)


def rare(met, enough):
    return [(pair, met[pair]) for pair in PAIRS if met[pair] < enough and not WITHOUT & set(pair)]
