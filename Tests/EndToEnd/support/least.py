"""Whether changes are the fewest, in whatever dialect they are written: CONTRACT §5."""

from . import minimum
from .appliers import sequential
from .appliers.rows import Shown
from .jsontext import key

LISTS = ("deleted", "inserted", "moved", "updated")


def check(dialect, changes, old, new):
    """Raises unless the changes between two `Shown` are the fewest, as far as the dialect lists them one by one."""
    least = minimum.counts(old, new)
    found, wanted = RULES[dialect](changes, old, new, least)
    assert found == wanted, f"{dialect}: {found} in place of {wanted}: {changes} from {old} to {new}"


def indexed(changes, old, new, least):
    return {group: tuple(len(changes.get(group, {}).get(name, [])) for name in LISTS) for group in least}, least


def keyed(changes, old, new, least):
    """All except removals: a section takes its rows along."""
    def count(verb, *members):
        return sum(operation["op"] == verb and any(name in operation for name in members) for operation in changes)

    inserted = [row for operation in changes if operation["op"] == "insert"
                for row in operation.get("items", []) + operation.get("section", {}).get("items", [])]
    updated = [row for operation in changes if operation["op"] == "update" for row in operation.get("items", [])]
    sections = tuple(count(verb, "section") for verb in ("remove", "insert", "move", "update"))
    return (sections, len(inserted), count("move", "item"), len(updated)), (least["sections"], *least["items"][1:])


def staged(changes, old, new, least):
    """Rows that go or come with a section do not survive; the others move and are updated as in `indexed`."""
    kept = set(old.order()) & set(new.order())
    before, after = dict(minimum.rows_of(old)), dict(minimum.rows_of(new))
    survivors = {each for each in before.keys() & after.keys() if {before[each][0], after[each][0]} <= kept}
    models = [Shown((head, [row for row in own if row["id"] in survivors]) for head, own in model.sections if head["id"] in kept)
              for model in (old, new)]
    found = {group: [sum(len(stage.get(group, {}).get(name, [])) for stage in changes) for name in LISTS] for group in least}
    return ((found["items"][2:], tuple(found["sections"])), (list(minimum.counts(*models)["items"][2:]), least["sections"]))


def diffable(changes, old, new, least):
    before, after = dict(minimum.rows_of(old)), dict(minimum.rows_of(new))
    wanted = {each for each, (_, row) in after.items() if each not in before or before[each][1] != row}
    return {key(each["id"]) for each in changes["items"]}, wanted


def spliced(changes, old, new, least):
    flat = [[sequential.identity(line) for line in sequential.flat(model)] for model in (old, new)]
    count = {verb: sum(len(each["rows"]) if "rows" in each else 1 for each in changes if each["op"] == verb) for verb in ("insert", "move")}
    removed = sum(int(each["count"].token) for each in changes if each["op"] == "remove")
    return ((removed, count["insert"], count["move"]),
            (len(set(flat[0]) - set(flat[1])), len(set(flat[1]) - set(flat[0])), minimum.moves(*flat)))


RULES = {"indexed": indexed, "keyed": keyed, "staged": staged, "diffable": diffable, "sequential": spliced}
