"""What a server is doing, seen from outside: by its metrics, and by what the kernel knows of its connections."""

import re
import socket

from .client import once
from .clock import wait_for


def figure(server, name, key=None):
    """The value of a metric, asked for with a key if the server has some."""
    answer = once(server, "GET", "/metrics", None, {"Authorization": f"Bearer {key}"} if key else {})
    assert answer.status == 200, answer
    return float(re.search(rf"^{re.escape(name)} (\S+)$", answer.text, re.M)[1])


def wait_until_held(server, count=1, key=None):
    """Until so many requests are held."""
    wait_for(lambda: figure(server, "diffserver_held_requests", key) == count, f"{count} requests are held")


def wait_until_read(server, *connections):
    """Until the server has read all that was sent on these: nothing is under way, and nothing is in its sockets' queues."""
    ports = [each.getsockname()[1] for each in connections]

    def are_read():
        with open(f"/proc/{server.pid}/net/tcp", encoding="ascii") as table:
            rows = [line.split() for line in table.readlines()[1:]]
        # Bytes that are not yet acknowledged, and that are not yet read, by (local port, remote port). Until a connection is
        # accepted, its socket has no inode.
        queues = {tuple(int(end.split(":")[1], 16) for end in row[1:3]): [int(each, 16) for each in row[4].split(":")]
                  for row in rows if row[9] != "0"}
        ours, theirs = ([queues.get(pair) for pair in pairs] for pairs in (
            [(port, server.port) for port in ports], [(server.port, port) for port in ports]))
        return all(ours) and all(theirs) and not any(sent for sent, _ in ours) and not any(unread for _, unread in theirs)
    wait_for(are_read, "all that was sent is read")


def wait_until_nobody_listens(server):
    def is_refused():
        try:
            socket.create_connection((server.host, server.port), 5).close()
        except ConnectionRefusedError:
            return True
        return False
    wait_for(is_refused, "nobody listens", 30, not_yet=())
