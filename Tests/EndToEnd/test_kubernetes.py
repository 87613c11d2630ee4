"""The manifests for Kubernetes: their arguments start a server, it answers their probes, and they leave it time to drain.

This is what can be tested without a cluster. `.ci/kube` runs the single pod, where Podman can.
"""

import hashlib
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import yaml

from support.client import once
from support.redis import IS_INSTALLED, MISSING, Redis
from support.server import ROOT, Server, binary

FOLDER = ROOT / "Examples/kubernetes"
PASSWORD = "the-password-of-redis"


def documents(name):
    return {each["kind"]: each for each in yaml.safe_load_all((FOLDER / name).read_text())}


def seconds(time):
    return int(re.fullmatch(r"(\d+)s", time)[1])


class Manifests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def started(self, container, changes):
        """A server with a container's arguments, some of which are replaced by local ones."""
        arguments = container["args"]
        self.assertEqual(arguments[0], "serve")
        self.assertIn("--listen=:8080", arguments)
        for old, new in changes.items():
            self.assertTrue(any(old in each for each in arguments), old)
            arguments = [each.replace(old, new) for each in arguments]
        # Nobody waits for the end here.
        arguments = [each for each in arguments[1:] if each != "--listen=:8080" and not each.startswith("--drain-delay=")]
        # Each of these variables is a value of the secret.
        variables = {each["name"]: each["valueFrom"]["secretKeyRef"]["key"] for each in container.get("env", [])}
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
        self.assertEqual((context["readOnlyRootFilesystem"], context["allowPrivilegeEscalation"], context["capabilities"]),
                         (True, False, {"drop": ["ALL"]}))
        self.assertIn("memory", container["resources"]["limits"])

    def assertHasTimeToEnd(self, pod, container):
        times = [next(seconds(each.removeprefix(flag)) for each in container["args"] if each.startswith(flag))
                 for flag in ("--drain-delay=", "--drain=")]
        self.assertGreater(pod["terminationGracePeriodSeconds"], sum(times) + 1)

    @unittest.skipUnless(IS_INSTALLED, MISSING)
    def test_the_deployment(self):
        found = documents("diffserver.yaml")
        self.assertEqual(set(found), {"Deployment", "Service", "PodDisruptionBudget"})
        deployment = found["Deployment"]["spec"]
        pod = deployment["template"]["spec"]
        container = pod["containers"][0]
        labels = deployment["template"]["metadata"]["labels"]
        for selector in (deployment["selector"]["matchLabels"], found["Service"]["spec"]["selector"],
                         found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"]):
            self.assertEqual(selector, labels)
        self.assertLess(found["PodDisruptionBudget"]["spec"]["minAvailable"], deployment["replicas"])
        self.assertEqual(found["Service"]["spec"]["ports"][0]["targetPort"], container["ports"][0]["name"])
        self.assertIsConfined(container)
        # As in the image.
        self.assertIn(f"USER {pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}\n",
                      (ROOT / "Dockerfile").read_text())
        self.assertHasTimeToEnd(pod, container)
        self.assertEqual(container["env"][0]["valueFrom"]["secretKeyRef"], {"name": "diffserver", "key": "digests"})
        mounted = container["volumeMounts"][0]["mountPath"]
        key = "the key of the test"
        for name, text in (("keys", f"backend:{hashlib.sha256(key.encode()).hexdigest()}"), ("tokens", "x" * 64), ("redis", PASSWORD)):
            self.assertTrue(any(f"={mounted}/{name}" in each for each in container["args"]))
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(file.name, 0o440)
        redis = Redis(f"user diffserver on >{PASSWORD} ~diffserver:* &diffserver:* +@read +@write +@scripting +@pubsub +@connection "
                      "+multi +exec +role")
        self.addCleanup(redis.close)
        server = self.started(container, {mounted: self.folder, "redis:6379": f"127.0.0.1:{redis.port}"})
        self.assertProbesAreAnswered(container, server, {"readinessProbe": "/readyz?store=optional", "livenessProbe": "/livez"})
        made = once(server, "PUT", "/v1/sessions/s", {"state": ["a"]}, {"Authorization": f"Bearer {key}"})
        self.assertEqual(made.status, 201, made)
        self.assertEqual(once(server, "PUT", "/v1/sessions/s", {"state": ["a"]}).status, 401)

    def test_the_single_pod(self):
        pod = documents("single.yaml")["Pod"]["spec"]
        container = pod["containers"][0]
        self.assertIsConfined(container)
        self.assertHasTimeToEnd(pod, container)
        self.assertEqual(container["ports"][0]["hostIP"], "127.0.0.1")
        server = self.started(container, {})
        self.assertProbesAreAnswered(container, server, {"readinessProbe": "/readyz"})
        self.assertEqual(once(server, "PUT", "/v1/sessions/s", {"state": ["a"]}).status, 201)

    def test_the_commands_that_make_the_secret(self):
        """The secret has the hash of the key that is kept."""
        text = (FOLDER / "diffserver.yaml").read_text()
        made = re.search(r"#   (diffserver key .*)", text)[1].replace("diffserver", f"'{binary()}'", 1)
        found = re.search(r"--from-literal=keys=\"\$\((.*)\)\" ", text)[1]
        ran = subprocess.run(["sh", "-c", f"{made}\n{found}"], capture_output=True, text=True, check=True, cwd=self.folder)
        key = re.search(r"key: +(\S+)", pathlib.Path(self.folder, "backend.key").read_text())[1]
        values = set(re.findall(r"--from-literal=(\w+)=", text))
        self.assertEqual(values, {"keys", "tokens", "digests", "redis"})
        self.assertEqual(ran.stdout, f"backend:{hashlib.sha256(key.encode()).hexdigest()}\n")
