"""A server under attack: started with a budget of memory, watched through /proc, ended whatever state it is in."""

import json
import os
import pathlib
import re
import resource
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time

from upstream import PRIVATE, SECRET, VARIABLES

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "Tests/EndToEnd"))
from support.redis import Redis  # noqa: E402, since it is found by the path above
BINARY = os.environ.get("DIFFSERVER_BINARY", str(ROOT / ".build/release/diffserver"))
TICKS = os.sysconf("SC_CLK_TCK")


def certificate(folder):
    """A certificate of its own for localhost, as options."""
    key, chain = f"{folder}/key.pem", f"{folder}/chain.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-subj", "/CN=localhost", "-keyout", key, "-out", chain], check=True, capture_output=True)
    return ["--tls-certificate", chain, "--tls-key", key]


class Server:
    """One process on the loopback.

    `descriptors` limits its file descriptors; `reads_log` tells whether its log is read from the pipe;
    `lists` is a lists file's value.
    """

    def __init__(self, memory, options=(), store=None, descriptors=None, uses_tls=False, reads_log=True, lists=None):
        self.folder = tempfile.TemporaryDirectory(prefix="attack-")
        self.tls, self.has_told_secret = None, False
        options = list(options)
        if store == "sqlite":
            options += ["--store", f"sqlite:{self.folder.name}/sessions.db"]
        self.redis = Redis() if store == "redis" else None
        if self.redis:
            options += ["--store", f"redis://127.0.0.1:{self.redis.port}", "--digest-key", "any"]
        if lists:
            path = pathlib.Path(self.folder.name, "lists.json")
            path.write_text(json.dumps(lists), encoding="utf-8")
            options += ["--lists", str(path)]
        if uses_tls:
            options += certificate(self.folder.name)
            self.tls = ssl.create_default_context()
            self.tls.check_hostname, self.tls.verify_mode = False, ssl.CERT_NONE
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith("DIFFSERVER_") and not name.lower().endswith("_proxy")}
        self.process = subprocess.Popen(
            [BINARY, "serve", "--listen", "127.0.0.1:0", "--memory", f"{memory}MiB", *options],
            env={**kept, **VARIABLES},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            preexec_fn=descriptors and (
                lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))))
        self.port = self._port()
        if reads_log:
            threading.Thread(target=self._read_log, daemon=True).start()

    def _port(self):
        for line in self.process.stderr:
            found = re.search(rb"listens on https?://127\.0\.0\.1:(\d+)", line)
            if found:
                return int(found.group(1))
        raise SystemExit("the server did not start")

    def _read_log(self):
        for line in self.process.stderr:
            if any(secret.encode() in line for secret in (PRIVATE, SECRET, *VARIABLES.values())):
                self.has_told_secret = True

    def descriptors(self):
        """How many it has open; 0 once it is dead."""
        try:
            return len(os.listdir(f"/proc/{self.process.pid}/fd"))
        except OSError:
            return 0

    def descriptors_left(self, count, patience=5):
        """How many are open beyond `count`, once that is none or the time is up; 0 once it is dead."""
        end = time.monotonic() + patience
        while (left := self.descriptors() - count) > 0 and time.monotonic() < end:
            time.sleep(0.05)
        return max(0, left)

    def processor_seconds(self):
        """The processor time it has used so far; None once it is dead."""
        try:
            stat = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        except OSError:
            return None
        return None if stat[0] == "Z" else (int(stat[11]) + int(stat[12])) / TICKS

    def peak_bytes(self):
        """The most memory that it ever had resident; None once it is dead."""
        try:
            status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        except OSError:
            return None
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        return found and int(found.group(1)) * 1024

    def end(self, patience=15):
        """Ends it by SIGTERM. Its fate, in a word or two: "well" if it was alive and ended by itself."""
        status = self.process.poll()
        if status is not None:
            outcome = f"died: {signal.Signals(-status).name}" if status < 0 else f"ended with {status}"
        else:
            self.process.terminate()
            try:
                status = self.process.wait(patience)
                outcome = "well" if status == 0 else f"ended with {status}"
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                outcome = "had to be killed"
        self.process.stderr.close()
        self.folder.cleanup()
        if self.redis:
            self.redis.close()
        return outcome
