"""States shown by clients, compared with each other."""

import copy
import threading


class Seen:
    """What was shown at each revision, by anybody."""

    def __init__(self):
        self.lock = threading.Lock()
        self.shown = {}

    def check(self, replica):
        """The sequence does not matter: equal digests mean equal states."""
        key = (replica.dialect, replica.revision.split("-")[1])
        with self.lock:
            known = self.shown.get(key)
            if known is None:
                self.shown[key] = copy.deepcopy(replica.model)
                return
        found = replica.model
        assert known == found, f"two states at {replica.revision} ({replica.dialect}): {known} and {found}"
