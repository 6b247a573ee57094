# SPDX-License-Identifier: Apache-2.0
"""Training on one core keeps its speed during an evaluation on another core.

Needs two idle cores and two minutes: label `long`.
"""

import os
import subprocess
import time

import harness

RECIPE = harness.SOURCE / "recipes" / "fashion_mnist_dcgan.textproto"
WINDOW = 15  # seconds of each measurement
PAIRS = 3


class EvaluateBesideTest(harness.RunTest):
    def setUp(self):
        super().setUp()
        cores = sorted(os.sched_getaffinity(0))
        self.assertGreaterEqual(len(cores), 2)
        self.train_core, self.job_core = cores[0], cores[-1]

    def training_speed(self, run):
        """Images per second of the generator's training, over WINDOW seconds."""
        first = time.time()
        harness.wait_for(lambda: time.time() >= first + WINDOW, "the window")
        last = time.time()
        images = sum(record["images"] for record in run.records("generator")
                     if first <= record["unix_seconds"] < last)
        return images / (last - first)

    def test_training_keeps_its_speed(self):
        # Child processes inherit the core.
        os.sched_setaffinity(0, {self.train_core})
        run = self.start("run", recipe=RECIPE, flags=["--colocated"],
                         sets=["rounds=1000000", "checkpoint.every_rounds=50",
                               "samples.every_rounds=0"])
        os.sched_setaffinity(0, {self.train_core, self.job_core})
        harness.wait_for(lambda: list(run.dir.glob("checkpoints/step-*0")),
                         "a checkpoint")
        command = [harness.BIN / "gandem", "evaluate", run.dir, "--num",
                   "10000000", "--cores", self.job_core]
        env = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")}
        alone, beside = [], []
        for _ in range(PAIRS):
            alone.append(self.training_speed(run))
            with open(self.folder / "job.out", "ab") as out:
                job = subprocess.Popen([str(part) for part in command],
                                       stdout=out, stderr=out, env=env)
            beside.append(self.training_speed(run))
            self.assertIsNone(job.poll(), "the job has ended")
            job.kill()
            job.wait()
        run.kill()
        kept = sum(beside) / sum(alone)
        print(f"images/s alone {alone}, beside a job {beside}: {kept:.3f}")
        self.assertGreaterEqual(kept, 0.9)


if __name__ == "__main__":
    harness.main()
