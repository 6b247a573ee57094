# SPDX-License-Identifier: Apache-2.0
"""The short case of scripts/test_slurm.sh, on a real Slurm of two nodes: a job
trains to its end with the bits of a run on this machine, and a faulty recipe
leaves nothing in the queue."""

import pathlib
import subprocess
import sys

import harness

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "deploy"))

import slurm_cluster  # pylint: disable=wrong-import-position

SETS = ["rounds=40", "samples.every_rounds=0", "checkpoint.every_rounds=20"]


class SlurmTest(harness.RunTest):
    def setUp(self):
        super().setUp()
        missing = slurm_cluster.why_not()
        if missing:
            self.skipTest(f"no Slurm can be started: {missing}")
        try:
            self.cluster = slurm_cluster.Cluster(self.folder / "cluster", nodes=2)
        except subprocess.CalledProcessError as error:
            # Containers may forbid operations of Slurm's daemons.
            self.skipTest(f"Slurm does not start here: {error.stdout[-500:]}")
        self.addCleanup(self.cluster.down)

    def launch(self, name, flags=(), sets=SETS):
        launch = slurm_cluster.Launch(self.cluster, self.folder / name, sets,
                                      flags)
        self.addCleanup(launch.stop)
        return launch

    def test_a_job_has_the_bits_of_this_machine(self):
        here = self.train("here", sets=SETS)
        job = self.launch("job", ["--nodes", "2"])
        self.assertEqual(job.wait(), 0, job.text()[-4000:])
        step, files = here.final_state()
        self.assertEqual(job.checkpoint(), step)
        for name, content in files.items():
            other = (job.dir / "checkpoints" / step / name).read_bytes()
            self.assertTrue(content == other, f"{name} differs")

        # Another allocation resumes, with more rounds.
        more = self.launch("job", ["--nodes", "1"],
                           ["rounds=60", *SETS[1:]])
        self.assertEqual(more.wait(), 0, more.text()[-4000:])
        self.assertEqual(more.checkpoint(), "step-000000060")

    def test_a_job_at_work_is_found_by_its_comment(self):
        endless = ["rounds=1000000", *SETS[1:]]
        first = self.launch("job", [], endless)
        number = first.job()
        second = self.launch("job", [], endless)
        self.assertEqual(second.job(), number)
        self.assertIn(f"job {number} is at work on this run already",
                      second.text())
        self.cluster.run("scancel", number)
        harness.wait_for(lambda: not self.cluster.run("squeue", "-h").strip(),
                         "an empty queue")

    def test_what_cannot_run_is_said_and_leaves_nothing(self):
        refused = self.launch("refused", ["--partition", "nowhere"])
        self.assertEqual(refused.wait(), 2, refused.text())
        self.assertIn("invalid partition", refused.text())
        # `gandem coordinate` finds this fault on the node.
        failed = self.launch("failed", ["--nodes", "1"],
                             [*SETS, "generator.device=cuda:63"])
        self.assertEqual(failed.wait(), 2, failed.text()[-4000:])
        self.assertIn("cuda", failed.text())
        harness.wait_for(lambda: not self.cluster.run("squeue", "-h").strip(),
                         "an empty queue")


if __name__ == "__main__":
    harness.main()
