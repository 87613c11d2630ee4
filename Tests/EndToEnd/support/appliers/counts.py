"""counts: how much changed, in numbers. Nobody adopts it: a reader keeps a base, and is told how far the head is."""

from .. import minimum
from . import rows

NAMES = ["deleted", "inserted", "moved", "updated"]


def expected(before, after):
    """The counts between two documents: the fewest operations of each sort, without zeros."""
    counts = minimum.counts(rows.visible(before), rows.visible(after))
    groups = {group: {name: number for name, number in zip(NAMES, counts[group]) if number}
              for group in ("sections", "items")}
    return {group: numbers for group, numbers in groups.items() if numbers}


def rows_of(document):
    """What a reset says instead of the state."""
    return sum(len(own) for _, own in rows.visible(document).sections)
