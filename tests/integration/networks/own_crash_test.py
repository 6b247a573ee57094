# SPDX-License-Identifier: Apache-2.0
"""Stops, deaths and fleets of runs whose networks in Python have more than
parameters (own_networks/rich.py: dropout, their own noise, batch norm, both kinds
of spectral norm, a replaced buffer, an autograd Function): the result is equal bit
for bit."""

import os
import pathlib
import signal
import unittest

import harness
from own_network_test import FOLDER, PYTHON, both

RICH = both(FOLDER / "rich.py") + ["samples.every_rounds=0"]
SETS = RICH + ["rounds=20", "checkpoint.every_rounds=5", "schedule.lag=1"]
# Name of a point, and the pass at which the process dies.
POINTS = [("generator.after_update", 10), ("discriminator.before_update", 11),
          ("exchange.after_publish", 11), ("checkpoint.after_shard", 2)]
FLEET = SETS + [f"{role}.{field}" for role in ("generator", "discriminator")
                for field in ("workers=2", "sync.divergence_check_interval=1")]


def worker_of(run, role):
    """Waits for a worker inside Python and returns its pid."""
    def find():
        for pid in harness.descendants(run.process.pid):
            words = pathlib.Path("/proc", str(pid), "cmdline")
            try:
                words = words.read_bytes().split(b"\0")
            except OSError:  # ended meanwhile
                continue
            if b"gandem.worker" in words and role.encode() in words:
                return pid
        return None
    return harness.wait_for(find, f"the {role} in Python")


@unittest.skipUnless(PYTHON, "built without workers inside Python")
class OwnCrashTest(harness.RunTest):
    flags = ["--python", PYTHON]

    def own(self, name, sets, more=(), **options):
        return self.train(name, sets=sets, flags=self.flags + list(more),
                          **options)

    def start_own(self, name, sets, **options):
        return self.start(name, sets=sets, flags=self.flags, **options)

    def check_points(self, sets, points):
        reference = self.own("reference", sets)
        for point, count in points:
            with self.subTest(point):
                marker = self.folder / (point + ".killed")
                run = self.own(point.replace(".", "-"), sets, env={
                    "GANDEM_FAILPOINT": f"{point}:{count}:{marker}"})
                self.assertTrue(marker.exists(), "the point was not passed")
                self.assert_same_state(run, reference)
        return reference

    def test_a_worker_that_dies_costs_no_bit(self):
        self.check_points(SETS, POINTS)

    def test_killed_workers_and_coordinator_at_any_moment(self):
        sets = RICH + ["rounds=400", "checkpoint.every_rounds=20",
                       "schedule.lag=1"]
        reference = self.own("reference", sets)
        run = self.start_own("any", sets)
        for role, rounds in (("generator", 40), ("discriminator", 100)):
            harness.wait_for(lambda: run.rounds() >= rounds, f"round {rounds}")
            epochs = run.text().count("epoch")
            os.kill(worker_of(run, role), signal.SIGKILL)
            harness.wait_for(lambda: run.text().count("epoch") > epochs,
                             "a new epoch")
        harness.wait_for(lambda: run.rounds() >= 160, "round 160")
        run.process.kill()
        run.wait()
        self.assert_same_state(self.own("any", sets), reference)

    def check_stop(self, name, sets, send, more=()):
        endless = RICH + sets + ["rounds=60000", "checkpoint.every_rounds=0"]
        run = self.start(name, sets=endless, flags=self.flags + list(more))
        harness.wait_for(lambda: run.rounds() >= 5, "round 5")
        send(run)
        self.assertEqual(run.wait(), 75, run.text()[-4000:])
        stopped = int(run.final_state()[0].removeprefix("step-"))
        ends = endless + [f"rounds={stopped + 10}"]
        self.assert_same_state(self.own(name, ends, more),
                               self.own(name + "-whole", ends, more))

    def test_a_stopped_run_goes_on_with_the_same_bits(self):
        self.check_stop("gandem", ["schedule.lag=3"],
                        lambda run: run.process.terminate())
        self.check_stop("worker", ["schedule.feedback=IMAGE_GRADIENT"],
                        lambda run: os.kill(worker_of(run, "discriminator"),
                                            signal.SIGTERM))

    def test_a_stopped_run_of_one_process_goes_on_with_the_same_bits(self):
        self.check_stop("together", [], lambda run: run.process.terminate(),
                        ["--colocated"])

    def test_a_fleet_of_two_and_two(self):
        # Its ranks are compared after every step.
        reference = self.check_points(FLEET, [
            ("generator.after_update", 17), ("discriminator.before_update", 13)])
        self.own("resumed", FLEET + ["rounds=10"])
        self.assert_same_state(self.own("resumed", FLEET), reference)


if __name__ == "__main__":
    harness.main()
