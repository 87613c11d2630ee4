"""What Examples gives an operator: alerts that fire when they should and not otherwise, and a dashboard that shows something."""

import json
import math
import re
import subprocess
import tempfile
import threading
import unittest

import yaml

from support.client import Client, session_path, target
from support.clock import wait_for
from support.events import Stream
from support.prometheus import Prometheus
from support.server import ROOT, Server, certify
from support.sources import SourceCase, WEBHOOK_SECRET
from support.upstream import says

ALERTS = ROOT / "Examples/prometheus/alerts.yaml"
DASHBOARD = ROOT / "Examples/grafana/dashboard.json"
PAGE = ROOT / "docs/operations.md"


def slow(name, labels, much, little):
    """Histograms of a node where one in fifty takes longer than `much`, and of one where one in two hundred does."""
    return tuple({f'{name}_bucket{{{labels},le="{bound}",}}': f"0+{count}x30"
                  for bound, count in ((little, fast), (much, fast), (much * 2, 600), ("+Inf", 600))} for fast in (588, 597))


# For each alert: series of a node that is ill, what differs in one that is well, and minutes after which it has fired. Series are
# in promtool's notation, a sample a minute, and `{}` stands for the labels of the node.
CASES = {
    "DiffserverDown": ({'up{job="diffserver",}': "0x30"}, {'up{job="diffserver",}': "1x30"}, 2),
    "DiffserverRestarting": ({'process_start_time_seconds{job="diffserver",}': "1 1 1 2 2 3 3 4 4 4 4 4 4"},
                             {'process_start_time_seconds{job="diffserver",}': "1 1 1 2 2 2 2 3 3 3 3 3 3"}, 10),
    "DiffserverStoreNotReady": ({"diffserver_store_ready{}": "0x30"}, {"diffserver_store_ready{}": "1x30"}, 2),
    "DiffserverErrors": (
        {'diffserver_requests_total{status="503",}': "0+60x30", 'diffserver_requests_total{status="200",}': "0+600x30"},
        {'diffserver_requests_total{status="503",}': "0+5x30", 'diffserver_requests_total{status="200",}': "0+600x30"}, 15),
    "DiffserverRefusals": ({'diffserver_refusals_total{problem="internal",}': "0+1x30"},
                           {'diffserver_refusals_total{problem="too-many-requests",}': "0+30x30",
                            'diffserver_refusals_total{problem="session-not-found",}': "0+6000x30"}, 10),
    "DiffserverPostsSlow": (*slow("diffserver_request_duration_seconds", 'route="changes",method="POST"', 0.512, 0.256), 20),
    "DiffserverStoreFailures": ({"diffserver_store_failures_total{}": "0+1x30"}, {"diffserver_store_failures_total{}": "7x30"}, 10),
    "DiffserverStoreSlow": (*slow("diffserver_store_duration_seconds", 'operation="load"', 0.256, 0.128), 20),
    "DiffserverStoreVerySlow": (*slow("diffserver_store_duration_seconds", 'operation="commit"', 1.024, 0.512), 2),
    "DiffserverStoreConflicts": (
        {"diffserver_store_conflicts_total{}": "0+600x30", "diffserver_commits_total{}": "0+600x30"},
        {"diffserver_store_conflicts_total{}": "0+100x30", "diffserver_commits_total{}": "0+600x30"}, 20),
    "DiffserverMemoryNearLimit": (
        {'diffserver_memory_bytes{part="sessions",}': "60x30", 'diffserver_memory_bytes{part="incoming",}': "31x30",
         "diffserver_memory_limit_bytes{}": "100x30"},
        {'diffserver_memory_bytes{part="sessions",}': "60x30", 'diffserver_memory_bytes{part="incoming",}': "29x30",
         "diffserver_memory_limit_bytes{}": "100x30"}, 15),
    "DiffserverEvictions": ({"diffserver_evictions_total{}": "0+1x30"}, {"diffserver_evictions_total{}": "9x30"}, 20),
    "DiffserverHistoryTooShort": ({'diffserver_resets_total{reason="expired",}': "0+60x60"},
                                  {'diffserver_resets_total{reason="expired",}': "0+1x60"}, 40),
    "DiffserverUnknownRevisions": ({'diffserver_resets_total{reason="unknown",}': "0+60x60"},
                                   {'diffserver_resets_total{reason="unknown",}': "0+1x60"}, 40),
    "DiffserverStreamLag": (
        *slow("diffserver_stream_lag_seconds", 'a="b"', 0.128, 0.064), 20),
    "DiffserverConnectionsNearLimit": (
        {"diffserver_connections{}": "81x30", "diffserver_connections_limit{}": "100x30"},
        {"diffserver_connections{}": "79x30", "diffserver_connections_limit{}": "100x30"}, 10),
    "DiffserverConnectionsRefused": (
        {"diffserver_connections_refused_total{}": "0x30", "diffserver_accept_pauses_total{}": "0+1x30"},
        {"diffserver_connections_refused_total{}": "3x30", "diffserver_accept_pauses_total{}": "3x30"}, 10),
    "DiffserverSourceFailing": ({'diffserver_source_fetches_total{outcome="failed",list="l",}': "0+1x30"},
                                {'diffserver_source_fetches_total{outcome="fetched",list="l",}': "0+1x30"}, 15),
    "DiffserverHookFailing": ({'diffserver_hook_calls_total{outcome="failed",list="l",}': "0+1x30", 'diffserver_hook_calls_total{outcome="agreed",list="l",}': "0+7x30"},
                              {'diffserver_hook_calls_total{outcome="failed",list="l",}': "0+1x30", 'diffserver_hook_calls_total{outcome="agreed",list="l",}': "0+12x30"}, 15),
    "DiffserverSourceSilent": ({'diffserver_source_age_seconds{list="l",}': "301x30"},
                               {'diffserver_source_age_seconds{list="l",}': "299x30"}, 3),
    "DiffserverLogLinesDropped": ({"diffserver_log_lines_dropped_total{}": "0+1x30"},
                                  {"diffserver_log_lines_dropped_total{}": "5x30"}, 15),
    "DiffserverCertificateExpires": ({"diffserver_certificate_expiry_seconds{}": "1209599x30"},
                                     {"diffserver_certificate_expiry_seconds{}": "1209600x30"}, 0),
    "DiffserverReloadFailed": ({"diffserver_reload_success{}": "0x30"}, {"diffserver_reload_success{}": "1x30"}, 0),
}


