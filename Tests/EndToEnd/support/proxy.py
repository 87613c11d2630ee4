"""A proxy on TCP that mistreats its traffic as networks do at their worst."""

import random
import socket
import threading

from .clock import pause, pause_at_random
from .ports import free_port


class Proxy:
    """Passes everything on until it is told what to do wrong: `faults` are functions of (chance, bytes, towards the server) that
    return what is passed on, or None to cut the connection."""

    def __init__(self, port, seed):
        self.server_port, self.port = port, free_port()
        self.faults, self.count = [], 0
        # How many bytes of answers still come through; the rest is swallowed.
        self.left = None
        # Clear it to hold back what Redis says to subscribers.
        self.hints = threading.Event()
        self.hints.set()
        self.is_severed, self.sockets = False, set()
        self.chance = random.Random(seed)
        self.listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.server_port), 5)
            except OSError:
                client.close()
                continue
            if self.is_severed:
                client.close()
                server.close()
                continue
            self.sockets |= {client, server}
            muted, subscribes = threading.Event(), threading.Event()
            for source, target, is_request in ((client, server, True), (server, client, False)):
                source.settimeout(None)
                threading.Thread(target=self._pass, args=(source, target, is_request, muted, subscribes), daemon=True).start()

    def _pass(self, source, target, is_request, muted, subscribes):
        try:
            while True:
                data = source.recv(65536)
                if is_request and b"SUBSCRIBE" in data:
                    subscribes.set()
                elif not is_request and subscribes.is_set():
                    self.hints.wait()
                if data and self.faults and self.chance.random() < 0.1:
                    self.count += 1
                    fault = self.chance.choice(self.faults)
                    data = fault(self.chance, data, is_request)
                    if data and fault is double and is_request:
                        muted.set()
                        target.sendall(data)
                        pause(0.02, "the commands are executed before the connection is lost")
                        break
                if data and not is_request and self.left is not None:
                    data, self.left = data[:self.left], max(0, self.left - len(data))
                    if not data:
                        continue
                if not data or (muted.is_set() and not is_request):
                    break
                target.sendall(data)
        except OSError:
            pass
        for each in (source, target):
            _shut(each)
        self.sockets -= {source, target}

    def sever(self):
        """Ends all connections, and each new one, until `mend`."""
        self.is_severed = True
        for each in list(self.sockets):
            _shut(each)

    def mend(self):
        self.is_severed = False

    def close(self):
        self.listener.close()


def _shut(end):
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


def cut(chance, data, is_request):
    """Nothing more, in either direction."""
    return None


def flip(chance, data, is_request):
    """Flips a bit of a record, not of shorter answers: these say what was done, and nothing could tell a wrong one."""
    if is_request or len(data) < 400:
        return data
    place = chance.randrange(100, len(data))
    return data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1:]


def double(chance, data, is_request):
    """Commands that are executed twice, because a middlebox sends them again; then the connection is lost, since nobody could tell
    the two answers apart."""
    return data + data if is_request else data


def delay(chance, data, is_request):
    pause_at_random(chance, 0.1)
    return data
