# SPDX-License-Identifier: Apache-2.0
"""Who may take part in a run: holders of its token, and across hosts of a
certificate. Runs over mutual TLS end with the same bits; strangers are told
why they are refused, and change nothing."""

import contextlib
import json
import pathlib
import socket
import subprocess

import harness

SETS = ["rounds=12", "samples.every_rounds=0"]


def address_of_this_host():
    """One that other hosts reach; without any, a name of this host that nothing
    takes for one. What goes there is encrypted."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        with contextlib.suppress(OSError):
            probe.connect(("198.51.100.1", 9))  # sends nothing
            address = probe.getsockname()[0]
            if not address.startswith("127."):
                return address
    return "LOCALHOST"


def gandem(*arguments):
    return subprocess.run(
        [str(part) for part in (harness.BIN / "gandem", *arguments)],
        capture_output=True, text=True, timeout=harness.DEADLINE)


class CredentialsTest(harness.RunTest):
    def setUp(self):
        super().setUp()
        self.address = address_of_this_host()

    def make_certificates(self, name="certs"):
        """A folder with two hosts' certificates: this one's, and `guest`."""
        folder = self.folder / name
        made = gandem("certificates", folder, "--host", self.address,
                      "--host", "guest")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn(f"{folder}/ca.key here", made.stdout)
        return folder

    def stranger(self, run, name, *flags):
        """A generator that comes by hand; its exit code and what it says."""
        worker = harness.Worker(
            [harness.BIN / "generator_worker", "--control",
             run.control_address(), "--register_timeout_seconds", "3", *flags],
            self.folder / f"{name}.stranger", None)
        self.addCleanup(worker.process.wait)
        self.addCleanup(worker.process.kill)
        return worker.wait(), worker.text()

    def status(self, run, *flags):
        asked = gandem("status", run.dir, "--json", *flags)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        return json.loads(asked.stdout)

    def test_a_run_over_tls_ends_with_the_same_bits(self):
        plain = self.train("plain", sets=SETS)
        certs = self.make_certificates()
        own = certs / self.address
        listen = ["--listen", f"{self.address}:0", "--certificates", own]
        children = self.train("children", sets=SETS, flags=listen)
        self.assert_same_state(children, plain)

        by_hand = self.start("by-hand", sets=SETS,
                             flags=["--external", *listen])
        workers = [
            by_hand.start_worker("generator",
                                 ["--certificates", certs / "guest"]),
            by_hand.start_worker("discriminator", listen)]
        self.assertEqual(by_hand.wait(), 0, by_hand.text())
        for worker in workers:
            self.assertEqual(worker.wait(), 0, worker.text())
        self.assert_same_state(by_hand, plain)

    def test_strangers_on_the_network_change_nothing(self):
        plain = self.train("plain", sets=SETS)
        certs = self.make_certificates()
        others = self.make_certificates("others")
        own = ["--certificates", certs / self.address]
        listen = ["--listen", f"{self.address}:0", *own]
        run = self.start("run", sets=SETS, flags=["--external", *listen])
        run.control_address()
        token = run.dir / "state" / "token"
        wrong = self.folder / "wrong"
        wrong.write_text("0" * 64 + "\n")
        wrong.chmod(0o600)

        code, text = self.stranger(run, "no-token", *own)
        self.assertEqual(code, 2, text)
        self.assertIn("pass --token_file with RUN_DIR/state/token", text)

        code, text = self.stranger(run, "token", "--token_file", wrong, *own)
        self.assertEqual(code, 2, text)
        self.assertIn(f"refused the token of '{wrong}'", text)

        code, text = self.stranger(run, "plain", "--token_file", token)
        self.assertNotEqual(code, 0, text)
        self.assertIn("would travel unencrypted", text)

        code, text = self.stranger(run, "insecure", "--token_file", token,
                                   "--insecure_network")
        self.assertEqual(code, 75, text)
        self.assertIn("it demands certificates: pass --certificates", text)

        code, text = self.stranger(run, "other", "--token_file", token,
                                   "--certificates", others / "guest")
        self.assertEqual(code, 75, text)
        self.assertIn("another authority", text)

        revoked = gandem("certificates", certs, "--revoke", "guest")
        self.assertEqual(revoked.returncode, 0, revoked.stderr)
        code, text = self.stranger(run, "revoked", "--token_file", token,
                                   "--certificates", certs / "guest")
        self.assertEqual(code, 2, text)
        self.assertIn("it is revoked", text)

        refused = int(self.status(run)["refused_connections"])
        self.assertGreaterEqual(refused, 2)
        log = (run.dir / "logs" / "gandem.log").read_text()
        self.assertIn("refused a call of /gandem.Control/Register", log)
        for name in ("generator", "discriminator"):
            run.start_worker(name, listen if name == "discriminator" else own)
        self.assertEqual(run.wait(), 0, run.text())
        self.assert_same_state(run, plain)

    def test_the_token_is_nobodys_but_the_owners(self):
        run = self.start("run", sets=["rounds=1000000"])
        harness.wait_for(lambda: run.rounds() >= 1, "a round")
        file = run.dir / "state" / "token"
        token = file.read_text().strip()
        self.assertEqual(len(token), 64)
        self.assertEqual(file.stat().st_mode & 0o7777, 0o600)
        family = harness.family(run.token)
        self.assertGreaterEqual(len(family), 3)
        for pid in family:
            for name in ("cmdline", "environ"):
                seen = pathlib.Path("/proc", str(pid), name).read_bytes()
                self.assertNotIn(token.encode(), seen, f"{name} of {pid}")
        # What somebody removes comes back, the same.
        file.unlink()
        harness.wait_for(file.exists, "the token")
        self.assertEqual(file.read_text().strip(), token)
        self.assertEqual(self.status(run)["state"], "RUNNING")
        run.process.terminate()
        self.assertEqual(run.wait(), 75, run.text())
        for log in run.dir.glob("logs/*"):
            self.assertNotIn(token, log.read_text(errors="replace"))

        # A restart keeps it, unless others may have read it.
        sets = ["rounds=1000000"]
        file.chmod(0o644)
        refused = self.train("run", code=2, sets=sets)
        self.assertIn(f"chmod 600 {file}", refused.text())
        file.chmod(0o600)
        again = self.start("run", sets=sets)
        before = again.rounds()
        harness.wait_for(lambda: again.rounds() > before, "a round")
        self.assertEqual(file.read_text().strip(), token)
        again.process.terminate()
        self.assertEqual(again.wait(), 75, again.text())

    def test_bad_certificates_are_found_at_the_start(self):
        certs = self.make_certificates()
        listen = ["--listen", f"{self.address}:0", "--certificates"]
        cases = {
            "several": (certs, "say which one is this host's"),
            "missing": (certs / "nobody", "nobody.crt"),
            "host": (certs / "guest", f"is not for {self.address}"),
        }
        for name, (path, message) in cases.items():
            with self.subTest(name):
                run = self.train(name, code=2, sets=SETS,
                                 flags=[*listen, path])
                self.assertIn(message, run.text())
        again = gandem("certificates", certs, "--host", "guest")
        self.assertEqual(again.returncode, 2)
        self.assertIn("is not overwritten", again.stderr)


if __name__ == "__main__":
    harness.main()
