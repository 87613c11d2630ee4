"""staged: at most five batches, each safe for performBatchUpdates by the rules of DIFF.md §4."""

from . import batch
from .rows import Misfit, members, plain, require, shown, visible

__all__ = ["shown", "applied", "expected"]

expected = visible

ORDER = ["updates", "deletes", "sections", "items", "headers"]


def applied(before, changes, compact=False):
    require(len(changes) <= 5, "more than five stages")
    names = [stage["name"] for stage in changes]
    places = [ORDER.index(name) for name in names]
    require(places == sorted(set(places)), "stages out of order:", names)
    model = before
    for stage in changes:
        members(stage, ["name", "counts"], ["sections", "items"])
        require(not batch.is_empty(stage), "an empty stage:", stage)
        safe(stage, compact)
        model = batch.applied(model, {name: stage[name] for name in ("sections", "items") if name in stage},
                              whole_sections=True)
        counts = [plain(count) for count in stage["counts"]]
        require(counts == [len(rows) for _, rows in model.sections], "counts after", stage["name"], counts)
    return model.check()


def safe(stage, compact):
    """Which operations may meet in one batch."""
    sections, items = stage.get("sections", {}), stage.get("items", {})
    match stage["name"]:
        case "updates":
            require(not sections and set(items) == {"updated"}, "only row updates:", stage)
        case "deletes":
            require(set(sections) <= {"deleted"} and set(items) <= {"deleted"}, "only deletions:", stage)
        case "sections":
            allowed = {"inserted", "moved"} | ({"deleted"} if compact else set())
            require(not items and set(sections) <= allowed, "only sections:", stage)
            require(not {"deleted", "moved"} <= set(sections), "deletions with moves of sections:", stage)
        case "items":
            allowed = {"inserted", "moved"} | ({"deleted"} if compact else set())
            require(not sections and set(items) <= allowed, "only rows:", stage)
        case "headers":
            require(not items and set(sections) == {"updated"}, "only section updates:", stage)
        case other:
            raise Misfit(f"no stage has the name {other}")
