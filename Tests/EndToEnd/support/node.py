"""A server that is killed and started again at the same port, over the same store."""

from .redis import free_port
from .server import Server


class Node:
    """Its options name the store."""

    def __init__(self, store, *options):
        self.host, self.port = "127.0.0.1", free_port()
        self.options = ("--store", store, *options)
        self.start()

    def start(self):
        self.server = Server(*self.options, listen=f"{self.host}:{self.port}")

    def kill(self):
        self.server.process.kill()
        self.server.ended()

    def stop(self):
        if self.server.process.poll() is None and self.server.stop() != 0:
            raise AssertionError("a node did not end well:\n" + "\n".join(self.server.lines[-20:]))
