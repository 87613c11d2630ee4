"""serve, diff, key, token, healthcheck, help, version; ports, signals, variables."""

import base64
import hashlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import threading
import unittest

from support.appliers import DIALECTS
from support.client import Client, RawConnection, once, session_path, target
from support.clock import wait_for
from support.events import Stream
from support.outside import wait_until_nobody_listens, wait_until_read
from support.redis import IS_INSTALLED, MISSING, Redis
from support.server import Server, binary, environment, untimed
from support.states import canonical
from support.jsontext import exact

OLD, NEW = ["a", {"id": "b", "content": 1}], [{"id": "b", "content": 2}, "a", "c"]


def command(*arguments, text=None, variables=None, seconds=20):
    return subprocess.run([binary(), *arguments], input=text, capture_output=True, text=True, timeout=seconds,
                          env=environment(variables), check=False)


class Diff(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.old, self.new = (os.path.join(folder.name, name) for name in ("old.json", "new.json"))
        self.write(self.old, OLD)
        self.write(self.new, NEW)

    def write(self, path, state):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(state, file)

    def changes(self, *arguments, **how):
        """What is printed: `changes` as the service answers them."""
        ran = command("diff", *arguments, **how)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return exact(ran.stdout)

    def test_two_files_in_every_dialect(self):
        for dialect, rules in DIALECTS.items():
            with self.subTest(dialect):
                changes = self.changes(self.old, self.new, "--dialect", dialect)
                self.assertEqual(rules.applied(rules.expected(canonical(OLD)), changes), rules.expected(canonical(NEW)))

    def test_keyed_is_the_default(self):
        self.assertEqual(self.changes(self.old, self.new), self.changes(self.old, self.new, "--dialect", "keyed"))

    def test_flags_may_stand_anywhere(self):
        indexed = self.changes(self.old, self.new, "--dialect", "indexed")
        self.assertEqual(self.changes("--dialect", "indexed", self.old, self.new), indexed)
        self.assertEqual(self.changes(self.old, "--dialect", "indexed", self.new), indexed)

    def test_a_dash_is_standard_input(self):
        expected = self.changes(self.old, self.new)
        self.assertEqual(self.changes("-", self.new, text=json.dumps(OLD)), expected)
        self.assertEqual(self.changes(self.old, "-", text=json.dumps(NEW)), expected)

    def test_it_is_what_the_service_answers(self):
        server = Server()
        self.addCleanup(server.stop)
        answer = once(server, "POST", "/v1/diff", {"old": OLD, "new": NEW})
        self.assertEqual(self.changes(self.old, self.new), answer.exact["changes"])

    def test_the_pointers(self):
        self.write(self.old, {"rows": [{"k": 1}]})
        self.write(self.new, {"rows": [{"k": 1}, {"k": 2}]})
        changes = self.changes(self.old, self.new, "--items-at", "/rows", "--id-at", "/k")
        self.assertEqual([each["op"] for each in changes], ["insert"])

    def test_all_that_says_where_a_list_stands(self):
        old = {"data": [{"t": "a", "k": 1, "c": [{"t": "b", "k": 1}], "open": False}], "page": 1}
        new = {"data": [{"t": "a", "k": 1, "c": [{"t": "b", "k": 1}], "open": True}, {"t": "a", "k": 1}], "page": 2}
        self.write(self.old, old)
        self.write(self.new, new)
        flags = ("--items-at=/data", "--id-at", "/t", "--id-at", "/k", "--kind-at=/t", "--children-at", "/c", "--expanded-at",
                 "/open", "--rest", "/page", "--duplicates", "first", "--dialect", "json-patch")
        ran = command("diff", self.old, self.new, *flags)
        self.assertEqual((ran.returncode, ran.stderr), (0, f"diffserver: {self.new}: duplicate-id at /data/1\n"))
        query = {"itemsAt": "/data", "idAt": ["/t", "/k"], "kindAt": "/t", "childrenAt": "/c", "expandedAt": "/open",
                 "rest": "/page", "duplicates": "first", "dialect": "json-patch"}
        self.assertEqual(exact(ran.stdout), self.answer(old, new, query).exact["changes"])
        self.assertEqual([each["path"] for each in json.loads(ran.stdout)][0], "/content/page")
        old, new = {"x": {"items": {"a": {}}}}, {"x": {"items": {"b": {}, "a": {}}}}
        self.write(self.old, old)
        self.write(self.new, new)
        changes = self.changes(self.old, self.new, "--map", "--items-at", "/x/items")
        self.assertEqual(changes, self.answer(old, new, {"map": "true", "itemsAt": "/x/items"}).exact["changes"])

    def answer(self, old, new, query):
        server = Server()
        self.addCleanup(server.stop)
        return once(server, "POST", target("/v1/diff", query), {"old": old, "new": new})

    def test_what_is_wrong_is_one_clear_line_and_a_status(self):
        broken = self.old + ".broken"
        with open(broken, "w", encoding="utf-8") as file:
            file.write("[1,")
        self.write(self.new + ".twice", ["a", "a"])
        for arguments in ((self.old,), (), (self.old, self.new, self.new), (self.old, self.old + ".none"), (broken, self.new),
                          (self.old, self.new + ".twice"), (self.old, self.new, "--dialect", "none"), (self.old, self.new, "--nothing"),
                          (self.old, self.new, "--dialect"), (self.old, self.new, "--map"), (self.old, self.new, "--id-at", "k"),
                          (self.old, self.new, *["--id-at=/k"] * 5), (self.old, self.new, "--map", "--id-at=/k")):
            with self.subTest(arguments):
                ran = command("diff", *arguments, text="")
                self.assertNotEqual(ran.returncode, 0)
                self.assertGreater(ran.returncode, 0)
                self.assertEqual(ran.stdout, "")
                self.assertTrue(ran.stderr.startswith("diffserver: "), ran.stderr)

    def test_advice_is_in_the_command_s_own_words(self):
        self.write(self.old, [{"id": "a", "title": "A"}])
        ran = command("diff", self.old, self.new)
        self.assertGreater(ran.returncode, 0)
        self.assertIn("--id-at /id", ran.stderr)
        self.assertNotIn("idAt", ran.stderr)

    def test_a_closed_pipe_is_no_crash(self):
        ran = subprocess.run(["sh", "-c", f"'{binary()}' diff '{self.old}' '{self.new}' | true"], capture_output=True, text=True,
                             timeout=20, env=environment(), check=False)
        self.assertNotIn("Fatal", ran.stderr)


class Words(unittest.TestCase):
    def test_help_and_version(self):
        for arguments in (["help"], ["--help"], ["-h"]):
            with self.subTest(arguments):
                ran = command(*arguments)
                self.assertEqual((ran.returncode, ran.stderr), (0, ""))
                for word in ("serve", "diff", "version", "--listen", "DIFFSERVER_"):
                    self.assertIn(word, ran.stdout)
        for arguments in (["version"], ["--version"]):
            ran = command(*arguments)
            self.assertEqual(ran.returncode, 0)
            self.assertRegex(ran.stdout, r"[0-9]+\.[0-9]+")

    def test_help_names_every_limit_with_its_default(self):
        text = command("serve", "--help").stdout
        for option in re.findall(r"^  (--[a-z-]+)", text, re.M):
            self.assertNotEqual(command("serve", option, "\1nonsense", "--listen", "256.256.256.256:1").returncode, 0, option)
        for word in ("16 MiB", "16 KiB", "32 KiB", "100000", "10000", "64", "1h", "65s", "512 MiB"):
            self.assertIn(word, text)

    def test_what_is_not_known_is_one_clear_line_and_a_status(self):
        for arguments in (["nothing"], ["serve", "--nothing"], ["serve", "--listen"], ["serve", "--listen", "nowhere"],
                          ["serve", "--max-body", "lots"], ["serve", "--key", "no-hash"], ["serve", "--token-secret", "short"],
                          ["serve", "--ttl", "8d"], ["serve", "extra"], ["serve", "--listen", "127.0.0.1:99999"],
                          ["serve", "--log", "loud"], ["serve", "--max-items", "-1"]):
            with self.subTest(arguments):
                ran = command(*arguments)
                self.assertGreater(ran.returncode, 0, ran)
                self.assertEqual(ran.stdout, "")
                self.assertEqual(len(ran.stderr.strip().splitlines()), 1, ran.stderr)

    def test_each_command_says_what_it_takes(self):
        for name, words in (("serve", ("--max-body", "Examples:", "docs/operations.md")), ("diff", ("--id-at", "--dialect")),
                            ("key", ("NAME",)), ("token", ("--session", "--ttl")), ("healthcheck", ("/readyz",)),
                            ("check-lists", ("--try",))):
            told = [command(*arguments) for arguments in ([name, "--help"], [name, "-h"], ["help", name])]
            with self.subTest(name):
                self.assertEqual({(ran.returncode, ran.stderr, ran.stdout) for ran in told}, {(0, "", told[0].stdout)})
                self.assertTrue(told[0].stdout.startswith("Usage: diffserver "), told[0].stdout)
                for word in words:
                    self.assertIn(word, told[0].stdout)
        self.assertEqual(command("--open", "--help").stdout, command("serve", "--help").stdout)
        self.assertEqual(command("help", "nothing").returncode, 2)

    def test_an_address_that_is_taken_is_named_with_what_to_do(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            ran = command("serve", "--listen", address)
        self.assertEqual((ran.returncode, untimed(ran.stderr.splitlines()[-1])), (
            1, f"diffserver: {address}: already in use; stop the program that listens there, or choose another --listen"))

    def test_an_error_names_the_fault_and_no_secret(self):
        secret = "hunter2hunter2"
        for arguments, fault in (
                (["serve", "--max-body", "lots"], '--max-body: "lots" is not an amount from 1 to 1 GiB, such as 16MiB'),
                (["serve", "--ttl=8d"], '--ttl: "8d" is not a time above 0 and up to 7d'),
                (["serve", "--max-items", "-1"], '--max-items: "-1" is not a whole number from 1 to 1000000000'),
                (["serve", "--max-items="], "--max-items is empty"),
                (["serve", "--log", "loud"], '--log: "loud" is not text, json or none'),
                (["serve", "--event-loop", "select"], '--event-loop: "select" is not epoll or dispatch'),
                (["serve", "--open=maybe"], '--open: "maybe" is neither true nor false'),
                (["serve", "--listen"], "--listen needs a value: --listen ADDRESS"),
                (["serve", "--key", secret], "the value of --key is not NAME:SHA256"),
                (["serve", "--token-secret", secret], "the value of --token-secret is shorter than 32 bytes"),
                (["serve", f"--token-secret:{secret}"], 'unknown option "--token-secret"'),
                (["serve", "--token-secret-file", secret], "the --token-secret-file cannot be read: No such file"),
                (["serve", "--key-file", secret], "the --key-file cannot be read: No such file"),
                (["serve", "--key-file", __file__], "line 1 of the --key-file is not NAME:SHA256"),
                (["token", "--session", "s", "--token-secret", secret], "the value of --token-secret is shorter than 32 bytes"),
                (["token", "--session", "s"], "no secret to sign with"),
                (["token"], "token needs 1 to 64 sessions"),
                (["diff", "a"], "diff takes two files"),
                (["key", "--name"], 'unknown option "--name"; see diffserver key --help')):
            with self.subTest(arguments):
                ran = command(*arguments)
                self.assertEqual((ran.returncode, ran.stdout), (2, ""))
                self.assertTrue(ran.stderr.startswith(f"diffserver: {fault}"), ran.stderr)
                self.assertEqual(ran.stderr.count("diffserver: "), 1)
                self.assertNotIn("hunter", ran.stderr)

    def test_a_key_and_its_hash(self):
        ran = command("key", "bob")
        self.assertEqual(ran.returncode, 0)
        key = re.search(r"dsk_\S+", ran.stdout).group()
        self.assertIn(f"bob:{hashlib.sha256(key.encode()).hexdigest()}", ran.stdout)
        self.assertNotEqual(command("key", "bob").stdout, ran.stdout)

    def test_a_token_made_offline_is_taken(self):
        secret = "a secret of at least thirty-two bytes"
        ran = command("token", "--session", "s", "--scope", "read", "--ttl", "1m", "--token-secret", secret)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        server = Server("--token-secret", secret, "--key", "k:" + "0" * 64)
        self.addCleanup(server.stop)
        headers = {"Authorization": "Bearer " + ran.stdout.strip()}
        self.assertEqual(once(server, "GET", "/v1/sessions/s", None, headers).status, 404)
        self.assertEqual(once(server, "GET", "/v1/sessions/t", None, headers).status, 403)
        named = command("token", "--session", "s", "--client-id", "ann", "--token-secret", secret).stdout.split(".")[1]
        self.assertEqual(json.loads(base64.urlsafe_b64decode(named + "=" * (-len(named) % 4)))["client_id"], "ann")
        for name in ("", "x" * 129):
            self.assertIn("--client-id", command("token", "--session", "s", "--client-id", name, "--token-secret", secret).stderr)

    def test_healthcheck_says_whether_the_server_is_ready(self):
        server = Server()
        address = f"127.0.0.1:{server.port}"
        self.assertEqual(command("healthcheck", "--listen", address).returncode, 0)
        self.assertEqual(command("healthcheck", variables={"DIFFSERVER_LISTEN": address}).returncode, 0)
        self.assertEqual(server.stop(), 0)
        self.assertGreater(command("healthcheck", "--listen", address).returncode, 0)

    def test_healthcheck_over_tls_and_over_a_unix_socket(self):
        with tempfile.TemporaryDirectory() as folder:
            certificate, key, path = f"{folder}/certificate", f"{folder}/key", f"unix:{folder}/socket"
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=elsewhere.example",
                            "-keyout", key, "-out", certificate], check=True, capture_output=True)
            tls = ("--tls-certificate", certificate, "--tls-key", key)
            for server, options in ((Server(*tls), tls), (Server(listen=path), ())):
                address = server.address.split("://")[1]
                self.assertEqual(command("healthcheck", "--listen", address, *options).returncode, 0, address)
                if options:
                    self.assertGreater(command("healthcheck", "--listen", address).returncode, 0, "without encryption")
                    server.signal(signal.SIGHUP)
                    server.wait_for_line("^certificates reloaded$")
                self.assertEqual(server.stop(), 0)
                self.assertGreater(command("healthcheck", "--listen", address, *options).returncode, 0, address)


