"""A server that keeps its port over restarts, as one node of several."""

from .ports import free_port
from .server import Server


class Node:
    """A node on its own port."""

    def __init__(self, *options, variables=None):
        self.options, self.variables, self.host, self.port = options, variables, "127.0.0.1", free_port()
        self.start()

    def start(self):
        self.server = Server(*self.options, listen=f"127.0.0.1:{self.port}", variables=self.variables)

    def kill(self):
        self.server.process.kill()
        self.server.ended()

    def stop(self):
        if self.server.process.poll() is None and self.server.stop() != 0:
            raise AssertionError("a node did not end well:\n" + "\n".join(self.server.lines[-20:]))
