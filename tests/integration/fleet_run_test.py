# SPDX-License-Identifier: Apache-2.0
"""Runs with several worker processes per role."""

import json
import signal

import harness

SETS = ["rounds=30", "checkpoint.every_rounds=10", "samples.every_rounds=0",
        "generator.sync.divergence_check_interval=5",
        "discriminator.sync.divergence_check_interval=5"]


def workers(generators, discriminators):
    return [f"generator.workers={generators}",
            f"discriminator.workers={discriminators}"]


class FleetRunTest(harness.RunTest):
    def test_two_runs_of_one_shape_are_the_same_bits(self):
        for feedback in ("SNAPSHOT", "IMAGE_GRADIENT", "FUSED"):
            with self.subTest(feedback):
                sets = SETS + workers(2, 3) + [f"schedule.feedback={feedback}"]
                first = self.train(feedback + "-a", sets=sets)
                second = self.train(feedback + "-b", sets=sets)
                self.assert_same_state(first, second)
                _, files = first.final_state()
                self.assertEqual(
                    sorted(files),
                    [f"discriminator-{rank}.safetensors" for rank in range(3)]
                    + [f"generator-{rank}.safetensors" for rank in range(2)])
                self.assertEqual(
                    sorted(log.name for log in first.dir.glob("logs/*-*.log")),
                    [f"discriminator-{rank}.log" for rank in range(3)]
                    + [f"generator-{rank}.log" for rank in range(2)])

    def test_a_rank_that_dies_costs_no_bit(self):
        sets = SETS + workers(2, 2)
        reference = self.train("reference", sets=sets)
        for point, count in (("generator.after_update", 17),
                             ("discriminator.before_update", 13),
                             ("discriminator.after_take", 11)):
            with self.subTest(point):
                marker = self.folder / (point + ".killed")
                run = self.train(point.replace(".", "-"), sets=sets, env={
                    "GANDEM_FAILPOINT": f"{point}:{count}:{marker}"})
                self.assertTrue(marker.exists(), "the point was not passed")
                self.assert_same_state(run, reference)

    def test_a_rank_that_dies_within_sync_batch_norm_costs_no_bit(self):
        sets = SETS + workers(3, 1) + [
            "generator.network.mlp.batch_norm=true",
            "generator.network.mlp.hidden=[16, 16]",
            "generator.sync.batch_norm=true"]
        reference = self.train("reference", sets=sets)
        marker = self.folder / "killed.marker"
        # The other ranks wait for its part of their forward passes.
        run = self.train("killed", sets=sets, env={
            "GANDEM_FAILPOINT": f"generator.after_update:17:{marker}"})
        self.assertTrue(marker.exists(), "the point was not passed")
        self.assert_same_state(run, reference)

    def test_ranks_started_by_hand_over_tcp(self):
        sets = SETS + workers(2, 1)
        reference = self.train("reference", sets=sets)
        run = self.start("by-hand", sets=sets, flags=["--external"])
        started = [
            run.start_worker("generator", rank=0,
                             flags=["--fleet_listen", "127.0.0.1:0"]),
            run.start_worker("generator", rank=1,
                             flags=["--fleet_listen", "127.0.0.1:0"]),
            run.start_worker("discriminator")]
        self.assertEqual(run.wait(), 0, run.text()[-4000:])
        for worker in started:
            self.assertEqual(worker.wait(), 0, worker.text())
        self.assert_same_state(run, reference)

    def test_averages_stop_where_all_agree(self):
        run = self.start("averages", sets=SETS + workers(2, 2) + [
            "rounds=40000", "checkpoint.every_rounds=0"] + [
                f"{role}.sync.{field}" for role in ("generator",
                                                    "discriminator")
                for field in ("mode=AVERAGE_STATE", "interval=4")])
        harness.wait_for(lambda: run.rounds() > 8, "a few rounds")
        run.process.send_signal(signal.SIGTERM)
        self.assertEqual(run.wait(), 75, run.text()[-4000:])
        step = int(run.final_state()[0].split("-")[1])
        self.assertEqual(step % 4, 0)
        drifts = [json.loads(line).get("drift", 0) for line in
                  (run.dir / "metrics.jsonl").read_text().splitlines()]
        self.assertGreater(max(drifts), 0)

    def test_nothing_stands_in_for_nccl(self):
        run = self.train("nccl", code=2, env={"CUDA_VISIBLE_DEVICES": ""},
                         sets=SETS + workers(2, 1) + [
                             "generator.device=cuda",
                             "generator.sync.collective=NCCL"])
        self.assertRegex(run.text(), "NCCL: this (gandem was built without "
                         "NCCL|host has no usable GPU)")
        self.assertNotIn("run epoch 2", run.text())

    def test_what_fleets_cannot_do_is_said_at_once(self):
        for name, sets, flags, words in (
                ("colocated", workers(2, 1), ["--colocated"],
                 "generator.workers=1"),
                ("nccl", workers(2, 1) + ["generator.sync.collective=NCCL"],
                 [], "set generator.device=cuda, or"),
                ("too-many", workers(17, 1), [], "images of a batch"),
                ("bounded", workers(1, 2) + [
                    "schedule.consistency=BOUNDED",
                    "discriminator.sync.mode=AVERAGE_STATE",
                    "discriminator.sync.interval=2"],
                 [], "sync.interval=1, or EXACT"),
                ("lecam", workers(1, 2) + [
                    "penalties.lecam=0.3",
                    "discriminator.sync.mode=AVERAGE_STATE"], [],
                 "all images of a batch")):
            with self.subTest(name):
                run = self.train(name, code=2, sets=SETS + sets, flags=flags)
                self.assertIn(words, run.text())


if __name__ == "__main__":
    harness.main()