class Checking(unittest.TestCase):
    """`serve --check`, and arguments that nearly are options."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o600)
        return path

    def assertChecks(self, *options, says=(), fault=None, status=None, variables=None):
        ran = command("serve", "--check", *options, variables=variables)
        self.assertEqual(ran.returncode, (1 if fault else 0) if status is None else status, ran)
        self.assertRegex(ran.stderr, f"^diffserver: {fault}\n$" if fault else "^$")
        for line in says:
            self.assertIn(line, ran.stdout.splitlines())

    def test_files(self):
        keys = self.file("keys", f"a:{'0' * 64}\nb:{'1' * 64}\n")
        tokens = self.file("tokens", "x" * 32)
        lists = self.file("lists", '{"a": {"source": {"url": "http://127.0.0.1:9/"}}}')
        certificate, key = self.file("certificate", ""), self.file("key", "")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=here.example",
                        "-keyout", key, "-out", certificate], check=True, capture_output=True)
        self.assertChecks("--key-file", keys, "--token-secret-file", tokens, "--lists", lists, "--tls-certificate", certificate,
                          "--tls-key", key, says=("options: no faults", f"{keys}: 2 keys", f"{tokens}: 1 secret", f"{lists}: 1 list",
                                                  f"{certificate}: the certificate and its key can be used", "store: can be used"))
        self.assertChecks("--tls-certificate", certificate, "--tls-key", keys, fault=f".*{keys}.*")
        self.assertChecks("--key-file", tokens, fault="line 1 of the --key-file is not NAME:SHA256.*", status=2)
        self.assertChecks("--memory=lots", fault='--memory: "lots" is not an amount.*', status=2)

    def test_sqlite_is_left_as_it_is(self):
        path = os.path.join(self.folder, "sessions.db")
        self.assertChecks("--store", f"sqlite:{path}", says=("store: can be used",))
        self.assertEqual(os.listdir(self.folder), [])
        server = Server("--store", f"sqlite:{path}", "--digest-key", "one")
        try:
            said = "store: can be used; the key of the digests may be in the log beside it, and was not compared"
            self.assertChecks("--store", f"sqlite:{path}", "--digest-key", "one", says=(said,))
        finally:
            self.assertEqual(server.stop(), 0)
        self.assertChecks("--store", f"sqlite:{path}", "--digest-key", "another", fault=f"{path}: created with a different --digest-key")
        self.assertChecks("--store", f"sqlite:/{path}", "--digest-key", "one", says=("store: can be used",))
        self.assertEqual(os.listdir(self.folder), ["sessions.db"])
        self.assertChecks("--store", f"sqlite:{self.file('other', 'text')}", fault=".*/other: not an SQLite database")
        self.assertChecks("--store", f"sqlite:{self.folder}/none/sessions.db", fault=".*/none/sessions.db: No such file or directory")
        self.assertChecks("--store", f"sqlite:{self.folder}", fault=f"{self.folder}: Is a directory")

    def test_redis_is_asked_and_not_claimed(self):
        if not IS_INSTALLED:
            self.skipTest(MISSING)
        redis = Redis("requirepass right")
        self.addCleanup(redis.close)
        options = ("--store", f"redis://127.0.0.1:{redis.port}", "--digest-key", "one", "--store-password-file", self.file("p", "right"))
        self.assertChecks(*options, says=("store: can be used",))
        server = Server(*options)
        server.stop()
        self.assertChecks(*options, says=("store: can be used",))
        address = f"redis://127.0.0.1:{redis.port}: "
        self.assertChecks(*options, "--digest-key", "two", fault=address + "in use with a different --digest-key")
        self.assertChecks(*options, "--store-replicas", "1", fault=address + "0 of 1 replicas had the write within 1 s")
        self.file("p", "wrong")
        self.assertChecks(*options, fault=address + ".*WRONGPASS.*")
        redis.kill()
        self.assertChecks(*options, fault=address + ".*refused.*")

    def test_options_that_need_another_store(self):
        for option, complaint in (("--store-replicas=1", "--store-replicas requires a --store in Redis"),
                                  ("--store-prefix=a:", "--store-prefix requires a --store in Redis"),
                                  ("--store-max-size=1GiB", "--store-max-size requires --store sqlite:PATH"),
                                  ("--store-prefix=a{b}", '--store-prefix: "a{b}" is not 1 to 64 letters, digits and ._:-'),
                                  ("--store-replicas=17", '--store-replicas: "17" is not a whole number from 0 to 16'),
                                  ("--store-max-size=1", '--store-max-size: "1" is not an amount from 1 MiB to 1024 GiB, such as 2GiB')):
            with self.subTest(option):
                self.assertChecks(option, fault=re.escape(complaint), status=2)

    def test_misspelt_names_are_told(self):
        self.assertChecks("--memroy", "1", fault='unknown option "--memroy"; did you mean --memory\?', status=2)
        self.assertChecks("--maxBody", "1", fault='unknown option "--max"; did you mean --max-body\?', status=2)
        variables = {"DIFFSERVER_MEMROY": "1", "DIFFSERVER_TOKEN_SECRETS": "x", "DIFFSERVER_PORT": "tcp://10.0.0.1:80",
                     "DIFFSERVER_SERVICE_HOST": "10.0.0.1", "DIFFSERVER_SERVICE_PORT": "80", "DIFFSERVER_SERVICE_PORT_HTTP": "80",
                     "DIFFSERVER_PORT_80_TCP": "x", "DIFFSERVER_PORT_80_TCP_PROTO": "tcp", "DIFFSERVER_PORT_80_TCP_PORT": "80",
                     "DIFFSERVER_PORT_80_TCP_ADDR": "10.0.0.1", "DIFFSERVER_BINARY": "x"}
        ran = command("serve", "--check", variables=variables)
        self.assertEqual([line for line in ran.stdout.splitlines() if "warning" in line], [
            "warning: the variable DIFFSERVER_MEMROY is not read; did you mean DIFFSERVER_MEMORY?",
            "warning: the variable DIFFSERVER_TOKEN_SECRETS is not read; did you mean DIFFSERVER_TOKEN_SECRET?"])
        server = Server(variables={"DIFFSERVER_LOGG": "json"})
        self.addCleanup(server.stop)
        server.wait_for_line("^warning: the variable DIFFSERVER_LOGG is not read; did you mean DIFFSERVER_LOG\?$")


class Configuration(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name, "diffserver.json")

    def write(self, members):
        self.path.write_text(json.dumps(members), encoding="utf-8")

    def test_a_file_of_options_is_read_at_the_start_and_again(self):
        self.write({"maxItems": 1, "logRequests": True})
        server = Server("--config", str(self.path))
        self.addCleanup(server.stop)
        client = Client(server)
        self.assertEqual(client.request("POST", "/v1/sessions/a/changes", ["a", "b"]).status, 422)
        server.wait_for_line("^request method=POST")
        server.signal(signal.SIGHUP)
        server.wait_for_line("^configuration reloaded$")
        self.write({"maxItems": 2, "drain": "1s", "logRequests": True})
        server.signal(signal.SIGHUP)
        server.wait_for_line(r"^configuration reloaded \(a restart is needed for maxItems, drain\)$")
        self.write({"maxItmes": 2})
        server.signal(signal.SIGHUP)
        server.wait_for_line(r"^error: configuration not reloaded, old ones stay in use: .*diffserver\.json:1:2: there is no option "
                             r'"maxItmes"; did you mean "maxItems"\?$')

    def test_what_is_logged_changes_without_a_restart(self):
        self.write({})
        server = Server("--config", str(self.path))
        self.addCleanup(server.stop)
        given = Server("--config", str(self.path), "--log-requests", variables={"DIFFSERVER_LOG_SLOW": "3600000"})
        self.addCleanup(given.stop)
        state = [{"id": number, "content": "x" * 100} for number in range(40_000)]

        def told(each, members):
            """Whether a request has a line with this file, and whether one that takes more than a millisecond has another."""
            self.write(members)
            count = each.lines.count("configuration reloaded")
            each.signal(signal.SIGHUP)
            wait_for(lambda: each.lines.count("configuration reloaded") > count, "the file is read")
            start, client = len(each.lines), Client(each)
            self.assertEqual(client.request("POST", "/v1/diff", {"old": [], "new": state}).status, 200)
            client.close()
            # The last line comes after those of the request.
            count = each.lines.count("configuration reloaded")
            each.signal(signal.SIGHUP)
            wait_for(lambda: each.lines.count("configuration reloaded") > count, "the file is read")
            return tuple(any(line.startswith(words) for line in each.lines[start:]) for words in ("request ", "warning: slow request "))

        for members, said in (({}, (False, False)), ({"logRequests": True}, (True, False)), ({"logSlow": 1}, (False, True)),
                              ({"logRequests": False, "logSlow": 3_600_000}, (False, False)), ({"logRequests": True, "logSlow": 1}, (True, True))):
            with self.subTest(members):
                self.assertEqual(told(server, members), said)
                # The command line and variables win.
                self.assertEqual(told(given, members), (True, False))
        self.assertFalse([line for line in server.lines if "restart" in line])

    def test_a_mistake_ends_the_start_with_its_place(self):
        self.path.write_text('{\n  "maxBody": "8 potatoes"}', encoding="utf-8")
        ran = command("serve", "--config", str(self.path))
        self.assertEqual((ran.returncode, ran.stderr), (2, f'{self.path}:2:14: maxBody: "8 potatoes" is not an amount from '
                                                           "1 to 1 GiB, such as 16MiB\n"))

    def test_a_shell_completes_commands_options_and_values(self):
        self.path.write_text(command("completion", "bash").stdout, encoding="utf-8")
        ask = ('source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _diffserver; echo "${COMPREPLY[@]}"')
        for words, found in ((("wat",), "watch"), (("serve", "--lis"), "--listen --lists"), (("--log", ""), "text json none"),
                             (("diff", "--staging", "s"), "safe"), (("help", "ma"), "man"), (("serve", "--max-body", ""), "")):
            with self.subTest(words):
                ran = subprocess.run(["bash", "-c", ask, self.path, "diffserver", *words], capture_output=True, text=True, check=True)
                self.assertEqual(ran.stdout.strip(), found)

    # What a command offers after its name. Of zsh's completion system only what is called is there, and prints what it gets.
    OFFERS = {
        "bash": 'source "$0"; COMP_WORDS=(diffserver "$1" --); COMP_CWORD=2; _diffserver; printf "%s\\n" "${COMPREPLY[@]}"',
        "zsh": 'compadd() { print -l -- "$@" }; functions[_arguments]=$functions[compadd]; words=(diffserver "$1" --); CURRENT=3; source "$0"',
    }

    def test_both_shells_load_the_script_and_know_every_option(self):
        for shell, ask in self.OFFERS.items():
            self.path.write_text(command("completion", shell).stdout, encoding="utf-8")
            subprocess.run([shell, "-n", self.path], check=True)
            for name in ("serve", "diff", "token", "healthcheck", "check-lists", "copy", "shape", "watch"):
                with self.subTest(shell, command=name):
                    ran = subprocess.run([shell, "-c", ask, self.path, name], capture_output=True, text=True, check=True)
                    self.assertEqual(ran.stderr, "")
                    known = set(re.findall(r"^\*?(--[a-z-]+)", ran.stdout, re.MULTILINE))
                    helped = "serve" if name == "healthcheck" else name
                    told = set(re.findall(r"^  (--[a-z-]+)", command(helped, "--help").stdout, re.MULTILINE))
                    self.assertLessEqual(told, known)
                    self.assertTrue(known)


class Serving(unittest.TestCase):
    def test_serve_is_the_default_command(self):
        process = subprocess.Popen([binary(), "--listen", "127.0.0.1:0"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment())
        try:
            lines = [process.stderr.readline() for _ in range(2)]
            self.assertIn("listens on", "".join(lines))
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
        self.assertEqual(process.returncode, 0)

    def test_sigterm_and_sigint_end_it_with_0(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number):
                server = Server()
                server.signal(number)
                self.assertEqual(server.ended(), 0)

    def test_with_idle_connections_and_streams_it_ends_too(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number):
                server = Server("--drain", "2s")
                client = Client(server)
                self.addCleanup(client.close)
                first = client.request("POST", session_path("s", "changes"), ["a"]).json["to"]
                stream = Stream(server, session_path("s", "changes"), {"since": first})
                self.addCleanup(stream.close)
                unread = Stream(server, session_path("s", "changes"))
                self.addCleanup(unread.close)
                server.signal(number)
                self.assertEqual(server.ended(10), 0)

    def test_a_running_request_is_answered_before_it_ends(self):
        server = Server("--drain", "5s")
        body = json.dumps({"old": [], "new": list(range(1000))}).encode()
        connection = socket.create_connection((server.host, server.port), 20)
        self.addCleanup(connection.close)
        connection.sendall(b"POST /v1/diff HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body[:100])
        wait_until_read(server, connection)
        server.signal(signal.SIGTERM)
        wait_until_nobody_listens(server)
        connection.sendall(body[100:])
        answer = b""
        while data := connection.recv(65536):
            answer += data
        self.assertTrue(answer.startswith(b"HTTP/1.1 200 "), answer[:100])
        self.assertTrue(answer.endswith(b"}\n"))
        self.assertEqual(server.ended(), 0)

    def test_a_taken_port_is_one_clear_line_and_status_1(self):
        taken = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(taken.close)
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ran = command("serve", "--listen", address)
        self.assertEqual(ran.returncode, 1)
        told = [line for line in ran.stderr.splitlines() if "warning" not in line]
        self.assertEqual(len(told), 1, ran.stderr)
        self.assertIn(address, told[0])

    def test_a_port_taken_by_another_server_of_its_kind_is_taken(self):
        server = Server()
        self.addCleanup(server.stop)
        self.assertEqual(command("serve", "--listen", f"127.0.0.1:{server.port}").returncode, 1)

    def test_variables_configure_it_and_flags_win(self):
        server = Server(listen=None, variables={"DIFFSERVER_LISTEN": "127.0.0.1:0", "DIFFSERVER_MAX_BODY": "10"})
        self.addCleanup(server.stop)
        self.assertEqual(once(server, "POST", "/v1/diff", " " * 20).status, 413)
        server = Server("--max-body", "1KiB", variables={"DIFFSERVER_MAX_BODY": "10"})
        self.addCleanup(server.stop)
        self.assertEqual(once(server, "POST", "/v1/diff", " " * 20).status, 400)

    def test_the_same_digest_key_makes_the_same_digests(self):
        found = set()
        for options in (("--digest-key", "one"), ("--digest-key", "one"), ("--digest-key", "two"), ()):
            server = Server(*options)
            found.add(once(server, "PUT", "/v1/sessions/s", {"state": ["a"]}).json["revision"])
            self.assertEqual(server.stop(), 0)
        self.assertEqual(len(found), 3)

    def test_requests_are_logged_when_asked_as_json_lines_without_bodies(self):
        key = "a-secret-key"
        server = Server("--log", "json", "--log-requests", "--key", f"k:{hashlib.sha256(key.encode()).hexdigest()}")
        self.addCleanup(server.stop)
        client = Client(server)
        self.addCleanup(client.close)
        trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        client.request("POST", session_path("s", "changes"), ["a secret of the body"], {"traceparent": trace,
                       "Authorization": f"Bearer {key}"})
        client.request("GET", "/livez")
        server.wait_for_line("livez")
        lines = [json.loads(line) for line in server.lines]
        line = next(each for each in lines if "changes" in str(each))
        self.assertIn("201", str(line))
        self.assertIn("4bf92f3577b34da6a3ce929d0e0e4736", str(line))
        self.assertNotIn("secret", "\n".join(server.lines))
        self.assertEqual(server.stop(), 0)

    def test_it_listens_on_several_addresses(self):
        server = Server("--listen", "127.0.0.2:0")
        self.addCleanup(server.stop)
        other = server.wait_for_line(r"http://127\.0\.0\.2:(\d+)")
        with socket.create_connection(("127.0.0.2", int(other.group(1))), 10) as connection:
            connection.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            self.assertTrue(connection.recv(100).startswith(b"HTTP/1.1 200"))
        self.assertEqual(once(server, "GET", "/livez").status, 200)

    def test_concurrent_writers_are_put_in_one_order(self):
        server = Server()
        self.addCleanup(server.stop)
        once(server, "PUT", "/v1/sessions/s", {"state": []})
        seen, lock = [], threading.Lock()

        def write(writer):
            client = Client(server)
            for number in range(30):
                body = {"edits": [{"op": "insert", "items": [{"id": f"{writer}.{number}"}]}]}
                answer = client.request("POST", session_path("s", "changes"), body)
                with lock:
                    seen.append((answer.status, answer.json["from"], answer.json["to"]))
            client.close()

        writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for each in writers:
            each.start()
        for each in writers:
            each.join()
        self.assertEqual({status for status, _, _ in seen}, {200})
        self.assertEqual(len({before for _, before, _ in seen}), 120)
        self.assertEqual(len({after for _, _, after in seen}), 120)
        state = once(server, "GET", "/v1/sessions/s").json["state"]
        self.assertEqual(len(state["sections"][0]["items"]), 120)
