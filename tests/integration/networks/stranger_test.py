# SPDX-License-Identifier: Apache-2.0
"""Compares whole runs, from initial values to the last checkpoint, with a PyTorch
script that trains from the run folder's config alone (tests/oracles/stranger.py).
Needs an interpreter with torch, numpy and safetensors in GANDEM_OWN_PYTHON."""

import os
import subprocess
import unittest

import harness

PYTHON = os.environ.get("GANDEM_OWN_PYTHON", "")
STRANGER = harness.SOURCE / "tests" / "oracles" / "stranger.py"
PACKAGES = ("torch", "numpy", "safetensors")
DOUBLES = ["generator.precision=FLOAT64", "discriminator.precision=FLOAT64",
           "exchange.image_encoding=FLOAT64",
           "exchange.feedback_encoding=FLOAT64"]
# Settings that differ from the recipe mlp_smoke.
CONFIGS = {
    "as it is": [],
    "synchronous": ["schedule.lag=0", "loss=HINGE"],
    "image gradients, fresh images": [
        "schedule.lag=2", "schedule.feedback=IMAGE_GRADIENT",
        "schedule.image_source=FRESH", "schedule.discriminator_steps_per_round=2",
        "loss=LEAST_SQUARES"],
    "fused, micro-batches": [
        "schedule.feedback=FUSED", "generator.micro_batch=8",
        "discriminator.micro_batch=8"],
    "fleets, every other round": [
        "generator.workers=2", "discriminator.workers=2",
        "generator.sync.interval=2", "discriminator.sync.interval=2"],
    "other optimizers": [
        "generator.optimizer.sgd.learning_rate=0.05",
        "discriminator.optimizer.adamw.learning_rate=1e-3",
        "discriminator.clip_gradient_norm=1"],
}


def why_not():
    """Why the test cannot run; empty if it can."""
    if not PYTHON:
        return "GANDEM_OWN_PYTHON names no interpreter with torch"
    done = subprocess.run(
        [PYTHON, "-c", f"import {', '.join(PACKAGES)}"], capture_output=True,
        text=True, timeout=harness.DEADLINE)
    return "" if done.returncode == 0 else done.stderr.strip()[-200:]


class StrangerTest(harness.RunTest):
    def stranger(self, *arguments):
        return subprocess.run(
            [PYTHON, str(STRANGER), *map(str, arguments)],
            capture_output=True, text=True, timeout=harness.DEADLINE)

    def setUp(self):
        super().setUp()
        reason = why_not()
        if reason:
            self.skipTest(reason)

    def test_runs_are_those_of_their_configs(self):
        for number, (name, sets) in enumerate(CONFIGS.items()):
            with self.subTest(name):
                run = self.train(f"run-{number}", sets=DOUBLES + sets)
                done = self.stranger(run.dir)
                self.assertEqual(done.returncode, 0,
                                 done.stdout + done.stderr)

    def test_convolutions_too(self):
        run = self.train(
            "sndcgan",
            recipe=harness.SOURCE / "recipes" / "fashion_mnist_sngan.textproto",
            sets=DOUBLES + ["rounds=4", "generator.optimizer.optimism=0",
                            "discriminator.optimizer.optimism=0",
                            "generator.batch_size=4",
                            "discriminator.batch_size=4",
                            "checkpoint.every_rounds=0"])
        done = self.stranger(run.dir, "--limit", "1e-5")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_it_sees_a_difference(self):
        run = self.train("run", sets=DOUBLES)
        config = run.dir / "config.textproto"
        text = config.read_text()
        self.assertIn("beta1: 0\n", text)
        config.write_text(text.replace("beta1: 0\n", "beta1: 0.01\n", 1))
        done = self.stranger(run.dir)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("TOO FAR", done.stdout)


if __name__ == "__main__":
    harness.main()
