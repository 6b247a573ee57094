# SPDX-License-Identifier: Apache-2.0
"""`gandem profile` with real workers: its measurements, and its handling of dead
workers, of a kill in the middle, and of profiles of other recipes."""

import os
import pathlib
import re
import signal
import subprocess
import unittest

from harness import BIN, DEADLINE, SMOKE, TOKEN, RunTest, family, wait_for


class ProfileTest(RunTest):
    def setUp(self):
        super().setUp()
        self.output = self.folder / "profile.textproto"
        self.token = f"profile-{os.getpid()}-{self._testMethodName}"

    def command(self, *flags, recipe=SMOKE, budget="20s"):
        return [str(part) for part in
                [BIN / "gandem", "profile", recipe, "-o", self.output,
                 "--budget", budget, *flags]]

    def environment(self, **more):
        return {**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache"),
                TOKEN: self.token, **more}

    def profile(self, *flags, code=0, env=None, **options):
        """Output of the command, including error messages."""
        done = subprocess.run(
            self.command(*flags, **options), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=DEADLINE,
            env=self.environment(**(env or {})), check=False)
        text = done.stdout + done.stderr
        self.assertEqual(done.returncode, code, text)
        return text

    def probes(self):
        """The blocks of probes in the file."""
        text = self.output.read_text() if self.output.exists() else ""
        return re.findall(r"(?ms)^probes \{\n.*?^\}", text)

    def start_profile(self, *flags, env=None, **options):
        process = subprocess.Popen(
            self.command(*flags, **options), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=self.environment(**(env or {})))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_measures_both_roles_and_transfers(self):
        text = self.profile()
        self.assertRegex(text, r"generator, batch 16, 1 thread, .*: [\d.e-]+ s a")
        self.assertRegex(text, r"discriminator, batch 16, 1 thread, .*: ")
        self.assertIn("exchange over a socket: ", text)
        profile = self.output.read_text()
        for field in ("fingerprint {", "networks: ", "torch_version: ",
                      'name: "mlp_smoke"', "kind: EXCHANGE_SOCKET",
                      "kind: COLLECTIVE_MEMORY", "operation: FORWARD",
                      "operation: JUDGE", "operation: REAL",
                      "operation: CAPTURE_CRITIC"):
            self.assertIn(field, profile)
        for probe in self.probes():
            if "outcome: MEASURED" not in probe:
                continue
            number = {name: int(value) for name, value in
                      re.findall(r"(\w+_bytes): (\d+)", probe)}
            self.assertGreater(number["peak_bytes"], 1 << 20, probe)
            self.assertGreaterEqual(number["peak_bytes"],
                                    number["resting_bytes"], probe)

    def test_the_same_command_goes_on_and_a_cache_remembers(self):
        process = self.start_profile(budget="10m")
        wait_for(lambda: len(self.probes()) >= 2, "two probes")
        process.kill()
        process.wait()
        before = self.probes()
        # The workers ended with the command.
        wait_for(lambda: not family(self.token), "the workers to end")
        self.profile(budget="15s")
        after = self.probes()
        self.assertEqual(after[:len(before)], before)
        # In another folder, the cache has the results.
        self.output = self.folder / "elsewhere.textproto"
        text = self.profile(budget="1s")
        self.assertIn("resuming from", text)
        self.assertEqual(self.probes()[:len(after)], after)

    def test_ctrl_c_keeps_what_was_measured(self):
        process = self.start_profile(budget="10m")
        wait_for(lambda: len(self.probes()) >= 1, "a probe")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(DEADLINE), 75)
        self.assertGreaterEqual(len(self.probes()), 1)

    def test_a_killed_worker_is_a_result(self):
        # A worker with both roles; the profile does not need it.
        happened = self.folder / "happened"
        self.start_profile(budget="10m", env={
            "GANDEM_FAILPOINT":
                f"discriminator.after_update@colocated-0:3:{happened}"})
        died = wait_for(
            lambda: [probe for probe in self.probes()
                     if "outcome: DIED" in probe], "a probe that died")
        self.assertTrue(happened.exists())
        self.assertIn("role: COLOCATED", died[0])
        self.assertIn("it was killed by signal 9", died[0])
        # The other measurements continue.
        count = len(self.probes())
        wait_for(lambda: len(self.probes()) > count, "another probe")

    def test_a_worker_that_hangs_is_a_result(self):
        happened = self.folder / "happened"
        self.start_profile(budget="10m", env={
            "GANDEM_FAILPOINT": "hang discriminator.after_update"
                                f"@colocated-0:1:{happened}"})
        hung = wait_for(
            lambda: [probe for probe in self.probes()
                     if "outcome: TIMED_OUT" in probe], "a probe that hangs")
        self.assertTrue(happened.exists())
        self.assertIn("role: COLOCATED", hung[0])

    def test_without_one_role_there_is_no_profile(self):
        happened = self.folder / "happened"
        text = self.profile(code=2, env={
            "GANDEM_FAILPOINT":
                f"generator.after_update@generator-0:1:{happened}"})
        self.assertRegex(text, r"gandem profile: generator, batch 16.*DIED")
        self.assertIn("--fresh", text)
        # It is not retried automatically, and the failpoint has passed.
        self.assertIn("DIED", self.profile(code=2))
        self.assertIn("generator, batch 16", self.profile("--fresh"))

    def test_memory_that_is_not_enough(self):
        text = self.profile("--memory", "20MiB", code=2)
        self.assertIn("OUT_OF_MEMORY", text)
        self.assertIn("its limit is 20 MiB", text)
        self.assertIn("raise --memory", text)

    def test_other_profiles_are_refused_by_name(self):
        self.profile(budget="1s")
        whole = self.output.read_text()
        text = self.profile("--set", "generator.network.mlp.hidden=[33]",
                            code=2)
        self.assertIn("another model", text)
        self.assertIn("mlp_smoke", text)
        for field, value, said in (
                ("machine", '"Z80"', "processor 'Z80'"),
                ("cores", "1234", "cores '1234'"),
                ("release", '"0.0.1"', "version: gandem '0.0.1'")):
            self.output.write_text(re.sub(
                rf"(?m)^(\s+){field}: .*$", rf"\g<1>{field}: {value}", whole,
                count=1))
            text = self.profile(code=2)
            self.assertIn(said, text)
            self.assertIn(str(self.output), text)
        self.output.write_text("this is no profile")
        self.assertIn("profile.textproto:1:", self.profile(code=2))

    def test_bad_arguments_are_named(self):
        for flags, said in ((["--memory", "lots"], "--memory 'lots'"),
                            (["--set", "rounds=x"], "rounds"),
                            (["--data", self.folder / "none"], "none")):
            self.assertIn(said, self.profile(*flags, code=2))
        self.assertIn("--budget 'never'", self.profile(code=2, budget="never"))
        self.assertIn("nowhere", self.profile(
            code=2, recipe=pathlib.Path("nowhere.textproto")))

    def test_decoding_is_measured_where_the_images_are(self):
        text = self.profile(
            "--data", "/usr/share/datasets/fashion-mnist/"
            "train-images-idx3-ubyte.gz", budget="1s")
        self.assertRegex(text, r"images: \d+ a second with one decode thread")
        self.assertIn("images_per_decode_thread_second: ",
                      self.output.read_text())


if __name__ == "__main__":
    unittest.main()
