# SPDX-License-Identifier: Apache-2.0
"""A run whose values overflow, or whose workers have different states, keeps its
good checkpoints."""

import array
import json
import math
import signal
import subprocess

import fleet_shards
import harness

# Explodes within a few rounds, on any machine.
EXPLODES = ["loss=LEAST_SQUARES", "rounds=60", "checkpoint.every_rounds=1",
            "generator.optimizer.sgd.learning_rate=10",
            "discriminator.optimizer.sgd.learning_rate=10"]

SPOILED = ["rounds=3000", "checkpoint.every_rounds=500",
           "samples.every_rounds=0", "control.on_divergence=ROLLBACK"]


def floats(path):
    """Names and values of the float32 tensors of a safetensors file."""
    content = path.read_bytes()
    begin = 8 + int.from_bytes(content[:8], "little")
    for name, entry in json.loads(content[8:begin]).items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        first, last = entry["data_offsets"]
        values = array.array("f")
        values.frombytes(content[begin + first:begin + last])
        yield name, values


class DivergenceTest(harness.RunTest):
    def assert_all_finite(self, run):
        """Checks the remaining checkpoints; after a quick end there may be none."""
        for path in run.dir.glob("checkpoints/step-*/*.safetensors"):
            for name, values in floats(path):
                self.assertTrue(all(map(math.isfinite, values)),
                                f"{path}: {name}")

    def test_ends_and_says_what_to_try(self):
        run = self.train("explodes", code=3, sets=EXPLODES)
        text = run.text()
        self.assertRegex(text, r"(generator|discriminator) 0 has diverged: "
                               r"round \d+: .* is not finite")
        self.assertIn("smaller learning rate", text)
        self.assert_all_finite(run)

    def test_ends_with_its_good_checkpoints(self):
        run, _ = self.spoil("stops", sets=["control.on_divergence=STOP"])
        self.assertEqual(run.wait(), 3, run.text()[-4000:])
        self.assertRegex(run.text(), r"The newest checkpoint has \d+00 of "
                                     r"3000 rounds")
        self.assertTrue(run.final_state()[1])
        self.assert_all_finite(run)

    def test_ends_where_nothing_is_trained(self):
        still = ["generator.optimizer.sgd.learning_rate=1e-30", "rounds=60",
                 "samples.every_rounds=0"]
        run = self.train("still", sets=still)
        warning = "warning: generator, round 24: 6 of 6 trained parameters"
        self.assertIn(warning, run.text())
        report = subprocess.run(
            [harness.BIN / "gandem", "report", run.dir], text=True,
            capture_output=True, timeout=harness.DEADLINE)
        self.assertEqual(report.stdout.count(warning), 1, report.stdout)
        run = self.train("ends", code=3, sets=still + [
            "control.on_divergence=STOP_EARLY"])
        self.assertIn(warning, run.text())
        self.assertRegex(run.text(), r"has diverged: .*have not moved")

    def test_goes_back_as_often_as_it_may(self):
        run = self.train("goes-back", code=3, sets=EXPLODES + [
            "control.on_divergence=ROLLBACK", "control.max_rollbacks=2"])
        self.assertIn("rollback 2 of 2", run.text())
        self.assertIn("after 2 rollbacks", run.text())
        self.assert_all_finite(run)

    def spoil(self, name, sets=()):
        """Starts a run in which a gradient is corrupted once, some rounds after a
        checkpoint is certain to exist."""
        marker = self.folder / f"{name}-happened"
        self.train(name, sets=[*SPOILED, *sets, "rounds=1000"])
        run = self.start(name, sets=[*SPOILED, *sets], env={
            "GANDEM_FAILPOINT":
                f"corrupt update.gradients@generator-0:500:{marker}"})
        return run, marker

    def test_goes_on_with_other_noise(self):
        run, marker = self.spoil("spoiled")
        self.assertEqual(run.wait(), 0, run.text()[-4000:])
        self.assertIn("round 1499: the gradient of", run.text())
        self.assertIn("rollback 1 of 3", run.text())
        whole = self.train("whole", sets=SPOILED)
        self.assertEqual(run.rounds(), whole.rounds())
        self.assertNotEqual(run.final_state(), whole.final_state())

        # An interruption afterwards does not change the numbers.
        again, marker = self.spoil("again")
        harness.wait_for(lambda: "rollback 1" in again.text(), "the rollback")
        again.process.send_signal(signal.SIGTERM)
        self.assertEqual(again.wait(), 75, again.text()[-4000:])
        again = self.train("again", sets=SPOILED)
        self.assertIn("resuming", again.text())
        self.assert_same_state(again, run)

    def test_a_flipped_bit_is_found_at_the_checkpoint_and_undone(self):
        sets = ["rounds=60", "checkpoint.every_rounds=10",
                "samples.every_rounds=0", "discriminator.workers=3"]
        marker = self.folder / "flipped-happened"
        run = self.start("flipped", sets=sets, env={
            "GANDEM_FAILPOINT":
                f"corrupt update.parameters@discriminator-1:40:{marker}"})
        self.assertEqual(run.wait(), 0, run.text()[-4000:])
        self.assertTrue(marker.exists())
        self.assertRegex(run.text(), r"the states of the discriminator workers "
                                     r"differ after round 39 in 'model\.")
        self.assertRegex(run.text(), "discriminator 1 on .* differs from most")
        self.assertIn("resuming after round 30 of 60", run.text())
        whole = self.train("whole-fleet", sets=sets)
        self.assertNotIn("differ", whole.text())
        self.assert_same_state(run, whole)
        checkpoints = list(run.dir.glob("checkpoints/step-*[0-9]"))
        self.assertTrue(checkpoints)
        for folder in checkpoints:
            # A single generator cannot be compared with another one.
            shards = [fleet_shards.read(file)[1]
                      for file in folder.glob("discriminator-*.safetensors")]
            self.assertEqual(len(shards), 3)
            self.assertTrue(shards[0])
            self.assertEqual(shards, shards[:1] * 3)

    def test_the_worker_whose_bits_flip_again_is_named(self):
        # Comparisons between two checkpoints find it. There are several flips,
        # because rounding in a later update may cancel one.
        flips = ";".join(f"corrupt update.parameters@discriminator-1:{update}"
                         for update in range(25, 120, 9))
        run = self.train("flips-again", code=70, sets=[
            "rounds=120", "checkpoint.every_rounds=10",
            "control.restart_budget=1",
            "samples.every_rounds=0", "discriminator.workers=3",
            "discriminator.sync.divergence_check_interval=5"],
            env={"GANDEM_FAILPOINT": flips})
        self.assertRegex(run.text(), "new run epoch: discriminator . DATA_LOSS: "
                                     "the states of this fleet differ: .* of "
                                     "rank 1 is not that of most ranks")
        self.assertIn("the budget of 1 restarts is used up", run.text())


if __name__ == "__main__":
    harness.main()
