"""One running server: started on a free port, known by its process id, ended by SIGTERM."""

import os
import pathlib
import re
import resource
import signal
import subprocess
import threading
import time

from .store import Store

TIME_AT_START = r"(?m)^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z "
ROOT = pathlib.Path(__file__).resolve().parents[3]


def binary():
    """DIFFSERVER_BINARY, else the newest build."""
    named = os.environ.get("DIFFSERVER_BINARY")
    if named:
        return named
    builds = [ROOT / ".build" / kind / "diffserver" for kind in ("release", "debug")]
    found = [path for path in builds if path.exists()]
    if not found:
        raise FileNotFoundError("no diffserver is built: run `swift build`, or set DIFFSERVER_BINARY")
    return str(max(found, key=lambda path: path.stat().st_mtime))


def loops():
    """How the servers' event loops wait, if DIFFSERVER_EVENT_LOOP says so: options of `serve`."""
    named = os.environ.get("DIFFSERVER_EVENT_LOOP")
    return ["--event-loop", named] if named else []


def environment(extra=None):
    """The caller's variables without any that would configure the server."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DIFFSERVER_")}
    return {**kept, **(extra or {})}


def certify(folder, days):
    """Makes `certificate` and `key` in a folder."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", str(days),
                    "-subj", "/CN=localhost", "-keyout", f"{folder}/key", "-out", f"{folder}/certificate"], check=True, capture_output=True)


def untimed(text):
    """Lines of the log without their times."""
    return re.sub(TIME_AT_START, "", text)


class Server:
    """A server process and the lines of its log, those of text without their times; `log` has them as they are."""

    def __init__(self, *options, listen="127.0.0.1:0", variables=None, descriptors=None):
        """`descriptors`: how many the process may have open. While `reads_log` is clear, its log is not read."""
        arguments = [binary(), "serve", *loops()]
        if listen is not None:
            arguments += ["--listen", listen]
        self.store = Store(options)
        words = [*self.store.options, *options]
        is_keyed = "--digest-key" in words or "DIFFSERVER_DIGEST_KEY" in (variables or {})
        if not is_keyed and any(re.match("(redis|unix)", word) for word in words):
            words += ["--digest-key", "the key of the nodes"]
        limit = descriptors and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors)))
        self.process = subprocess.Popen(
            arguments + words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, env=environment(variables), preexec_fn=limit)
        self.lines, self.log = [], []
        self._told = threading.Condition()
        self._ended = False
        self.reads_log = threading.Event()
        self.reads_log.set()
        threading.Thread(target=self._read_log, daemon=True).start()
        try:
            self.address = self.wait_for_line(r'listens on ([^\s",]+)').group(1)
        except AssertionError:
            self.process.kill()
            self.ended()
            raise
        where = re.match(r"http://(.*):(\d+)$", self.address)
        self.host, self.port = (where.group(1).strip("[]"), int(where.group(2))) if where else (None, None)

    @property
    def pid(self):
        return self.process.pid

    def _read_log(self):
        for line in self.process.stderr:
            self.reads_log.wait()
            with self._told:
                self.log.append(line.decode("utf-8", "replace").rstrip("\n"))
                self.lines.append(untimed(self.log[-1]))
                self._told.notify_all()
        with self._told:
            self._ended = True
            self._told.notify_all()

    def wait_for_line(self, pattern, seconds=20):
        """The match of the first log line that contains the pattern."""
        deadline = time.monotonic() + seconds
        with self._told:
            while True:
                for line in self.lines:
                    match = re.search(pattern, line)
                    if match:
                        return match
                left = deadline - time.monotonic()
                if self._ended or left <= 0:
                    log = "\n".join(self.lines)
                    raise AssertionError(f"the log never said {pattern!r}; it said:\n{log}")
                self._told.wait(left)

    def signal(self, number):
        self.process.send_signal(number)

    def ended(self, seconds=20):
        """The exit status; a server that does not end is killed and is a failure."""
        if self.process.returncode is not None and self.process.stderr.closed:
            return self.process.returncode
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the server still ran {seconds} s after it was told to end") from None
        finally:
            with self._told:
                self._told.wait_for(lambda: self._ended, 5)
            self.process.stderr.close()
            self.store.close()

    def stop(self):
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        return self.ended()

    def descriptors(self):
        """How many file descriptors the process holds."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def sockets(self):
        """Clients' connections to the process, each by name; not those that it makes to a store."""
        with open(f"/proc/{self.pid}/net/tcp", encoding="ascii") as table:
            rows = [line.split() for line in table.readlines()[1:]]
        of_clients = {f"socket:[{row[9]}]" for row in rows if int(row[1].split(":")[1], 16) == self.port}
        found = set()
        for number in os.listdir(f"/proc/{self.pid}/fd"):
            try:
                found.add(os.readlink(f"/proc/{self.pid}/fd/{number}"))
            except FileNotFoundError:
                continue
        return found & of_clients

    def processor_ticks(self, thread):
        """The processor time of the threads whose names begin like this, in clock ticks."""
        ticks = 0
        for number in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{number}/stat", encoding="ascii") as stat:
                name, fields = stat.read().split(" (", 1)[1].rsplit(") ", 1)
            if name.startswith(thread):
                ticks += sum(int(each) for each in fields.split()[11:13])
        return ticks

    def resident_bytes(self):
        with open(f"/proc/{self.pid}/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
