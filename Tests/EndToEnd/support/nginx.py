"""nginx as Debian has it, with a configuration from Examples on free ports."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

from .ports import free_port, wait_for_listener, with_servers
from .server import ROOT

# Debian puts it where only root looks.
PROGRAM = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
IS_INSTALLED = bool(PROGRAM)
MISSING = "nginx is not installed"


class Nginx:
    """One running nginx, before the nodes that listen on `ports`. Only addresses and files of the configuration are replaced, and
    what `changes` says."""

    host = "127.0.0.1"

    def __init__(self, example, ports, tls=False, changes=()):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="diffserver-nginx-"))
        self.directory.chmod(0o711)  # Where root starts it, its workers are somebody else, and have a cache there.
        self.port, self.tls_port = free_port(), free_port() if tls else None
        shutil.copy(ROOT / "Examples/nginx-proxy.conf", self.directory)
        text = (ROOT / "Examples" / example).read_text()
        for old, new in changes:
            assert f" {old};" in text or f" {old} " in text, old
            text = text.replace(f" {old}", f" {new}")
        (self.directory / "nginx.conf").write_text(self._with_certificate(self._placed(text, ports)))
        self.log = self.directory / "error.log"
        settings = f"daemon off; pid {self.directory}/pid; error_log {self.log} warn;"
        self.process = subprocess.Popen(
            [PROGRAM, "-e", str(self.log), "-p", str(self.directory), "-c", str(self.directory / "nginx.conf"), "-g", settings],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.pid = self.process.pid
        self._wait()

    def _placed(self, text, ports):
        """With these ports, and with no file outside the directory."""
        text = with_servers(text, ports).replace("/var/cache/nginx/", f"{self.directory}/cache-")
        text, count = re.subn(r"^( *)listen \d+;", rf"\1listen 127.0.0.1:{self.port};", text, flags=re.MULTILINE)
        assert count == 1, f"{count} lines listen"
        paths = "".join(f"{name}_temp_path {self.directory}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        return text.replace("http {", f"http {{ {paths}", 1)

    def _with_certificate(self, text):
        """The lines for TLS without their #, except for HTTP/2, for which Debian's nginx has another name."""
        if self.tls_port is None:
            return text
        key, certificate = self.directory / "key.pem", self.directory / "certificate.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", "/CN=localhost", "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
        for line, instead in (("# listen 443 ssl;", f"listen 127.0.0.1:{self.tls_port} ssl http2;"),
                              ("# ssl_certificate /etc/nginx/tls/certificate.pem;", f"ssl_certificate {certificate};"),
                              ("# ssl_certificate_key /etc/nginx/tls/key.pem;", f"ssl_certificate_key {key};")):
            assert text.count(line) == 1, line
            text = text.replace(line, instead)
        return text

    def _wait(self):
        """Until it listens on every port: it serves some while it retries the others."""
        try:
            for port in filter(None, (self.port, self.tls_port)):
                wait_for_listener(self.process, self.host, port)
        except AssertionError as problem:
            self.process.kill()
            raise AssertionError("nginx did not start:\n" + (self.log.read_text() if self.log.exists() else "")) from problem

    def warnings(self):
        """Its complaints on reading its configuration."""
        return [line for line in self.log.read_text().splitlines() if re.search(r"\[(warn|emerg)\]", line)]

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)
