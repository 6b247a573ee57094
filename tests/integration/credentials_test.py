# SPDX-License-Identifier: Apache-2.0
"""Only holders of a run's token may join it, and across hosts only holders of its
certificate, which the run creates. Runs over mutual TLS end with the same bits.
Strangers are refused with a reason and change nothing."""

import contextlib
import json
import pathlib
import shutil
import socket
import subprocess
import unittest

import harness

SETS = ["rounds=12", "samples.every_rounds=0"]


def address_of_this_host():
    """An address that other hosts reach, or otherwise a name of this host that does
    not count as local. Connections to it are encrypted."""
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


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True,
                   capture_output=True, timeout=harness.DEADLINE)


@unittest.skipIf(shutil.which("openssl") is None, "there is no openssl")
class OwnCertificatesTest(harness.RunTest):
    """Certificates from the user."""

    def setUp(self):
        super().setUp()
        self.address = address_of_this_host()
        self.folder_of_keys = self.folder / "certs"
        self.folder_of_keys.mkdir()
        self.issue("ca")  # a certificate authority

    def issue(self, name, *extensions, signed_by=()):
        path = self.folder_of_keys / name
        added = [word for text in extensions for word in ("-addext", text)]
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                "-days", 2, "-keyout", f"{path}.key", "-out", f"{path}.crt",
                *added, *signed_by)

    def issue_for(self, host):
        kind = "IP" if host[0].isdigit() else "DNS"
        ca = self.folder_of_keys / "ca"
        self.issue(host, f"subjectAltName={kind}:{host}",
                   "extendedKeyUsage=serverAuth,clientAuth",
                   signed_by=["-CA", f"{ca}.crt", "-CAkey", f"{ca}.key"])
        return self.folder_of_keys / host

    def test_they_replace_those_of_the_run(self):
        plain = self.train("plain", sets=SETS)
        own, guest = self.issue_for(self.address), self.issue_for("guest")
        listen = ["--listen", f"{self.address}:0", "--certificates", own]
        by_hand = self.start("by-hand", sets=SETS,
                             flags=["--external", *listen])
        workers = [by_hand.start_worker("generator", ["--certificates", guest]),
                   by_hand.start_worker("discriminator", listen)]
        self.assertEqual(by_hand.wait(), 0, by_hand.text())
        for worker in workers:
            self.assertEqual(worker.wait(), 0, worker.text())
        self.assert_same_state(by_hand, plain)

    def test_bad_ones_are_found_at_the_start(self):
        own, guest = self.issue_for(self.address), self.issue_for("guest")
        cases = {
            "missing": (own.parent / "nobody", "nobody.crt"),
            "host": (guest, f"is not for {self.address}"),
        }
        for name, (path, message) in cases.items():
            with self.subTest(name):
                run = self.train(name, code=2, sets=SETS, flags=[
                    "--listen", f"{self.address}:0", "--certificates", path])
                self.assertIn(message, run.text())


class CredentialsTest(harness.RunTest):
    def setUp(self):
        super().setUp()
        self.address = address_of_this_host()
        self.listen = ["--listen", f"{self.address}:0"]

    def stranger(self, run, name, *flags):
        """Exit code and output of a generator that is started by hand."""
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
        children = self.train("children", sets=SETS, flags=self.listen)
        self.assert_same_state(children, plain)

        by_hand = self.start("by-hand", sets=SETS,
                             flags=["--external", *self.listen])
        workers = [by_hand.start_worker("generator"),
                   by_hand.start_worker("discriminator", self.listen)]
        self.assertEqual(by_hand.wait(), 0, by_hand.text())
        for worker in workers:
            self.assertEqual(worker.wait(), 0, worker.text())
        self.assert_same_state(by_hand, plain)

    def test_strangers_on_the_network_change_nothing(self):
        plain = self.train("plain", sets=SETS)
        run = self.start("run", sets=SETS, flags=["--external", *self.listen])
        run.control_address()
        secrets = run.dir / "state"
        others = plain.dir / "state"

        def with_files(name, token, certificates):
            """The token file of a folder with this token and these certificates."""
            folder = self.folder / name
            folder.mkdir()
            for text, file in ((token, "token"),
                               (certificates, "certificates.pem")):
                if text is not None:
                    (folder / file).write_text(text)
                    (folder / file).chmod(0o600)
            return folder / "token"

        token = (secrets / "token").read_text()
        certificates = (secrets / "certificates.pem").read_text()

        code, text = self.stranger(run, "no-token")
        self.assertEqual(code, 2, text)
        self.assertIn("or --token_file RUN_DIR/state/token", text)

        code, text = self.stranger(run, "no-folder", "--run_dir",
                                   self.folder / "nowhere")
        self.assertEqual(code, 2, text)
        self.assertIn("does this host see the run folder?", text)

        wrong = with_files("wrong", "0" * 64 + "\n", certificates)
        code, text = self.stranger(run, "token", "--token_file", wrong)
        self.assertEqual(code, 2, text)
        self.assertIn(f"refused the token of '{wrong}'", text)

        code, text = self.stranger(run, "plain", "--token_file",
                                   with_files("bare", token, None))
        self.assertNotEqual(code, 0, text)
        self.assertIn("no certificates to encrypt the connection", text)

        code, text = self.stranger(run, "insecure", "--insecure_network",
                                   "--token_file", secrets / "token")
        self.assertEqual(code, 75, text)
        self.assertIn("leave out --insecure_network here", text)

        code, text = self.stranger(
            run, "other", "--token_file", with_files(
                "foreign", token, (others / "certificates.pem").read_text()))
        self.assertEqual(code, 75, text)
        self.assertIn("certificate verify failed", text)

        refused = int(self.status(run)["refused_connections"])
        self.assertGreaterEqual(refused, 2)
        log = (run.dir / "logs" / "gandem.log").read_text()
        self.assertIn("refused a call of /gandem.Control/Register", log)
        run.start_worker("generator")
        run.start_worker("discriminator", self.listen)
        self.assertEqual(run.wait(), 0, run.text())
        self.assert_same_state(run, plain)

    def test_a_network_that_is_trusted_is_not_encrypted(self):
        run = self.train("run", sets=SETS,
                         flags=[*self.listen, "--insecure_network"])
        self.assertIn("connections between hosts are not encrypted", run.text())

    def test_the_secrets_are_nobodys_but_the_owners(self):
        run = self.start("run", sets=["rounds=1000000"])
        harness.wait_for(lambda: run.rounds() >= 1, "a round")
        file = run.dir / "state" / "token"
        certificates = run.dir / "state" / "certificates.pem"
        token = file.read_text().strip()
        self.assertEqual(len(token), 64)
        for secret in (file, certificates):
            self.assertEqual(secret.stat().st_mode & 0o7777, 0o600)
        family = harness.family(run.token)
        self.assertGreaterEqual(len(family), 3)
        for pid in family:
            for name in ("cmdline", "environ"):
                seen = pathlib.Path("/proc", str(pid), name).read_bytes()
                self.assertNotIn(token.encode(), seen, f"{name} of {pid}")
        self.assertEqual(self.status(run)["state"], "RUNNING")
        run.process.terminate()
        self.assertEqual(run.wait(), 75, run.text())
        for log in run.dir.glob("logs/*"):
            self.assertNotIn(token, log.read_text(errors="replace"))

        # A restart keeps the token, unless others could have read it.
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


if __name__ == "__main__":
    harness.main()
