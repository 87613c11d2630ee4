"""HAProxy as Debian has it, with the configuration from Examples on free ports."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from .ports import free_port, wait_for_listener, with_servers
from .server import ROOT

PROGRAM = shutil.which("haproxy", path=os.environ["PATH"] + ":/usr/sbin")
IS_INSTALLED = bool(PROGRAM)
MISSING = "haproxy is not installed"


class HAProxy:
    """One running HAProxy, before the nodes that listen on `ports`. Only addresses differ from the configuration."""

    host = "127.0.0.1"

    def __init__(self, ports):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="diffserver-haproxy-"))
        self.port = free_port()
        text = with_servers((ROOT / "Examples/haproxy.cfg").read_text(), ports)
        text, count = re.subn(r"^( *)bind :\d+$", rf"\1bind 127.0.0.1:{self.port}", text, flags=re.MULTILINE)
        assert count == 1, f"{count} lines bind"
        (self.directory / "haproxy.cfg").write_text(text)
        self.log = self.directory / "log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([PROGRAM, "-db", "-f", str(self.directory / "haproxy.cfg")],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            wait_for_listener(self.process, self.host, self.port)
        except AssertionError as problem:
            self.process.kill()
            raise AssertionError("haproxy did not start:\n" + self.log.read_text()) from problem

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)
