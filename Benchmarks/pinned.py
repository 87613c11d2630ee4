"""A server with core 0 to itself, and load from core 1."""

import collections
import os
import pathlib
import re
import socket
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
BINARY = str(HERE.parent / ".build/release/diffserver")
POSTS = HERE / "service/posts.lua"

# Requests per second, and the server's processor time for one, in seconds.
Load = collections.namedtuple("Load", "count rate cost")


class Server:
    """A server on core 0, unless it may have others too; `under` is the program that runs it, such as valgrind."""

    def __init__(self, binary, *options, cores=frozenset({0}), under=()):
        # Its options are those that are named here.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DIFFSERVER_")}
        self.process = subprocess.Popen(
            [*under, binary, "serve", "--listen", "127.0.0.1:0", *options], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment,
            preexec_fn=lambda: os.sched_setaffinity(0, cores))
        for line in self.process.stderr:
            found = re.search(rb"listens on https?://127.0.0.1:(\d+)", line)
            if found:
                self.port = int(found.group(1))
                return
        sys.exit("the server did not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    @property
    def seconds(self):
        """Processor time so far."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def busy(self):
        """The same by the scheduler's clock: exact, but only for living threads."""
        threads = pathlib.Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((each / "schedstat").read_text().split()[0]) for each in threads) / 1e9

    @property
    def resident(self):
        return int(pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection


class Redis:
    """One that keeps nothing on disk, on its own socket, on the clients' core."""

    def __init__(self, directory):
        self.path = f"{directory}/redis.sock"
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.path, "--save", "", "--appendonly", "no", "--dir", directory],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        for _ in range(200):
            if os.path.exists(self.path):
                return
            time.sleep(0.02)
        sys.exit("redis-server did not start")

    def info(self, section):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self.path)
            connection.sendall(f"INFO {section}\r\n".encode())
            head, _, text = connection.recv(1 << 20).partition(b"\r\n")
            while len(text) < int(head[1:]):
                text += connection.recv(1 << 20)
            return text.decode()

    @property
    def round_trips(self):
        """Commands sent by servers; calls that their scripts make within Redis do not count."""
        calls = dict(re.findall(r"cmdstat_(\w+):calls=(\d+)", self.info("commandstats")))
        return sum(int(calls.get(name, 0)) for name in ("evalsha", "eval", "hget"))

    @property
    def seconds(self):
        used = dict(re.findall(r"used_cpu_(sys|user):(\S+)", self.info("cpu")))
        return float(used["sys"]) + float(used["user"])

    def close(self):
        self.process.terminate()
        self.process.wait()


def to_core_of_clients():
    if os.cpu_count() > 1:
        os.sched_setaffinity(0, {1})


def wrk(server, seconds, path, *arguments, connections=16):
    """The server's work under as many requests as it can answer."""
    before = server.seconds
    text = subprocess.run(
        ["taskset", "-c", "1", "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", *arguments[:2],
         f"http://127.0.0.1:{server.port}{path}", *arguments[2:]],
        stdout=subprocess.PIPE, text=True, check=True).stdout
    if "Non-2xx" in text:
        sys.exit(f"wrk saw errors:\n{text}")
    count = int(re.search(r"(\d+) requests in", text).group(1))
    return Load(count, float(re.search(r"Requests/sec:\s+(\S+)", text).group(1)), (server.seconds - before) / count)


def posted(server, seconds, items, size, connections=16):
    """The same, with states of `items` items of `size` bytes; one item in a hundred changes."""
    return wrk(server, seconds, "/", "-s", str(POSTS), "--", f"items={items}", f"bytes={size}", connections=connections)
