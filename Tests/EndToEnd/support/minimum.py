"""The most operations that a changeset may have, computed without the server: CONTRACT §5."""

from bisect import bisect_left


def longest_increasing(values):
    """The length of the longest strictly increasing subsequence."""
    tails = []
    for value in values:
        at = bisect_left(tails, value)
        tails[at:at + 1] = [value]
    return len(tails)


def moves(old, new):
    """The fewest moves from one order to another, over common members."""
    place = {each: index for index, each in enumerate(old)}
    common = [place[each] for each in new if each in place]
    return len(common) - longest_increasing(common)


def counts(old, new):
    """Deletions, insertions, moves, updates of sections and of rows, from one `Shown` to another."""
    before, after = dict(rows_of(old)), dict(rows_of(new))
    kept = [name for name in new.order() if name in old.order()]
    across = [each for each in before.keys() & after.keys() if before[each][0] != after[each][0]]
    within = sum(moves(ids(old, name), [each for each in ids(new, name) if each not in across]) for name in kept)
    heads = [{head["id"]: head for head, _ in model.sections} for model in (old, new)]
    return {
        "sections": (len(set(old.order()) - set(new.order())), len(set(new.order()) - set(old.order())),
                     moves(old.order(), new.order()), sum(heads[0][name] != heads[1][name] for name in kept)),
        "items": (len(before.keys() - after.keys()), len(after.keys() - before.keys()), len(across) + within,
                  sum(before[each][1] != after[each][1] for each in before.keys() & after.keys())),
    }


def rows_of(model):
    for head, rows in model.sections:
        for line in rows:
            yield line["id"], (head["id"], line)


def ids(model, section):
    for head, rows in model.sections:
        if head["id"] == section:
            return [line["id"] for line in rows]
    return []


def most_in_place(old, new):
    """Among the longest increasing subsequences, the most members whose index is the same in both lists."""
    place = {each: index for index, each in enumerate(old)}
    best = []
    for index, each in enumerate(new):
        if each not in place:
            continue
        length, fixed = 0, 0
        for value, (so_far, still) in best:
            if value < place[each]:
                length, fixed = max((length, fixed), (so_far, still))
        best.append((place[each], (length + 1, fixed + (place[each] == index))))
    return max((score for _, score in best), default=(0, 0))