def anchors(text):
    """The anchors of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


# Hooks that are ill beside 100 reads a second, when nothing else is amiss: one that is called each six minutes and fails, one that
# takes no call, after a rotation, and one that is too slow for what waits.
HOOKS = [({name: values, 'diffserver_requests_total{code="200",}': "0+6000x30"} | more, well, 25) for name, values, more, well in (
    ('diffserver_hook_calls_total{outcome="failed",list="l",}', "0x5 1x5 2x5 3x5 4x5", {}, {}),
    ('diffserver_hook_calls_total{outcome="unauthorized",list="l",}', "0+2x30", {},
     {'diffserver_hook_calls_total{outcome="unauthorized",list="l",}': "0+2x30",
      'diffserver_hook_calls_total{outcome="agreed",list="l",}': "0+2x30"}),
    ('diffserver_hook_calls_total{outcome="skipped",list="l",}', "0+21x30",
     {'diffserver_hook_calls_total{outcome="agreed",list="l",}': "0+9x30"}, {}))]


def series(samples, node):
    """promtool's input for one node."""
    return [{"series": name.replace("}", f'instance="{node}"}}'), "values": values} for name, values in samples.items()]


class Alerts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rules = yaml.safe_load(ALERTS.read_text())["groups"][0]["rules"]

    def promtool(self, *arguments):
        ran = subprocess.run(["promtool", *arguments], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        return ran.stdout

    def test_promtool_takes_them(self):
        self.assertIn(f"{len(CASES)} rules found", self.promtool("check", "rules", str(ALERTS)))

    def test_each_has_a_case_and_a_runbook(self):
        self.assertEqual({rule["alert"] for rule in self.rules}, set(CASES))
        known = anchors(PAGE.read_text())
        for rule in self.rules:
            with self.subTest(rule["alert"]):
                page, _, anchor = rule["annotations"]["runbook"].partition("#")
                self.assertEqual((page, anchor), ("docs/operations.md", rule["alert"].lower()))
                self.assertIn(anchor, known)

    def test_each_fires_for_a_node_that_is_ill_and_for_no_other(self):
        self.promtool("test", "rules", self.cases(self.expected))

    def test_each_illness_of_a_hook_is_seen(self):
        for case in HOOKS:
            with self.subTest(case):
                self.promtool("test", "rules", self.cases(self.expected, {"DiffserverHookFailing": case}))

    def test_a_case_can_fail(self):
        path = self.cases(lambda rule, samples: [])
        ran = subprocess.run(["promtool", "test", "rules", path], capture_output=True, text=True, timeout=120, check=False)
        for name in CASES:
            self.assertIn(f"alertname:{name},", (ran.stdout + ran.stderr).replace(" ", ""))

    def expected(self, rule, samples):
        """The alerts for the ill node: labels, and annotations with them filled in."""
        labels = {"instance": "ill", **dict(re.findall(r'(\w+)="([^"]*)"', next(iter(samples))))}
        # The labels that the expression keeps: all, or those that it sums by.
        summed = re.search(r"sum by \(([\w, ]+)\)", rule["expr"])
        if summed:
            labels = {name: labels[name] for name in summed[1].split(", ") if name in labels and name != "le"}
        annotations = {name: re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda found: labels[found[1]], text)
                       for name, text in rule["annotations"].items()}
        return [{"exp_labels": {**labels, **rule["labels"]}, "exp_annotations": annotations}]

    def cases(self, expected, cases=CASES):
        """A file of promtool's tests."""
        tests = []
        for rule in (rule for rule in self.rules if rule["alert"] in cases):
            ill, well, minutes = cases[rule["alert"]]
            checks = [{"eval_time": f"{minutes}m", "alertname": rule["alert"], "exp_alerts": expected(rule, ill)}]
            if "for" in rule:
                checks.append({"eval_time": "0m", "alertname": rule["alert"], "exp_alerts": []})
            tests.append({"interval": "1m", "input_series": series(ill, "ill") + series(well, "well"), "alert_rule_test": checks})
        file = tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8")
        self.addCleanup(file.close)
        json.dump({"rule_files": [str(ALERTS)], "evaluation_interval": "15s", "tests": tests}, file)
        file.flush()
        return file.name


