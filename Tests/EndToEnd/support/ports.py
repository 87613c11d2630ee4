"""Ports that nobody uses, and that nobody else gets before they are listened on; and when they are."""

import pathlib
import random
import re
import socket

from .clock import wait_for


# From here on the kernel gives ports to connections, and to listeners that name none.
_TAKEN_BY_THE_KERNEL = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
_FIRST = 10_000

_random = random.SystemRandom()
_given = set()


def free_port():
    while True:
        port = _random.randrange(_FIRST, _TAKEN_BY_THE_KERNEL)
        if port in _given:
            continue
        with socket.socket() as probe:
            # As the later listener may do: a port whose old connections are still being forgotten is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _given.add(port)
        return port


def wait_for_listener(process, host, port):
    """Until a process listens there, or has ended, which fails."""
    def listens():
        assert process.poll() is None, f"it ended with {process.returncode}"
        socket.create_connection((host, port), 1).close()
        return True
    wait_for(listens, f"somebody listens on {port}", 10)


def with_servers(text, ports):
    """A proxy's configuration in which each `server` has one of these ports. The last is there as often as there are more."""
    server = re.compile(r"^( *server )(\w+ )?[a-z0-9.]+:\d+(.*\n)", re.MULTILINE)
    lines = list(server.finditer(text))
    assert 0 < len(lines) <= len(ports), [line[0] for line in lines]
    after = lines[-1].end()
    text = text[:after] + lines[-1][0] * (len(ports) - len(lines)) + text[after:]
    given = iter(ports)

    def placed(line):
        port = next(given)
        return f"{line[1]}{f'node-{port} ' if line[2] else ''}127.0.0.1:{port}{line[3]}"
    return server.sub(placed, text)
