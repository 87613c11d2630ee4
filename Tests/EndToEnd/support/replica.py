"""A client: what it shows, its revision, and the whole rule of CONTRACT §4."""

from .appliers import DIALECTS
from .appliers.rows import members, require, take_change


class Replica:
    """The state of one client of one dialect."""

    def __init__(self, dialect):
        self.dialect = dialect
        self.rules = DIALECTS[dialect]
        self.model = None
        self.content = {}  # of the list itself, under that name, if it has one
        self.revision = None

    def receive(self, changeset, **how):
        """Follows the rule; returns whether the changeset was adopted, known, or must be requested again."""
        if "reset" in changeset:
            require("list" not in changeset, "a reset says twice what the list's content is")
            self.model = self.rules.shown(changeset["state"])
            self.content = content(changeset["state"])
        elif self.revision is not None and changeset["from"] == self.revision:
            self.model = self.rules.applied(self.model, changeset["changes"], **how)
            if self.dialect == "json-patch":
                require("list" not in changeset, "the document says what the list's content is")
                self.content = content(self.model)
            elif "list" in changeset:
                self.content = self.told(changeset["list"])
        elif changeset["to"] == self.revision:
            return "known"
        else:
            return "ask"
        self.revision = changeset["to"]
        return "adopted"

    def told(self, change):
        """The list's own content after an answer."""
        members(change, [], ["content"] if "content" in change else ["patch", "append"])
        change = dict(change)
        take_change(change, self.content)
        return content(change)

    def shows(self, document):
        """Whether it shows what the whole state says."""
        return self.model == self.rules.expected(document) and self.content == content(document)

    def shows_rows(self, shown):
        """Whether it shows these rows in their sections."""
        flat = getattr(self.rules, "flat", None)
        return self.model == (flat(shown) if flat else shown)


def content(state):
    return {name: state[name] for name in ("content",) if name in state}
