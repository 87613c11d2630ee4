"""One applier a dialect, each as strict as the strictest client: what it cannot apply exactly is a failure.

`shown(state)` is what a client of the dialect holds after a reset, `applied(shown, changes)` what it holds after a
changeset. Written from the contract; nothing is shared with the server.
"""

from . import counts, diffable, document, indexed, keyed, sequential, staged

DIALECTS = {
    "keyed": keyed,
    "indexed": indexed,
    "staged": staged,
    "diffable": diffable,
    "sequential": sequential,
    "json-patch": document,
}

# Dialects that lead nowhere: `expected(before, after)` is what they must say.
NOT_ADOPTED = {
    "counts": counts,
}