class Scraped(SourceCase):
    """A server with traffic of all kinds, a store, a source that works and one that does not, a hook, and one with TLS whose
    certificate expires soon; and a Prometheus that scrapes both."""

    variables = {"HOOK_SECRET": WEBHOOK_SECRET}

    @classmethod
    def lists(cls, url):
        return {**super().lists(url), "hooked": {"hook": {"url": f"{url}/hook", "secret": "env:HOOK_SECRET"}}}

    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="diffserver-observed-"))
        cls.options = ("--store", f"sqlite:{folder}/sessions.db")
        super().setUpClass()
        certify(folder, days=10)
        cls.secure = Server("--tls-certificate", f"{folder}/certificate", "--tls-key", f"{folder}/key")
        cls.addClassCleanup(cls.secure.stop)
        cls.upstream.set("/f/works", [{"id": "a"}])
        cls.upstream.set("/f/fails", says({}, 500))
        cls.upstream.set("/hook", says(b"", 204))
        cls.is_over = threading.Event()
        cls.traffic = threading.Thread(target=cls.make_traffic)
        cls.traffic.start()
        cls.targets = [f"127.0.0.1:{cls.server.port}", cls.secure.address.removeprefix("https://")]
        cls.prometheus = Prometheus(cls.targets[0], ALERTS, secure=cls.targets[1])
        try:
            cls.prometheus.wait_until_ready()
        except BaseException:
            cls.tearDownClass()
            raise

    @classmethod
    def tearDownClass(cls):
        cls.is_over.set()
        cls.traffic.join(60)
        cls.prometheus.close()
        super().tearDownClass()

    @classmethod
    def make_traffic(cls):
        client = Client(cls.server)
        path = session_path("observed", "changes")
        client.request("POST", path, ["a", "b"])
        client.request("POST", session_path("hooked", "changes"), ["a"])
        stream = Stream(cls.server, path)
        turn = 0
        while not cls.is_over.wait(0.1):
            turn += 1
            client.request("POST", path, [f"row {turn}", "b", "a"] if turn % 2 else ["a", "b"])
            client.request("POST", "/v1/diff", {"old": [], "new": [turn]})
            client.request("POST", session_path("hooked", "changes"), {"edits": [{"op": "reload", "items": ["a"]}]})
            to = client.request("GET", target(path, {"since": "999-0000000000000000"})).json["to"]
            if turn % 20 == 1:
                client.request("GET", target(path, {"since": to, "wait": 1}))
            for name in ("works", "fails"):
                client.request("GET", session_path(f"f:{name}", "changes"))
            stream.next_event()
        stream.close()
        client.close()

    def wait(self, claim, seconds=90):
        """Waits until `claim` returns no faults."""
        wait_for(lambda: not claim(), lambda: f"nothing is amiss: {claim()}\n{self.prometheus.tail()}", seconds, not_yet=(), every=1)

    def test_each_query_of_the_dashboard_returns_data(self):
        dashboard = json.loads(DASHBOARD.read_text())
        left = {query["expr"] for panel in dashboard["panels"] for query in panel.get("targets", [])}
        self.assertGreater(len(left), 35)

        def amiss():
            left.difference_update([query for query in left if self.has_data(query)])
            return left

        self.wait(amiss)
        variables = {each["name"]: each for each in dashboard["templating"]["list"]}
        used = {name for text in DASHBOARD.read_text().split('"') for name in re.findall(r"\$\{?(\w+)", text)}
        self.assertEqual(used - {"__rate_interval", "__all", "labels"}, set(variables))
        for name, expected in (("job", ["diffserver"]), ("instance", sorted(self.targets))):
            self.assertIn("diffserver_build_info", variables[name]["definition"])
            self.assertEqual(self.prometheus.ask(f"label/{name}/values", **{"match[]": "diffserver_build_info"}), expected)

    def test_posts_have_the_first_panel_of_latency(self):
        panels = json.loads(DASHBOARD.read_text())["panels"]
        first = next(panel for panel in panels if "atency" in panel["title"])
        self.assertTrue(all('route="changes",method="POST"' in query["expr"] for query in first["targets"]), first)

    def test_each_metric_of_the_alerts_is_scraped(self):
        rules = yaml.safe_load(ALERTS.read_text())["groups"][0]["rules"]
        found = re.findall(r'\b((?:up|process_\w+|diffserver_\w+)\b(?:\{[^}]*\})?)', "\n".join(rule["expr"] for rule in rules))
        left = set(found)
        self.assertGreater(len(left), len(rules))

        def amiss():
            left.difference_update([query for query in left if self.has_data(query)])
            return left

        self.wait(amiss)

    def has_data(self, query):
        """Whether it returns a number. Grafana fills in a range and the selected nodes."""
        query = query.replace("$__rate_interval", "20s").replace("$instance", ".*").replace("$job", ".*")
        found = self.prometheus.ask("query", query=query)["result"]
        return any(math.isfinite(float(each["value"][1])) for each in found)

    def test_no_metric_is_forgotten_by_the_dashboard(self):
        text = DASHBOARD.read_text()
        for name in re.findall(r"^# TYPE (\S+)", self.get("/metrics").text, re.M):
            if name != "process_virtual_memory_bytes":
                self.assertTrue(name in text, name)

    def test_the_alerts_are_evaluated_and_what_fails_is_seen(self):
        def amiss():
            rules = [rule for group in self.prometheus.ask("rules")["groups"] for rule in group["rules"]]
            self.assertEqual([rule["name"] for rule in rules if rule["health"] == "err"], [])
            states = {rule["name"]: rule["state"] for rule in rules}
            ill = ("DiffserverSourceFailing", "DiffserverCertificateExpires")
            well = ("DiffserverDown", "DiffserverStoreNotReady", "DiffserverRestarting", "DiffserverReloadFailed", "DiffserverPostsSlow")
            is_so = all(states[name] != "inactive" for name in ill) and all(states[name] == "inactive" for name in well)
            return "" if len(states) == len(CASES) and is_so else states

        self.wait(amiss)
