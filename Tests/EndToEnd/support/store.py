"""Where the sessions of the tests' servers live: DIFFSERVER_STORE is memory (the default), sqlite or redis."""

import atexit
import os
import tempfile
import unittest

from .redis import Redis

KINDS = ("memory", "sqlite", "redis")
KIND = os.environ.get("DIFFSERVER_STORE", "memory")
# Each server has its own database in one Redis.
DATABASES = 4096
_redis = None

memory_only = unittest.skipUnless(KIND == "memory", "what leaves memory is lost only where there is nothing else")
names_its_stores = unittest.skipUnless(KIND == "memory", "it is the same over each store")


def prepare():
    """Starts what all servers share. Call it before a process forks, so that its children find it."""
    global _redis
    if KIND not in KINDS:
        raise ValueError(f"DIFFSERVER_STORE is one of {', '.join(KINDS)}, not {KIND}")
    if KIND == "redis" and _redis is None:
        _redis = Redis(f"databases {DATABASES}")
        atexit.register(_redis.close)


class Store:
    """The place of one server's sessions: a new one, unless its options name it."""

    def __init__(self, options):
        self.directory = None
        self.options = []
        if "--store" not in options:
            self.options = self._options()

    def _options(self):
        prepare()
        if KIND == "sqlite":
            self.directory = tempfile.TemporaryDirectory(prefix="diffserver-sqlite-")
            return ["--store", f"sqlite:{self.directory.name}/sessions.db"]
        if KIND == "redis":
            number = int(_redis.say("INCR", "databases").strip(b":\r\n"))
            return ["--store", f"redis://127.0.0.1:{_redis.port}/{number}"]
        return []

    def close(self):
        if self.directory:
            self.directory.cleanup()
