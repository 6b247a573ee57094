# SPDX-License-Identifier: Apache-2.0
"""Two worker processes equal one process bit for bit."""

import json
import os
import re
import subprocess

import harness


class TrainTest(harness.RunTest):
    # lag, steps, source, feedback, micro-batch
    CELLS = {
        "synchronous": (0, 1, "REUSED", "SNAPSHOT", 0),
        "default": (1, 1, "REUSED", "SNAPSHOT", 0),
        "gradients": (1, 2, "FRESH", "IMAGE_GRADIENT", 8),
        "fused": (1, 1, "REUSED", "FUSED", 8),
        "slack": (3, 2, "FRESH", "SNAPSHOT", 4),
    }

    def sets(self, cell):
        lag, steps, source, feedback, micro = self.CELLS[cell]
        return [f"schedule.lag={lag}",
                f"schedule.discriminator_steps_per_round={steps}",
                f"schedule.image_source={source}",
                f"schedule.feedback={feedback}",
                f"generator.micro_batch={micro}",
                f"discriminator.micro_batch={micro}", "rounds=12"]

    def test_two_processes_equal_one(self):
        for cell in self.CELLS:
            with self.subTest(cell):
                together = self.train(cell + "-one", sets=self.sets(cell),
                                      flags=["--colocated"])
                apart = self.train(cell + "-two", sets=self.sets(cell))
                self.assert_same_state(apart, together)

    def test_workers_started_by_hand_over_tcp(self):
        for cell in ("default", "gradients"):
            with self.subTest(cell):
                together = self.train(cell + "-one", sets=self.sets(cell),
                                      flags=["--colocated"])
                apart = self.start(cell + "-tcp", sets=self.sets(cell),
                                   flags=["--external"])
                workers = [
                    apart.start_worker("generator"),
                    apart.start_worker("discriminator",
                                       ["--listen", "127.0.0.1:0"])]
                self.assertEqual(apart.wait(), 0, apart.text())
                for worker in workers:
                    self.assertEqual(worker.wait(), 0, worker.text())
                self.assert_same_state(apart, together)

    def test_all_workers_have_the_heap_that_was_measured(self):
        for role in ("generator", "discriminator", "colocated"):
            with self.subTest(role):
                told = subprocess.run(
                    [harness.BIN / f"{role}_worker", "--help"], timeout=60,
                    env={**os.environ, "MALLOCSTATS": "1"},
                    check=True, text=True, capture_output=True).stderr
                # LibTorch's libraries alone need more than 1 MiB.
                used = re.search(r"(\d+) .* Bytes in use by application", told)
                self.assertGreater(int(used.group(1)), 1 << 20, told)

    def test_both_workers_run_and_outputs_are_there(self):
        run = self.start("outputs", sets=["rounds=1000"])
        pids = {run.worker("generator_worker"),
                run.worker("discriminator_worker")}
        self.assertEqual(len(pids), 2)
        self.assertEqual(run.wait(), 0, run.text()[-4000:])
        step, files = run.final_state()
        self.assertEqual(step, "step-000001000")
        self.assertEqual(sorted(files), ["discriminator-0.safetensors",
                                         "generator-0.safetensors"])
        self.assertTrue(list(run.dir.glob("samples/*.png")))
        self.assertTrue(list(run.dir.rglob("events.out.tfevents.*")))
        self.assertTrue((run.dir / "config.textproto").exists())
        self.assertEqual(sorted(log.name for log in run.dir.glob("logs/*")),
                         ["discriminator-0.log", "gandem.log",
                          "generator-0.log"])
        lines = (run.dir / "metrics.jsonl").read_text().splitlines()
        records = [json.loads(line) for line in lines]
        for role in ("generator", "discriminator"):
            rounds = [int(r.get("round", 0)) for r in records
                      if r["role"] == role]
            self.assertEqual(rounds, list(range(1000)), role)


if __name__ == "__main__":
    harness.main()
