"""A server that keeps its port over restarts, as one node of several."""

import socket

from .server import Server


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Node:
    """A node on a port of its own."""

    def __init__(self, *options):
        self.options, self.host, self.port = options, "127.0.0.1", free_port()
        self.start()

    def start(self):
        self.server = Server(*self.options, listen=f"127.0.0.1:{self.port}")

    def kill(self):
        self.server.process.kill()
        self.server.ended()

    def stop(self):
        if self.server.process.poll() is None and self.server.stop() != 0:
            raise AssertionError("a node did not end well:\n" + "\n".join(self.server.lines[-20:]))
