"""A client: what it shows, its revision, and the whole rule of CONTRACT §4."""

from .appliers import DIALECTS


class Replica:
    """What one client of one dialect holds."""

    def __init__(self, dialect):
        self.dialect = dialect
        self.rules = DIALECTS[dialect]
        self.model = None
        self.revision = None

    def receive(self, changeset, **how):
        """Follows the rule; says whether the changeset was adopted, known, or is to be asked for again."""
        if "reset" in changeset:
            self.model = self.rules.shown(changeset["state"])
        elif self.revision is not None and changeset["from"] == self.revision:
            self.model = self.rules.applied(self.model, changeset["changes"], **how)
        elif changeset["to"] == self.revision:
            return "known"
        else:
            return "ask"
        self.revision = changeset["to"]
        return "adopted"

    def shows(self, document):
        """Whether it shows what the whole state says."""
        return self.model == self.rules.expected(document)
