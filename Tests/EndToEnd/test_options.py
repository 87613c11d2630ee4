"""Every option with useless values: a clean start, or one line and status 2. And where secrets may be seen."""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import unittest

from support.client import Client
from support.server import Server, binary, environment
from test_command_line import command
from test_tokens_and_keys import KEY, hashed

AMOUNTS = ("0", "1", "-1", "9223372036854775807", "4611686018427387904", "9" * 40, "NaN", "", " ", "1e3",
           "8796093022207GiB", "106751991167301d", "7d", "1099511627776", "1GiB")


class Amounts(unittest.TestCase):
    """A start with each option at each amount, some at once."""

    def started(self, option, amount, variables=None):
        """Starts a server, posts to it, ends it; returns what is wrong with that, or None."""
        arguments = [] if variables else [f"{option}={amount}"]
        name = next(iter(variables)) if variables else option
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen(
                [binary(), "serve", "--listen=127.0.0.1:0", *arguments], cwd=folder, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment(variables))
            try:
                log = ""
                for line in process.stderr:
                    log += line
                    if "listens on" in line:
                        break
                else:
                    status = process.wait(20)
                    is_one_line = len(log.splitlines()) == 1 and log.startswith("diffserver: ")
                    return None if status == 2 and is_one_line and name in log else f"{status}: {log}"
                address = re.search(r"http://127\.0\.0\.1:(\d+)", log)
                if address:
                    self.post(int(address.group(1)))
                process.send_signal(signal.SIGTERM)
                _, rest = process.communicate(timeout=20)
                return None if process.returncode == 0 else f"{process.returncode}: {log}{rest}"
            finally:
                process.kill()
                process.communicate()

    def post(self, port):
        """A state, in two pieces, and a read: whatever calculates with the amount has done so. Any answer will do."""
        body = b'{"sections":[{"id":"s","items":[{"id":"a","items":[{"id":"b"}]}]}]}'
        try:
            with socket.create_connection(("127.0.0.1", port), 10) as connection:
                line = b" /v1/sessions/s/changes HTTP/1.1\r\nHost: localhost\r\n"
                connection.sendall(b"POST" + line + b"Content-Length: %d\r\n\r\n" % len(body) + body[:10])
                connection.sendall(body[10:] + b"GET" + line + b"Connection: close\r\n\r\n")
                connection.settimeout(2)
                while connection.recv(65536):
                    pass
        except OSError:
            pass  # Closed at once for lack of a byte, or of time.

    def test_a_clean_start_or_one_line_and_status_2(self):
        options = re.findall(r"^  (--[a-z-]+)", command("serve", "--help").stdout, re.MULTILINE)
        self.assertGreater(len(options), 40)
        cases = [(option, amount, None) for option in options for amount in AMOUNTS]
        cases += [(option, "", {"DIFFSERVER_" + option[2:].upper().replace("-", "_"): ""}) for option in options]
        found, lock = [], threading.Lock()
        todo = iter(cases)

        def work():
            while True:
                with lock:
                    case = next(todo, None)
                if case is None:
                    return
                trouble = self.started(*case)
                if trouble:
                    with lock:
                        found.append(f"{case[0]}={case[1]!r} {case[2] or ''}: {trouble}")

        workers = [threading.Thread(target=work) for _ in range(2 * (os.cpu_count() or 2))]
        for each in workers:
            each.start()
        for each in workers:
            each.join()
        self.assertEqual(found, [])


class Secrets(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, name, text, mode=0o600):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def test_from_files_they_are_taken_and_shown_to_nobody(self):
        secret = "the secret of tokens, in a file of its own"
        options = ("--key-file", self.file("keys", f"writer:{hashed(KEY)}\n"),
                   "--token-secret-file", self.file("secret", secret + "\n"))
        server = Server(*options)
        self.addCleanup(server.stop)
        client = Client(server)
        self.addCleanup(client.close)
        made = client.request("PUT", "/v1/sessions/s", {"state": []}, {"Authorization": f"Bearer {KEY}"})
        self.assertEqual(made.status, 201, made)
        minted = command("token", "--session", "s", "--token-secret-file", options[3])
        self.assertEqual((minted.returncode, minted.stderr), (0, ""))
        token = minted.stdout.strip()
        self.assertEqual(token.count("."), 2)
        read = client.request("GET", "/v1/sessions/s", None, {"Authorization": f"Bearer {token}"})
        self.assertEqual(read.status, 200, read)
        by_variable = command("token", "--session", "s", variables={"DIFFSERVER_TOKEN_SECRET_FILE": options[3]})
        self.assertEqual(by_variable.returncode, 0, by_variable)
        with open(f"/proc/{server.pid}/cmdline", "rb") as shown:
            self.assertNotIn(secret.encode(), shown.read())
        self.assertFalse([line for line in server.lines if secret in line or "warning" in line], server.lines)

    def test_a_file_that_all_may_read_is_a_warning(self):
        server = Server("--token-secret-file", self.file("secret", "x" * 32, 0o644))
        self.addCleanup(server.stop)
        self.assertTrue(any("warning" in line and "--token-secret-file" in line for line in server.lines), server.lines)

    def test_they_are_in_no_line_about_a_store_that_does_not_answer(self):
        secret = "hunter2hunter2"
        for address in (f"redis://u:{secret}@127.0.0.1:1", f"redis://:{secret}@127.0.0.1:1/"):
            with self.subTest(address):
                server = Server("--store", address)
                try:
                    server.wait_for_line("redis")
                finally:
                    server.stop()
                self.assertFalse([line for line in server.lines if secret in line], server.lines)

    def test_they_are_in_no_message_and_no_line_of_the_log(self):
        secret = "hunter2hunter2"
        for arguments in (["--key", secret], ["--token-secret", secret], [f"--key={secret}"],
                          ["--token-secret", "x" * 32, secret], ["--key-file", self.file("keys", secret)],
                          ["--token-secret-file", self.file("short", secret)],
                          ["--store-password-file", self.file("password", secret)],
                          ["--store", f"redis://u:{secret}@h:1:2"]):
            with self.subTest(arguments):
                ran = command("serve", "--listen", "127.0.0.1:0", *arguments, seconds=30)
                self.assertGreater(ran.returncode, 0, ran)
                self.assertNotIn(secret, ran.stderr)
        for name in ("KEY", "TOKEN_SECRET", "STORE"):
            with self.subTest(name):
                ran = command("serve", variables={f"DIFFSERVER_{name}": secret})
                self.assertEqual(ran.returncode, 2, ran)
                self.assertNotIn(secret, ran.stderr)


class WithoutProc(unittest.TestCase):
    def test_arguments_that_cannot_be_read_are_not_none(self):
        unshare = shutil.which("unshare")
        script = f"mount -t tmpfs none /proc && exec '{binary()}' serve --key nonsense"
        ran = subprocess.run([unshare or "false", "-rm", "sh", "-c", script], capture_output=True, text=True,
                             timeout=20, env=environment(), check=False)
        if unshare is None or "diffserver" not in ran.stderr:
            self.skipTest(f"no /proc of its own here: {ran.stderr}")
        self.assertEqual(ran.returncode, 2, ran)
        self.assertIn("/proc", ran.stderr)
