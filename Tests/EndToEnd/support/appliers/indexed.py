"""indexed: the whole change as one batch; all rows are listed, including those of deleted and inserted sections."""

from . import batch
from .rows import members, require, shown, visible

__all__ = ["shown", "applied", "expected"]

expected = visible


def applied(before, changes):
    members(changes, [], ["sections", "items"])
    for group in changes.values():
        require(group, "an empty group is written")
        for each in group.get("updated", []):
            require("from" in each and "at" in each, "updated carries both from and at:", each)
    return batch.applied(before, changes, whole_sections=False).check()
