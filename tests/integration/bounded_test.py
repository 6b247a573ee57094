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

    def stop_and_continue(self, victim, role):
        """Stops `victim` until `role` stands still, lets it go on, waits until
        both have, ends the run and returns its metrics by role."""
        run = self.start_bounded(role)
        pid = run.worker(victim)
        harness.wait_for(lambda: run.rounds(role) >= 50, "round 50")

        def resting():
            before = run.rounds(role)
            time.sleep(1)
            return run.rounds(role) == before

        os.kill(pid, signal.SIGSTOP)
        try:
            harness.wait_for(resting, f"the {role} to reach its bound")
        finally:
            os.kill(pid, signal.SIGCONT)
        at_rest = run.rounds(role)
        harness.wait_for(lambda: run.rounds(role) >= at_rest + 50,
                         "both to go on")
        run.process.terminate()
        self.assertEqual(run.wait(), 75, run.text()[-4000:])
        records = [json.loads(line) for line in
                   (run.dir / "metrics.jsonl").read_text().splitlines()]
        return {name: [r for r in records if r["role"] == name]
                for name in ("generator", "discriminator")}

    def test_generator_goes_on_to_its_bound(self):
        records = self.stop_and_continue("discriminator_worker", "generator")
        # It went on as far as it may, and no further.
        self.assertEqual(max(r["lag"] for r in records["generator"]), LAG)

    def test_discriminator_goes_on_from_its_cache(self):
        records = self.stop_and_continue("generator_worker", "discriminator")
        last = records["discriminator"][-1]
        self.assertGreater(last["images_replayed"], 0)
        # Images of LAG rounds before are too old.
        self.assertLess(max(r["lag"] for r in records["discriminator"]), LAG)


if __name__ == "__main__":
    unittest.main()
