"""Redis as Debian has it: servers and sentinels on free ports, each with its own directory.

Uses Valkey if there is no Redis, or if DIFFSERVER_REDIS=valkey-server asks for it.
"""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile

from .clock import wait_for
from .ports import free_port

SERVER = os.environ.get("DIFFSERVER_REDIS") or shutil.which("redis-server") or "valkey-server"
IS_INSTALLED = bool(shutil.which(SERVER))
MISSING = "redis-server is not installed"


class Redis:
    """One process of redis-server; it can be killed and started again."""

    def __init__(self, *settings, sentinel=False, under=()):
        self.port = free_port()
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="diffserver-redis-"))
        kept = [] if sentinel else ['save ""', "appendonly no", "repl-diskless-sync-delay 0"]
        lines = ["bind 127.0.0.1", f"port {self.port}", f"dir {self.directory}", f"logfile {self.directory}/log", *kept, *settings]
        (self.directory / "redis.conf").write_text("\n".join(lines) + "\n")
        self.arguments = [*under, SERVER, str(self.directory / "redis.conf")] + (["--sentinel"] if sentinel else [])
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: self.say("PING"), (self.directory / "log").read_text, 10)

    def say(self, *words):
        """Its answer to one command, as bytes of the protocol."""
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
        wait_for(lambda: b"state=online" in self.primary.say("INFO", "replication"), "the replica is online")
        wait_for(lambda: all(self._is_whole(each) for each in self.sentinels), "the sentinels know each other")

    def _is_whole(self, sentinel):
        text = sentinel.say("INFO", "sentinel")
        return b"slaves=1" in text and b"sentinels=3" in text

    @property
    def address(self):
        hosts = ",".join(f"127.0.0.1:{each.port}" for each in self.sentinels)
        return f"redis-sentinel://{hosts}/{self.NAME}"

    def fail_over(self):
        """Kills the primary; the replica takes its place, and the old one comes back as its replica.

        It comes back empty, so only after the sentinels name the new primary: until then nodes would take it for the primary.
        """
        old = self.primary
        old.kill()
        port = str(self.replica.port).encode()
        wait_for(
            lambda: all(port in each.say("SENTINEL", "get-master-addr-by-name", self.NAME) for each in self.sentinels),
            "the replica is promoted")
        self.primary, self.replica = self.replica, old
        old.start()

    def close(self):
        for each in [*self.sentinels, self.replica, self.primary]:
            each.close()


class Shards:
    """A Redis Cluster of three primaries with a replica each, promoted within about two seconds; or other numbers."""

    def __init__(self, primaries=3, replicas=3, under=lambda number: ()):
        self.nodes = [self._node(under(number)) for number in range(primaries + replicas)]
        primaries, replicas = self.nodes[:primaries], self.nodes[primaries:]
        for number, node in enumerate(primaries):
            first, end = (each * 16384 // len(primaries) for each in (number, number + 1))
            self.ordered(node, "ADDSLOTSRANGE", str(first), str(end - 1))
        for number, node in enumerate(self.nodes):
            self.ordered(node, "SET-CONFIG-EPOCH", str(number + 1))
        self._meet(*self.nodes[1:])
        for primary, replica in zip(primaries, replicas):
            self.ordered(replica, "REPLICATE", primary.name)
        wait_for(lambda: all(b"master_link_status:up" in each.say("INFO", "replication") for each in replicas), "replicas follow")
        wait_for(lambda: all(self._is_whole(each, len(replicas)) for each in self.nodes), "all nodes know all")

    @staticmethod
    def _node(under=()):
        bus = free_port()
        node = Redis("cluster-enabled yes", "cluster-config-file nodes.conf", f"cluster-port {bus}", "cluster-node-timeout 800",
                     "cluster-replica-validity-factor 0", under=under)
        node.bus, node.name = bus, node.say("CLUSTER", "MYID").split(b"\r\n")[1]
        return node

    def _meet(self, *strangers):
        first = self.nodes[0]
        for node in strangers:
            self.ordered(node, "MEET", "127.0.0.1", str(first.port), str(first.bus))
        wait_for(
            lambda: all(other.name in each.say("CLUSTER", "NODES") for each in self.nodes for other in self.nodes),
            "the nodes know each other")

    @staticmethod
    def _is_whole(node, replicas):
        nodes = node.say("CLUSTER", "NODES")
        return b"cluster_state:ok" in node.say("CLUSTER", "INFO") and nodes.count(b"slave ") == replicas

    @staticmethod
    def ordered(node, *words):
        answer = node.say("CLUSTER", *words)
        assert answer == b"+OK\r\n", (words, answer)

    @property
    def address(self):
        return "redis-cluster://" + ",".join(f"127.0.0.1:{each.port}" for each in self.nodes[:3])

    def owner(self, session):
        """The primary that has the session; the slot may have no owner for a moment."""
        key, found = f"diffserver:{{{session}}}", []

        def is_found():
            for node in self.nodes:
                if node.process.poll() is None and b"master" in node.say("ROLE") and not node.say("TTL", key).startswith(b"-"):
                    found.append(node)
            return found
        wait_for(is_found, f"somebody has {session}")
        return found[0]

    def join(self):
        """A new primary, without slots."""
        node = self._node()
        self.nodes.append(node)
        self._meet(node)
        wait_for(lambda: b"cluster_state:ok" in node.say("CLUSTER", "INFO"), "the new node serves")
        return node

    def move(self, session, new, meanwhile=lambda: None):
        """Moves the slot of a session, and calls `meanwhile` before and after the move of the session itself."""
        old, key = self.owner(session), f"diffserver:{{{session}}}"
        slot = old.say("CLUSTER", "KEYSLOT", key).strip(b":\r\n")
        self.ordered(new, "SETSLOT", slot, "IMPORTING", old.name)
        self.ordered(old, "SETSLOT", slot, "MIGRATING", new.name)
        meanwhile()
        assert old.say("MIGRATE", "127.0.0.1", str(new.port), key, "0", "5000") == b"+OK\r\n"
        meanwhile()
        for node in (new, old):
            self.ordered(node, "SETSLOT", slot, "NODE", new.name)

    def fail_over(self, session):
        """Kills the primary that has the session; its replica takes its place, and the old one comes back as its replica.

        It comes back empty, so only after the others know of the new primary.
        """
        old = self.owner(session)
        old.kill()
        heirs = [each for each in self.nodes if each is not old]

        def is_succeeded():
            lines = [line for line in heirs[0].say("CLUSTER", "NODES").split(b"\n") if line.startswith(old.name)]
            return all(b"fail" in line and b"-" not in line.split(b" ")[8:] and len(line.split(b" ")) == 8 for line in lines)
        wait_for(is_succeeded, "a replica is promoted")
        old.start()
        wait_for(lambda: b"master_link_status:up" in old.say("INFO", "replication"), "the old primary follows")

    def close(self):
        for each in self.nodes:
            each.close()
