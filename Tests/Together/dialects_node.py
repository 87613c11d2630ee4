"""The server, which may be restarted over its store."""

from support.server import Server
from support.store import KIND, Store
from support.tokens import SECRET

OPTIONS = ["--digest-key", "the key of the tests of dialects", "--history-revisions", "8", "--history-bytes", "64MiB",
           "--token-secret", SECRET]


class Node:
    """The server as clients see it, whichever process it is."""

    def __init__(self):
        self.store = Store(())
        self.options = [*OPTIONS, *self.store.options]
        self.server = Server(*self.options)
        self.starts = 0

    @property
    def host(self):
        return self.server.host

    @property
    def port(self):
        return self.server.port

    @property
    def forgets(self):
        """Whether sessions end with the process."""
        return KIND == "memory"

    def restart(self):
        self.server.stop()
        self.server = Server(*self.options)
        self.starts += 1

    def stop(self):
        try:
            return self.server.stop()
        finally:
            self.store.close()
