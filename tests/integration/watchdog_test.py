# SPDX-License-Identifier: Apache-2.0
"""A worker that sends heartbeats but completes no rounds is named and restarted,
and the result is equal bit for bit."""

import os
import signal

import harness

# Long enough that a running worker on a busy machine never counts as stuck.
SETS = ["rounds=30", "checkpoint.every_rounds=5", "samples.every_rounds=0",
        "control.progress_timeout_seconds=10"]


class WatchdogTest(harness.RunTest):
    def hang(self, point, sets, count=12):
        marker = self.folder / (point + ".hung")
        run = self.start(point.replace(".", "-").replace("@", "-"), sets=sets,
                         env={"GANDEM_FAILPOINT":
                              f"hang {point}:{count}:{marker}"})
        self.assertEqual(run.wait(), 0, run.text()[-4000:])
        self.assertTrue(marker.exists(), "the point was not passed")
        return run

    def check(self, run, suspect, others):
        """Checks that the logs name the stuck worker and the reason why the others
        wait; the others' own logs name the worker, too."""
        log = (run.dir / "logs" / "gandem.log").read_text()
        self.assertIn(f"{suspect} is taken for stuck: no worker has finished a "
                      "round for ", log)
        self.assertEqual(log.count("new run epoch: "), 1, log)
        self.assertIn(f"{suspect} computes since ", log)
        for other, wait in others.items():
            self.assertIn(f"{other} waits for {wait} of {suspect} since ", log)
            name = other.replace(" ", "-")
            said = (run.dir / "logs" / f"{name}.log").read_text()
            self.assertIn(f"waits for {wait} of {suspect} since ", said)

    def test_a_worker_that_hangs_is_restarted(self):
        reference = self.train("reference", sets=SETS)
        run = self.hang("discriminator.before_update@discriminator-0", SETS)
        self.check(run, "discriminator 0", {"generator 0": "weights"})
        self.assert_same_state(run, reference)
        run = self.hang("generator.before_update@generator-0", SETS)
        self.check(run, "generator 0", {"discriminator 0": "images"})
        self.assert_same_state(run, reference)

    def test_a_dataset_that_cannot_be_opened_is_told(self):
        reference = self.train("reference-data", sets=SETS)
        marker = self.folder / "hung"
        run = self.start("data", sets=SETS, env={
            "GANDEM_FAILPOINT": "hang discriminator.before_data"
                                f"@discriminator-0:1:{marker}"})
        log = run.dir / "logs" / "discriminator-0.log"
        harness.wait_for(
            lambda: log.exists() and "waits for real images since "
            in log.read_text(), "what the worker waits for")
        os.kill(int(marker.read_text()), signal.SIGKILL)
        self.assertEqual(run.wait(), 0, run.text()[-4000:])
        self.assert_same_state(run, reference)

    def test_the_end_of_a_chain_is_found(self):
        sets = SETS + ["generator.workers=2", "discriminator.workers=2",
                       "schedule.feedback=IMAGE_GRADIENT"]
        reference = self.train("reference-fleet", sets=sets)
        run = self.hang("discriminator.before_answer@discriminator-1", sets)
        log = (run.dir / "logs" / "gandem.log").read_text()
        self.assertIn("discriminator 1 is taken for stuck", log)
        self.assertEqual(log.count("new run epoch: "), 1, log)
        self.assert_same_state(run, reference)


if __name__ == "__main__":
    harness.main()
