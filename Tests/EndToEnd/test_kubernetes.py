"""The manifests for Kubernetes: what the commands at their heads make starts a server, which answers the probes, may
take the memory that it promises to keep within, and has time to drain.

This is what can be tested without a cluster. `.ci/manifests` checks them against Kubernetes's schemas, and `.ci/kube`
runs the single pod, where Podman can.
"""

import base64
import hashlib
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import yaml

from support.client import once
from support.clock import wait_for
from support.redis import IS_INSTALLED, MISSING, Redis
from support.server import ROOT, Server, binary

FOLDER = ROOT / "Examples/kubernetes"
PASSWORD = "THE-PASSWORD-OF-REDIS"
LABELS = {"app.kubernetes.io/name": "diffserver"}
MOUNTED = "/run/secrets/diffserver"
OPTIONS = "/etc/diffserver"
# What stands for a cluster: a Secret is printed, and what would be applied is.
CLIENT = """
kubectl() {
    case $1 in
        create) command kubectl "$@" --dry-run=client -o yaml && echo --- ;;
        apply) command kubectl kustomize "$3" ;;
    esac
}
"""


def seconds(time):
    unit = {"s": 1, "m": 60}[time[-1]]
    return int(time[:-1]) * unit


def mebibytes(amount):
    number, unit = re.fullmatch(r"(\d+)(Mi|Gi)", amount).groups()
    return int(number) * {"Mi": 1, "Gi": 1024}[unit]


def option(container, flag):
    return next((each.partition("=")[2] for each in container["args"] if each.startswith(f"{flag}=")), None)


