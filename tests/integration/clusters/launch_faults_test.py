# SPDX-License-Identifier: Apache-2.0
"""`gandem launch` with fake cluster programs that fail: checks the message and the
exit code, and that nothing is submitted by mistake. Tests with real clusters:
slurm_test.py, scripts/test_slurm.sh and scripts/test_kubernetes.sh."""

import os
import unittest

from harness import BIN, SMOKE, RunTest, Worker

USAGE = 2


class LaunchFaultsTest(RunTest):
    def setUp(self):
        super().setUp()
        self.programs = self.folder / "programs"
        self.programs.mkdir()
        self.calls = self.folder / "calls"
        self.calls.touch()
        self.launches = 0

    def play(self, name, script):
        """Installs a fake program of the cluster that records its arguments."""
        program = self.programs / name
        program.write_text(
            f"#!/bin/sh\necho {name} \"$@\" >> {self.calls}\n{script}\n")
        program.chmod(0o755)

    def play_slurm(self):
        """Installs a fake Slurm that accepts every job, as number 17."""
        self.play("sbatch", "echo 17")
        self.play("squeue", "")

    def asked(self, name):
        return [line for line in self.calls.read_text().splitlines()
                if line.split()[0] == name]

    def launch(self, cluster, *flags):
        self.launches += 1
        launch = Worker(
            [BIN / "gandem", "launch", cluster, SMOKE, *flags],
            self.folder / f"launch-{self.launches}",
            {"PATH": f"{self.programs}:{os.environ['PATH']}"})
        self.addCleanup(launch.process.wait)
        self.addCleanup(launch.process.kill)
        return launch

    def slurm(self, *flags):
        return self.launch("slurm", "--run_dir", self.folder / "run", *flags)

    def test_an_unknown_partition_is_told_in_the_words_of_slurm(self):
        self.play_slurm()
        words = "sbatch: error: invalid partition specified: nowhere"
        self.play("sbatch", f"echo '{words}' >&2; exit 1")
        launch = self.slurm("--partition", "nowhere")
        self.assertEqual(launch.wait(), USAGE, launch.text())
        self.assertIn(words, launch.text())
        self.assertIn("`sinfo --long` lists partitions", launch.text())

    def test_an_allocation_that_does_not_fit(self):
        self.play_slurm()
        launch = self.slurm("--nodes", "3")
        self.assertEqual(launch.wait(), USAGE, launch.text())
        self.assertIn("--nodes 3 is more than the 2 workers", launch.text())
        self.assertEqual(self.asked("sbatch"), [])
        # Nodes with less memory or fewer cores than the workers need.
        self.play("squeue", "")
        self.play("sbatch", "echo 'sbatch: error: Batch job submission failed: "
                  "Requested node configuration is not available' >&2; exit 1")
        launch = self.slurm("--set", "discriminator.threads=1000")
        self.assertEqual(launch.wait(), USAGE, launch.text())
        self.assertIn("Requested node configuration is not available",
                      launch.text())
        self.assertIn("--cpus-per-task",
                      (self.folder / "run/slurm/job.sbatch").read_text())

    def test_a_job_that_is_at_work_is_found_by_its_comment(self):
        self.play_slurm()
        comment = f"gandem:{self.folder.resolve()}/run"
        self.play("squeue", f"echo '17 {comment}'")
        launch = self.slurm()
        self.assertEqual(launch.wait(), 0, launch.text())
        self.assertIn("job 17 is at work on this run already", launch.text())
        self.assertEqual(self.asked("sbatch"), [])
        # If Slurm does not answer, no second job is submitted.
        self.play("squeue", "echo 'squeue: error: no contact' >&2; exit 1")
        launch = self.slurm()
        self.assertEqual(launch.wait(), USAGE, launch.text())
        self.assertIn("no contact", launch.text())
        self.assertEqual(self.asked("sbatch"), [])

    def test_a_launch_says_whose_job_it_is(self):
        self.play_slurm()
        launch = self.slurm()
        self.assertEqual(launch.wait(), 0, launch.text())
        self.assertIn("submitted job 17", launch.text())
        self.assertIn("scancel 17", launch.text())
        script = (self.folder / "run" / "slurm" / "job.sbatch").read_text()
        self.assertIn(f"#SBATCH --comment=gandem:{self.folder.resolve()}/run\n",
                      script)

    def test_a_missing_claim_is_told_before_anything_starts(self):
        self.play("kubectl", '[ "$1" = auth ]')
        launch = self.launch("kubernetes", "--image", "gandem:test", "--pvc",
                             "shared", "--data", "/gandem/data",
                             "-o", self.folder / "manifests")
        self.assertEqual(launch.wait(), USAGE, launch.text())
        self.assertIn("no persistentvolumeclaim 'shared' in namespace 'default'",
                      launch.text())
        self.assertEqual([call for call in self.asked("kubectl")
                          if "apply" in call], [])


if __name__ == "__main__":
    unittest.main()
