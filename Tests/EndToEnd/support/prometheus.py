"""A test's own Prometheus, on the loopback, that scrapes servers every second."""

import json
import os
import subprocess
import tempfile
import urllib.parse
import urllib.request

from .clock import wait_for
from .ports import free_port


class Prometheus:
    def __init__(self, target, rules=None, secure=None):
        """`target` is host:port, `secure` one with TLS, of the same job. `rules`: a file of alerts that it evaluates."""
        scraped = [{"job_name": "diffserver", "static_configs": [{"targets": [target]}]}]
        if secure:
            scraped.append({"job_name": "secure", "scheme": "https", "tls_config": {"insecure_skip_verify": True},
                            "static_configs": [{"targets": [secure]}],
                            "relabel_configs": [{"target_label": "job", "replacement": "diffserver"}]})
        self.folder = tempfile.TemporaryDirectory(prefix="diffserver-prometheus-")
        configuration = os.path.join(self.folder.name, "prometheus.yml")
        with open(configuration, "w", encoding="utf-8") as file:
            # YAML may be written as JSON.
            json.dump({"global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
                       "rule_files": [str(rules)] if rules else [],
                       "scrape_configs": scraped}, file)
        self.port = free_port()
        self.log = open(os.path.join(self.folder.name, "log"), "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={configuration}", f"--storage.tsdb.path={self.folder.name}/data",
             f"--web.listen-address=127.0.0.1:{self.port}"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def ask(self, path, **query):
        """The answer of its HTTP API."""
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(url, timeout=20) as answer:
            return json.load(answer)["data"]

    def wait_until_ready(self, seconds=60):
        def is_ready():
            assert self.process.poll() is None, self.tail()
            return self.ask("query", query="1")
        wait_for(is_ready, self.tail, seconds)

    def tail(self):
        self.log.flush()
        with open(self.log.name, encoding="utf-8") as file:
            return "\n".join(file.read().splitlines()[-20:])

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        self.folder.cleanup()