class Manifests(unittest.TestCase):
    """What tests of manifests need."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def run_in_folder(self, script):
        ran = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=self.folder, capture_output=True,
                             text=True, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return [each for each in yaml.safe_load_all(ran.stdout) if each]

    def commands(self, name):
        """The commands at the head of a kustomization."""
        lines = re.findall(r"^#   (.*)$", (FOLDER / name / "kustomization.yaml").read_text(), re.MULTILINE)
        return "\n".join(lines).replace("diffserver key", f"'{binary()}' key")

    def applied(self, name):
        """What these commands make, by kind. What is in the Secret is in files, as it would be mounted."""
        for each in FOLDER.iterdir():
            (self.folder / each.name).symlink_to(each)
        made = self.run_in_folder(CLIENT + self.commands(name))
        self.mount(next(each for each in made if each["kind"] == "Secret"))
        return {each["kind"]: each for each in made}

    def mount(self, secret):
        self.mounted = self.folder / "mounted"
        self.mounted.mkdir(exist_ok=True)
        for file, text in secret["data"].items():
            (self.mounted / file).write_bytes(base64.b64decode(text))
            (self.mounted / file).chmod(0o440)

    @property
    def key(self):
        return re.search(r"key: +(\S+)", (self.folder / "backend.key").read_text())[1]

    def started(self, container, changes=()):
        """A server with a container's arguments, some of which are replaced by local ones."""
        arguments = container["args"]
        self.assertEqual(arguments[0], "serve")
        self.assertIn("--listen=:8080", arguments)
        for old, new in dict(changes).items():
            self.assertTrue(any(old in each for each in arguments), old)
            arguments = [each.replace(old, str(new)) for each in arguments]
        # Nobody waits for the end here.
        left_out = ("--listen=", "--drain-delay=")
        arguments = [each for each in arguments[1:] if not each.startswith(left_out)]
        references = {each["name"]: each["valueFrom"]["secretKeyRef"] for each in container.get("env", [])}
        self.assertTrue(all(each["name"] == "diffserver" for each in references.values()))
        variables = {name: (self.mounted / each["key"]).read_text() for name, each in references.items()}
        server = Server(*arguments, variables=variables)
        self.addCleanup(server.stop)
        return server

    def assertProbesAreAnswered(self, container, server, probes):
        ports = {each["name"]: each["containerPort"] for each in container["ports"]}
        self.assertEqual({name for name in container if name.endswith("Probe")}, set(probes))
        for probe, path in probes.items():
            asked = container[probe]["httpGet"]
            self.assertEqual(ports.get(asked["port"], asked["port"]), 8080)
            self.assertEqual(asked["path"], path)
            self.assertEqual(once(server, "GET", asked["path"]).status, 200)

    def assertIsConfined(self, container):
        context = container["securityContext"]
        self.assertTrue(context["readOnlyRootFilesystem"])
        self.assertFalse(context["allowPrivilegeEscalation"])
        self.assertEqual(context["capabilities"], {"drop": ["ALL"]})

    def assertHasItsMemory(self, container):
        """`--memory` is at most half of the limit, and the process a quarter and 32 MiB larger (docs/operations.md)."""
        requested, limit = (mebibytes(container["resources"][each]["memory"]) for each in ("requests", "limits"))
        self.assertIsNone(option(container, "--memory"))
        self.assertGreaterEqual(requested, min(512, limit // 2) * 5 / 4 + 32)
        self.assertGreaterEqual(limit, requested)

    def assertHasTimeToEnd(self, pod, container):
        times = [seconds(option(container, flag)) for flag in ("--drain-delay", "--drain")]
        self.assertGreater(pod["terminationGracePeriodSeconds"], sum(times) + 1)

    def assertStarts(self, found, changes, ready):
        """A server with the Deployment's arguments, which takes the key and nobody without it."""
        deployment = found["Deployment"]["spec"]
        pod = deployment["template"]["spec"]
        container = pod["containers"][0]
        for labels in (deployment["template"]["metadata"]["labels"], deployment["selector"]["matchLabels"],
                       found["Service"]["spec"]["selector"],
                       found["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"]):
            self.assertEqual(labels, LABELS)
        self.assertEqual(found["Service"]["spec"]["ports"][0]["targetPort"], container["ports"][0]["name"])
        self.assertIsConfined(container)
        # As in the image.
        self.assertIn(f"USER {pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}\n",
                      (ROOT / "Dockerfile").read_text())
        self.assertHasItsMemory(container)
        self.assertHasTimeToEnd(pod, container)
        self.assertIn({"name": "secrets", "mountPath": MOUNTED, "readOnly": True}, container["volumeMounts"])
        self.assertIn({"name": "options", "mountPath": OPTIONS, "readOnly": True}, container["volumeMounts"])
        self.assertIn({"name": "options", "configMap": {"name": found["ConfigMap"]["metadata"]["name"]}}, pod["volumes"])
        self.options = self.folder / "options"
        self.options.mkdir()
        for file, text in found["ConfigMap"]["data"].items():
            (self.options / file).write_text(text)
        server = self.started(container, {MOUNTED: self.mounted, OPTIONS: self.options, **changes})
        self.assertProbesAreAnswered(container, server, {"readinessProbe": ready, "livenessProbe": "/livez"})
        made = once(server, "PUT", "/v1/sessions/s", {"state": ["a"]}, {"Authorization": f"Bearer {self.key}"})
        self.assertEqual(made.status, 201, made)
        self.assertEqual(once(server, "PUT", "/v1/sessions/s", {"state": ["a"]}).status, 401)
        return server

    def redis(self):
        redis = Redis(f"user diffserver on >{PASSWORD} ~diffserver:* &diffserver:* +@read +@write +@scripting +@pubsub "
                      "+@connection +multi +exec +role")
        self.addCleanup(redis.close)
        return {"redis:6379": f"127.0.0.1:{redis.port}"}


class SinglePod(Manifests):
    def test_the_single_pod(self):
        pod = yaml.safe_load((FOLDER / "single.yaml").read_text())["spec"]
        container = pod["containers"][0]
        self.assertIsConfined(container)
        self.assertHasItsMemory(container)
        self.assertHasTimeToEnd(pod, container)
        self.assertEqual(container["ports"][0]["hostIP"], "127.0.0.1")
        server = self.started(container)
        self.assertProbesAreAnswered(container, server, {"readinessProbe": "/readyz"})
        self.assertEqual(once(server, "PUT", "/v1/sessions/s", {"state": ["a"]}).status, 201)


@unittest.skipUnless(shutil.which("kubectl"), "kubectl, which puts manifests together, is not installed")
class Kustomized(Manifests):
    def test_sessions_in_memory(self):
        found = self.applied("memory")
        self.assertEqual(set(found), {"Secret", "ConfigMap", "Deployment", "Service", "NetworkPolicy"})
        self.assertEqual(found["Secret"]["metadata"]["name"], "diffserver")
        self.assertEqual(set(found["Secret"]["data"]), {"keys", "tokens"})
        self.assertSwitchesTheRequestLog(self.assertStarts(found, {}, "/readyz"))

    def assertSwitchesTheRequestLog(self, server):
        """By an edit of the ConfigMap, without a restart."""
        def requests():
            return [line for line in server.log if '"message":"request"' in line]

        self.assertEqual(requests(), [])
        file = self.options / "options.json"
        file.write_text(file.read_text().replace("false", "true"))

        def is_logged():
            once(server, "GET", "/v1/sessions/s")
            return requests()
        wait_for(is_logged, "requests are logged", 30, every=0.5)

    def test_sessions_in_sqlite(self):
        self.applied("memory")
        found = {each["kind"]: each for each in self.run_in_folder("kubectl kustomize sqlite")}
        deployment = found["Deployment"]["spec"]
        self.assertEqual((deployment["replicas"], deployment["strategy"]), (1, {"type": "Recreate"}))
        container = deployment["template"]["spec"]["containers"][0]
        mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
        volumes = {each["name"]: each for each in deployment["template"]["spec"]["volumes"]}
        self.assertEqual(set(mounts), set(volumes))
        claim = found["PersistentVolumeClaim"]
        self.assertEqual(volumes["sessions"]["persistentVolumeClaim"]["claimName"], claim["metadata"]["name"])
        space = mebibytes(claim["spec"]["resources"]["requests"]["storage"])
        self.assertLess(mebibytes(option(container, "--store-max-size").removesuffix("B")), space)
        self.assertStarts(found, {mounts["sessions"]: self.folder}, "/readyz")
        self.assertTrue((self.folder / "sessions.db").exists())

    @unittest.skipUnless(IS_INSTALLED, MISSING)
    def test_nodes_on_redis(self):
        found = self.applied("redis")
        self.assertEqual(set(found["Secret"]["data"]), {"keys", "tokens", "digests", "redis"})
        deployment = found["Deployment"]["spec"]
        self.assertEqual(deployment["strategy"]["type"], "RollingUpdate")
        self.assertLess(found["PodDisruptionBudget"]["spec"]["maxUnavailable"], deployment["replicas"])
        self.assertEqual(found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"], LABELS)
        container = deployment["template"]["spec"]["containers"][0]
        port = int(re.search(r":(\d+)$", option(container, "--store"))[1])
        opened = [each["port"] for rule in found["NetworkPolicy"]["spec"]["egress"] for each in rule["ports"]]
        self.assertEqual(opened, [port, 53, 53])
        self.assertIsNotNone(option(container, "--stream-life"))
        self.assertStarts(found, self.redis(), "/readyz?store=optional")

    @unittest.skipUnless(IS_INSTALLED, MISSING)
    def test_nodes_that_are_watched_and_as_many_as_needed(self):
        self.applied("redis")
        *_, watched = self.run_in_folder(CLIENT + self.commands("monitoring"))
        (self.mounted / "metrics").write_text((self.folder / "metrics").read_text())
        found = {each["kind"]: each for each in self.run_in_folder("kubectl kustomize production")}
        self.assertNotIn("replicas", found["Deployment"]["spec"])
        scaled = found["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
        self.assertEqual((scaled["kind"], scaled["name"]), ("Deployment", found["Deployment"]["metadata"]["name"]))
        monitor = found["ServiceMonitor"]["spec"]
        self.assertEqual(monitor["selector"]["matchLabels"], found["Service"]["metadata"]["labels"])
        (endpoint,) = monitor["endpoints"]
        self.assertEqual(endpoint["port"], found["Service"]["spec"]["ports"][0]["name"])
        # The alerts ask for this job, which is named as the Service is.
        self.assertIn(f'job="{found["Service"]["metadata"]["name"]}"', str(found["PrometheusRule"]["spec"]))
        credentials = endpoint["authorization"]["credentials"]
        self.assertEqual(credentials["name"], watched["metadata"]["name"])
        key = base64.b64decode(watched["data"][credentials["key"]]).decode()
        server = self.assertStarts(found, self.redis(), "/readyz?store=optional")
        headers = {"Authorization": f"Bearer {key}"}
        self.assertEqual(once(server, "GET", endpoint["path"], None, headers).status, 200)
        self.assertIn(once(server, "GET", "/v1/sessions/s", None, headers).status, (401, 403))


if __name__ == "__main__":
    unittest.main()
