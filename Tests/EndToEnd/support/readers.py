"""Readers on separate threads that follow a session until they show its last state."""

import random
import threading

from .client import Client, target
from .events import Stream
from .replica import Replica


class Reader(threading.Thread):
    """Reads by `steps` until it shows `final`; `problem` says what stopped it before that."""

    def __init__(self, server, path, dialect, final, seed=0):
        super().__init__(daemon=True)
        self.server, self.path, self.final = server, path, final
        self.replica = Replica(dialect)
        self.chance = random.Random(seed)
        self.problem = None

    @property
    def is_done(self):
        return self.replica.model is not None and self.replica.shows(self.final)

    def run(self):
        try:
            while not self.is_done:
                self.step()
        except Exception as problem:  # told in the test's own thread
            self.problem = f"{self.replica.dialect} at {self.replica.revision}: {problem!r}"

    def receive(self, changeset):
        verdict = self.replica.receive(changeset)
        if verdict == "ask":
            raise AssertionError(f"it does not fit: {changeset}")


class BreakingReader(Reader):
    """Opens event streams, leaves each after some events, and resumes by Last-Event-ID."""

    def step(self):
        headers = {"Last-Event-ID": self.replica.revision} if self.replica.revision else {}
        stream = Stream(self.server, self.path, {"dialect": self.replica.dialect}, headers)
        try:
            for _ in range(self.chance.randint(1, 8)):
                self.receive(stream.next_event(20).changeset)
                if self.is_done:
                    return
        finally:
            stream.close()


class PollingReader(Reader):
    """Holds polls."""

    def step(self):
        since = {"since": self.replica.revision} if self.replica.revision else {}
        client = Client(self.server, 30)
        query = {"dialect": self.replica.dialect, "wait": 1, **since}
        self.receive(client.request("GET", target(self.path, query)).exact)
        client.close()


def problems(readers):
    """Waits for all of them; returns what stopped any."""
    for each in readers:
        each.join(30)
    found = [each.problem for each in readers if each.problem]
    return found + [f"{each.replica.dialect} never ended" for each in readers if each.is_alive()]
