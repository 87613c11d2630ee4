"""Redis as Debian has it: servers and sentinels on free ports, each with a directory of its own.

Or Valkey, where there is nothing else, or DIFFSERVER_REDIS=valkey-server says so.
"""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from .ports import free_port

SERVER = os.environ.get("DIFFSERVER_REDIS") or shutil.which("redis-server") or "valkey-server"
IS_INSTALLED = bool(shutil.which(SERVER))
MISSING = "redis-server is not installed"


class Redis:
    """One process of redis-server; it can be killed and started again."""

    def __init__(self, *settings, sentinel=False):
        self.port = free_port()
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="diffserver-redis-"))
        kept = [] if sentinel else ['save ""', "appendonly no", "repl-diskless-sync-delay 0"]
        lines = ["bind 127.0.0.1", f"port {self.port}", f"dir {self.directory}", f"logfile {self.directory}/log", *kept, *settings]
        (self.directory / "redis.conf").write_text("\n".join(lines) + "\n")
        self.arguments = [SERVER, str(self.directory / "redis.conf")] + (["--sentinel"] if sentinel else [])
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                self.say("PING")
                return
            except OSError:
                time.sleep(0.02)
        raise AssertionError((self.directory / "log").read_text())

    def say(self, *words):
        """What it answers to one command, as bytes of the protocol."""
        with socket.create_connection(("127.0.0.1", self.port), 5) as connection:
            parts = [word.encode() if isinstance(word, str) else word for word in words]
            connection.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts))
            return connection.recv(65536)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self):
        if self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)


class Group:
    """A primary, a replica and three sentinels that promote it within about a second."""

    NAME = "shared"

    def __init__(self):
        self.primary = Redis()
        self.replica = Redis(f"replicaof 127.0.0.1 {self.primary.port}")
        self.sentinels = [
            Redis(
                f"sentinel monitor {self.NAME} 127.0.0.1 {self.primary.port} 2",
                f"sentinel down-after-milliseconds {self.NAME} 500", f"sentinel failover-timeout {self.NAME} 1000",
                sentinel=True)
            for _ in range(3)
        ]
        self.wait_for(lambda: b"state=online" in self.primary.say("INFO", "replication"), "the replica is online")
        self.wait_for(lambda: all(self._is_whole(each) for each in self.sentinels), "the sentinels know each other")

    def _is_whole(self, sentinel):
        text = sentinel.say("INFO", "sentinel")
        return b"slaves=1" in text and b"sentinels=3" in text

    @property
    def address(self):
        hosts = ",".join(f"127.0.0.1:{each.port}" for each in self.sentinels)
        return f"redis-sentinel://{hosts}/{self.NAME}"

    def fail_over(self):
        """Kills the primary; the replica becomes it, and the old one comes back as its replica.

        It comes back empty, so not before the sentinels name the new one: until then nodes would take it for the primary.
        """
        old = self.primary
        old.kill()
        port = str(self.replica.port).encode()
        self.wait_for(
            lambda: all(port in each.say("SENTINEL", "get-master-addr-by-name", self.NAME) for each in self.sentinels),
            "the replica is promoted")
        self.primary, self.replica = self.replica, old
        old.start()

    @staticmethod
    def wait_for(holds, what):
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                if holds():
                    return
            except OSError:
                pass
            time.sleep(0.02)
        raise AssertionError(f"never came to be: {what}")

    def close(self):
        for each in [*self.sentinels, self.replica, self.primary]:
            each.close()
