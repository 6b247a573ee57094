# SPDX-License-Identifier: Apache-2.0
"""BOUNDED: a stopped side does not stop the other before its bound."""

import json
import os
import signal
import time
import unittest

import harness

LAG = 4
SAMPLES = 3


class BoundedTest(harness.RunTest):
    def start_bounded(self, name, feedback="SNAPSHOT"):
        return self.start(name, sets=[
            "rounds=20000", f"schedule.lag={LAG}",
            "schedule.consistency=BOUNDED", f"schedule.feedback={feedback}",
            f"schedule.max_samples_per_image={SAMPLES}",
            "checkpoint.every_rounds=0", "samples.every_rounds=0",
            "control.heartbeat_timeout_seconds=30"])

    def check_stops_and_recovers(self, victim, role):
        run = self.start_bounded(role.lower())
        pid = run.worker(victim)
        harness.wait_for(lambda: run.rounds(role) >= 50, "round 50")
        other = "DISCRIMINATOR" if role == "GENERATOR" else "GENERATOR"
        os.kill(pid, signal.SIGSTOP)
        try:
            # It has come to rest when two looks a second apart agree.
            def resting():
                before = run.rounds(role)
                time.sleep(1)
                return run.rounds(role) == before
            harness.wait_for(resting, f"the {role} to reach its bound")
            ahead = run.rounds(role) - run.rounds(other)
        finally:
            os.kill(pid, signal.SIGCONT)
        at_rest = run.rounds(role)
        harness.wait_for(lambda: run.rounds(role) >= at_rest + 50,
                         "both to go on")
        run.process.terminate()
        self.assertEqual(run.wait(), 75, run.text()[-4000:])
        return run, ahead

    def test_generator_goes_on_to_its_bound(self):
        run, ahead = self.check_stops_and_recovers("discriminator_worker",
                                                   "GENERATOR")
        # The victim may have finished a round that it could not report.
        self.assertGreaterEqual(ahead, 1)
        self.assertLessEqual(ahead, LAG + 1 + 50)

    def test_discriminator_goes_on_from_its_cache(self):
        run, _ = self.check_stops_and_recovers("generator_worker",
                                               "DISCRIMINATOR")
        records = [json.loads(line) for line in
                   (run.dir / "metrics.jsonl").read_text().splitlines()]
        replayed = max(int(r.get("images_replayed", 0)) for r in records)
        self.assertGreater(replayed, 0, "no image was used twice")


if __name__ == "__main__":
    unittest.main()
