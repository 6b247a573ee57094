# SPDX-License-Identifier: Apache-2.0
"""BOUNDED: a stopped side stops the other one only at the bound."""


import harness

LAG = 4
SAMPLES = 3


class BoundedTest(harness.RunTest):
    def run_beside(self, slow, role, reached):
        """Runs until `reached` is true for a record of `role`, which is ahead of
        the `slow` role. Then stops the slow worker for a second, waits for more
        rounds, ends the run and returns the records of `role`."""
        run = self.start(role, sets=[
            "rounds=200000", f"schedule.lag={LAG}",
            "schedule.consistency=BOUNDED",
            f"schedule.max_samples_per_image={SAMPLES}",
            f"{slow}.network.mlp.hidden=[1024, 1024]",
            "checkpoint.every_rounds=0", "samples.every_rounds=0",
            "control.heartbeat_timeout_seconds=300"])
        pid = run.worker(f"{slow}_worker")
        harness.wait_for(lambda: any(map(reached, run.records(role))),
                         f"the {role} to go ahead")
        harness.stop_for(pid, 1)
        rounds = run.rounds(role)
        harness.wait_for(lambda: run.rounds(role) >= rounds + 50,
                         "both to go on")
        run.process.terminate()
        self.assertEqual(run.wait(), 75, run.text()[-4000:])
        return run.records(role)

    def test_generator_goes_on_to_its_bound(self):
        records = self.run_beside("discriminator", "generator",
                                  lambda record: record["lag"] == LAG)
        # The generator reaches its bound, but does not exceed it.
        self.assertEqual(max(r["lag"] for r in records), LAG)

    def test_discriminator_goes_on_from_its_cache(self):
        records = self.run_beside("generator", "discriminator",
                                  lambda record: record["images_replayed"] > 0)
        # Images from LAG rounds before are too old.
        self.assertLess(max(r["lag"] for r in records), LAG)


if __name__ == "__main__":
    harness.main()
