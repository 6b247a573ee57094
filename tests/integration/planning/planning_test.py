# SPDX-License-Identifier: Apache-2.0
"""The three commands of docs/planning.md with real workers (profile, plan, train
with the plan), and the single command that does all three."""

import math
import os
import pathlib
import re
import shlex
import subprocess
import unittest

from chaos import sandbox
from harness import (BIN, DEADLINE, SMOKE, RunTest, command_of, descendants,
                     wait_for)


def peak_bytes(pid):
    """Peak resident memory (VmHWM), or 0 if the process has ended."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"(?m)^VmHWM:\s+(\d+) kB$", status)
    return 1024 * int(found.group(1)) if found else 0


class PlanningTest(RunTest):
    measured = ""

    def setUp(self):
        super().setUp()
        self.profile = self.folder / "profile.textproto"

    def measure_profile(self):
        """Measures the profile only once for all tests."""
        if not PlanningTest.measured:
            self.gandem("profile", SMOKE, "-o", self.profile, "--budget", "30s")
            PlanningTest.measured = self.profile.read_text()
        self.profile.write_text(PlanningTest.measured)

    def gandem(self, *arguments, code=0, env=None):
        """Output of the command, including error messages."""
        done = subprocess.run(
            [str(part) for part in [BIN / "gandem", *arguments]],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=2 * DEADLINE, check=False,
            env={**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache"),
                 **(env or {})})
        text = done.stdout + done.stderr
        self.assertEqual(done.returncode, code, text)
        return text

    def test_profile_plan_train(self):
        profile = self.folder / "profile.textproto"
        plan = self.folder / "plan.textproto"
        self.gandem("profile", SMOKE, "-o", profile, "--budget", "30s")
        text = profile.read_text()
        for role in ("generator", "discriminator"):
            self.assertRegex(
                text, rf"{role}_state \{{\n\s+parameter_bytes: [1-9]\d*\n")

        table = self.gandem("plan", SMOKE, "--profile", profile, "-o", plan)
        self.assertIn("img/s", table)
        self.assertIn("why 1:", table)
        self.assertIn("colocated", table)
        candidates = plan.read_text().count("candidates {")
        self.assertGreaterEqual(candidates, 1)
        # The profile is still there.
        kept = self.gandem("plan", SMOKE, "-o", self.folder / "other")
        self.assertIn("img/s", kept)

        run = self.folder / "run"
        text = self.gandem("train", "--plan", plan, "--run_dir", run)
        self.assertIn("plan: ", text)
        self.assertTrue((run / "plan.textproto").exists())

        text = self.gandem("train", SMOKE, "--plan", "AUTO", "--devices", 1,
                           "--run_dir", self.folder / "auto")
        self.assertIn("plan: colocated, 1 thread", text)

    def test_a_recipe_as_it_is(self):
        self.measure_profile()
        plan = self.folder / "plan.textproto"
        flags = ["--profile", self.profile, "--as_it_is"]
        text = self.gandem("plan", SMOKE, *flags, "--set",
                           "discriminator.workers=2", "-o", plan)
        self.assertIn("1 G + 2 D, 1 thread, SNAPSHOT, lag 1", text)
        self.assertIn("no other settings were tried", text)
        self.assertEqual(plan.read_text().count("candidates {"), 1)
        self.assertIn("colocated, 1 thread", self.gandem(
            "plan", SMOKE, *flags, "--colocated"))
        # No plan file is written, which could replace the user's.
        self.assertFalse(pathlib.Path("plan.textproto").exists())
        self.assertIn("discriminator.workers", self.gandem(
            "plan", SMOKE, *flags, "--set", "discriminator.workers=0",
            code=2))

    def test_a_profile_that_was_stopped_early_says_so(self):
        self.measure_profile()
        parts = re.split(r"(?m)^(?=\w)", self.profile.read_text())
        probes = [part for part in parts if part.startswith("probes {")]
        self.profile.write_text("".join(
            part for part in parts if part not in probes[2:]))
        text = self.gandem("plan", SMOKE, "--profile", self.profile, "-o",
                           self.folder / "plan.textproto")
        self.assertRegex(text, r"questions that the profile leaves open: \d+; "
                               r"the first: generator, batch 8, 1 thread")
        self.assertIn(f"gandem profile {SMOKE} -o {self.profile} --budget MORE",
                      text)
        self.assertNotIn("leaves open", self.gandem(
            "plan", SMOKE, "--profile", self.profile, "--as_it_is"))

    def peaks(self, *arguments):
        """Peak memory of each worker of a run, in bytes."""
        process = subprocess.Popen(
            [str(part) for part in [BIN / "gandem", *arguments]],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        peaks = {}

        def is_over():
            for pid in descendants(process.pid):
                if command_of(pid).endswith("_worker"):
                    peaks[pid] = max(peaks.get(pid, 0), peak_bytes(pid))
            return process.poll() is not None
        wait_for(is_over, "the run")
        self.assertEqual(process.returncode, 0)
        return list(peaks.values())

    def plan_for(self, memory, code=0):
        """Output of `gandem plan`, which writes plan.textproto."""
        return self.gandem("plan", SMOKE, "--profile", self.profile,
                           "--memory", f"{memory}MiB", "-o",
                           self.folder / "plan.textproto", code=code)

    def least_memory(self):
        """Least memory of a plan in MiB. The message that nothing fits names
        exactly the memory of one process."""
        text = self.plan_for(1, code=2)
        return int(re.search(r"--memory (\d+)MiB", text).group(1))

    @staticmethod
    def apart(plan):
        """Number (from 1) of the first candidate with separate networks, and the
        total bytes of its workers."""
        candidates = plan.read_text().split("candidates {")[1:]
        number = next(i for i, text in enumerate(candidates, 1)
                      if re.search(r'name: "\d+ G \+ ', text))
        text = candidates[number - 1]
        return number, sum(
            int(re.search(rf"{role}_bytes: (\d+)", text).group(1))
            * len(re.findall(rf"role: {role.upper()}\n", text))
            for role in ("generator", "discriminator"))

    def test_a_run_by_a_plan_keeps_its_memory(self):
        self.measure_profile()
        plan = self.folder / "plan.textproto"
        least = self.least_memory()
        self.plan_for(least)
        self.assertEqual(plan.read_text().count("role: COLOCATED"),
                         plan.read_text().count("candidates {"))
        peaks = self.peaks("train", "--plan", plan, "--run_dir",
                           self.folder / "least")
        self.assertEqual(len(peaks), 1)
        self.assertLessEqual(peaks[0], least << 20)
        self.assertGreater(peaks[0], 0.85 * (least << 20))

        # A plan with separate networks that just fits.
        self.plan_for(10 * least)
        apart, need = self.apart(plan)
        peaks = self.peaks("train", "--plan", plan, "--candidate", apart,
                           "--run_dir", self.folder / "apart")
        self.assertGreaterEqual(len(peaks), 2)
        self.assertLessEqual(sum(peaks), 1.05 * need)

    def programs_in(self, group):
        """A folder of workers that enter the control group before they start, so
        that all of their memory counts."""
        programs = self.folder / group.folder.name
        programs.mkdir()
        for role in ("generator", "discriminator", "colocated"):
            program = programs / f"{role}_worker"
            program.write_text(
                "#!/bin/sh -e\n"
                f"echo $$ > {shlex.quote(f'{group.folder}/cgroup.procs')}\n"
                f"exec {shlex.quote(f'{BIN}/{role}_worker')} \"$@\"\n")
            program.chmod(0o755)
        return programs

    def train_within(self, mebibytes, *arguments):
        """Trains by plan.textproto with a limit on the workers' total memory."""
        name = f"gandem-{self.folder.name}-{mebibytes}"
        try:
            group = sandbox.MemoryLimit(name, mebibytes << 20)
        except sandbox.Unavailable as missing:
            self.skipTest(str(missing))
        self.addCleanup(group.close)
        self.gandem("train", "--plan", self.folder / "plan.textproto",
                    "--run_dir", self.folder / f"run-{mebibytes}", *arguments,
                    env={"GANDEM_PROGRAMS": str(self.programs_in(group))})
        self.assertFalse(group.has_killed())

    def test_workers_by_a_plan_need_no_more_than_it_was_given(self):
        self.measure_profile()
        least = self.least_memory()
        self.plan_for(least)
        self.train_within(least)

        plan = self.folder / "plan.textproto"
        self.plan_for(10 * least)
        _, need = self.apart(plan)
        # Includes the plan's reserve (docs/cost_model.md section 7).
        budget = math.ceil(1.08 * need / 2**20)
        self.plan_for(budget)
        number, _ = self.apart(plan)
        self.train_within(budget, "--candidate", number)

    def test_bad_plans_are_refused_by_name(self):
        self.measure_profile()
        hosts = self.folder / "hosts.textproto"
        hosts.write_text('hosts { name: "a" cores: 2 }\n' * 2)
        other = ["--set", "generator.network.mlp.hidden=[33]"]
        for flags, *said in (
                (other, "another model", "mlp_smoke", "gandem profile"),
                (["--memory", "1MiB"], "no plan fits the memory", "--memory "),
                (["--memory", "0"], "--memory '0'", "40GiB"),
                (["--devices", "4096"], "--devices", "--hosts FILE"),
                (["--link", "0Gbit"], "--link '0Gbit'", "25Gbit"),
                (["--lag", "3..2"], "--lag '3..2'", "0..4"),
                (["--lag", "64"], "--lag '64'", "is at most 20"),
                (["--set", "schedule.discriminator_steps_per_round=3"],
                 "REUSED", "generator.batch_size=48"),
                (["--hosts", hosts], "hosts[1].name 'a' is there twice",
                 "link is missing"),
                (["--noise_of", self.folder], "no metrics")):
            with self.subTest(flags):
                text = self.gandem("plan", SMOKE, "--profile", self.profile,
                                   *flags, "-o", self.folder / "none", code=2)
                for part in said:
                    self.assertIn(part, text)
        self.assertFalse((self.folder / "none").exists())

    def test_without_a_profile_the_plan_says_how_to_make_one(self):
        text = self.gandem("plan", SMOKE, "-o", self.folder / "plan", code=2)
        self.assertIn("gandem profile", text)
        self.assertFalse((self.folder / "plan").exists())


if __name__ == "__main__":
    unittest.main()
