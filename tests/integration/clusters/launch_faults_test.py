# SPDX-License-Identifier: Apache-2.0
"""What `gandem launch` says when a cluster does not do what it is asked, with
programs that play the cluster's: message, exit code, and nothing submitted that
should not be. Real clusters: slurm_test.py, scripts/test_slurm.sh and
scripts/test_kubernetes.sh."""

import os
import signal
import unittest

from harness import BIN, SMOKE, RunTest, Worker, wait_for

USAGE = 2
INTERNAL = 70
PENDING = "JobId=17 JobState=PENDING Reason=Resources ExitCode=0:0"
RUNNING = "JobId=17 JobState=RUNNING Reason=None ExitCode=0:0"
DONE = "JobId=17 JobState=COMPLETED Reason=None ExitCode=0:0"
# As Slurm says it of a script whose output it cannot open.
NO_FOLDER = "JobId=17 JobState=FAILED Reason=JobLaunchFailure ExitCode=0:53 " \
            "NodeList=n[1-3] BatchHost=n1"
FAILED = "JobId=17 JobState=FAILED Reason=NonZeroExitCode ExitCode={}:0 " \
         "NodeList=n[1-3] BatchHost=n1"


class LaunchFaultsTest(RunTest):
    def setUp(self):
        super().setUp()
        self.programs = self.folder / "programs"
        self.programs.mkdir()
        self.calls = self.folder / "calls"
        self.calls.touch()
        self.job = self.folder / "job"
        self.launches = 0

    def play(self, name, script):
        """A program of the cluster, which keeps what it is asked."""
        program = self.programs / name
        program.write_text(
            f"#!/bin/sh\necho {name} \"$@\" >> {self.calls}\n{script}\n")
        program.chmod(0o755)

    def play_slurm(self, state):
        """One that takes every job, as number 17."""
        self.job.write_text(state + "\n")
        self.play("sbatch", "echo 17")
        self.play("squeue", "")
        self.play("scontrol", f"cat {self.job}")
        self.play("scancel", "")

    def set_state(self, state):
        new = self.folder / "job.new"
        new.write_text(state + "\n")
        new.rename(self.job)

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
        self.play_slurm(RUNNING)
        words = "sbatch: error: invalid partition specified: nowhere"
        self.play("sbatch", f"echo '{words}' >&2; exit 1")
        launch = self.slurm("--partition", "nowhere")
        self.assertEqual(launch.wait(), USAGE, launch.text())
        self.assertIn(words, launch.text())
        self.assertIn("`sinfo --long` lists partitions", launch.text())
        self.assertFalse((self.folder / "run" / "slurm" / "job.id").exists())

    def test_an_allocation_that_does_not_fit(self):
        self.play_slurm(RUNNING)
        launch = self.slurm("--layout", "het", "--nodes", "1")
        self.assertEqual(launch.wait(), USAGE, launch.text())
        self.assertIn("--layout one", launch.text())
        launch = self.slurm("--nodes", "3")
        self.assertEqual(launch.wait(), USAGE, launch.text())
        self.assertIn("--nodes 3 is more than the 2 workers", launch.text())
        self.assertEqual(self.asked("sbatch"), [])
        # Nodes that have less than the workers need.
        self.play("squeue", "")
        self.play("sbatch", "echo 'sbatch: error: Batch job submission failed: "
                  "Requested node configuration is not available' >&2; exit 1")
        launch = self.slurm("--set", "discriminator.threads=1000")
        self.assertEqual(launch.wait(), USAGE, launch.text())
        self.assertIn("Requested node configuration is not available",
                      launch.text())
        self.assertIn("--cpus-per-task",
                      (self.folder / "run/slurm/job.sbatch").read_text())

    def test_a_job_that_waits_says_for_what_and_outlives_who_looks(self):
        self.play_slurm(PENDING)
        launch = self.slurm()
        wait_for(lambda: "job 17 is PENDING (Resources)" in launch.text(),
                 "the state")
        launch.process.send_signal(signal.SIGINT)
        self.assertEqual(launch.wait(), 0, launch.text())
        self.assertIn("job 17 goes on", launch.text())
        self.assertEqual(self.asked("scancel"), [])

    def test_a_first_node_without_the_run_folder_is_named(self):
        self.play_slurm(NO_FOLDER)
        launch = self.slurm()
        self.assertEqual(launch.wait(), USAGE, launch.text())
        self.assertIn(
            f"job 17 wrote nothing to {self.folder.resolve()}/run/slurm/"
            "job-17.log: does n1 see that folder?", launch.text())

    def test_a_script_that_has_run_keeps_its_exit_code(self):
        # On another file system under the same name: its log is there.
        self.play_slurm(FAILED.format(70))
        launch = self.slurm()
        self.assertEqual(launch.wait(), INTERNAL, launch.text())
        self.assertIn("does n1 see that folder?", launch.text())
        # Another node without the folder: the log is here, and says so.
        words = "discriminator 0 exited with code 2"
        self.play_slurm(FAILED.format(USAGE))
        self.play("sbatch", f"echo '{words}' > "
                  f"{self.folder}/run/slurm/job-17.log; echo 17")
        launch = self.slurm()
        self.assertEqual(launch.wait(), USAGE, launch.text())
        self.assertIn(words, launch.text())
        self.assertNotIn("wrote nothing", launch.text())

    def test_a_dead_submission_host_leaves_the_job_to_its_successor(self):
        self.play_slurm(RUNNING)
        dead = self.slurm()
        wait_for(lambda: "job 17 is RUNNING" in dead.text(), "the state")
        dead.process.kill()
        self.assertEqual(dead.wait(), -signal.SIGKILL)
        again = self.slurm()
        wait_for(lambda: "job 17 is at work on this run already" in again.text(),
                 "the job")
        self.set_state(DONE)
        self.assertEqual(again.wait(), 0, again.text())
        self.assertEqual(len(self.asked("sbatch")), 1)
        self.assertEqual(self.asked("scancel"), [])

    def test_a_launch_that_died_before_it_kept_the_number(self):
        self.play_slurm(RUNNING)
        comment = f"gandem:{self.folder.resolve()}/run"
        self.play("squeue", f"echo '17 {comment}'")
        launch = self.slurm("--no_follow")
        self.assertEqual(launch.wait(), 0, launch.text())
        self.assertIn("job 17 is at work on this run already", launch.text())
        self.assertEqual(self.asked("sbatch"), [])
        self.assertEqual(
            (self.folder / "run" / "slurm" / "job.id").read_text(), "17\n")
        # Where Slurm does not say, nothing is submitted a second time.
        (self.folder / "run" / "slurm" / "job.id").unlink()
        self.play("squeue", "echo 'squeue: error: no contact' >&2; exit 1")
        launch = self.slurm("--no_follow")
        self.assertEqual(launch.wait(), USAGE, launch.text())
        self.assertIn("no contact", launch.text())
        self.assertEqual(self.asked("sbatch"), [])

    def test_a_launch_says_whose_job_it_is(self):
        self.play_slurm(RUNNING)
        launch = self.slurm("--no_follow")
        self.assertEqual(launch.wait(), 0, launch.text())
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
