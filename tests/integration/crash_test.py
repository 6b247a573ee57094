# SPDX-License-Identifier: Apache-2.0
"""SIGKILL at named points loses nothing: the result is equal bit for bit."""

import os
import signal

import harness

SETS = ["rounds=30", "checkpoint.every_rounds=5", "schedule.lag=3",
        "samples.every_rounds=0"]

# Name of a point, and the pass at which the process dies.
WORKER_POINTS = [
    ("generator.before_send", 12),
    ("generator.after_send", 12),
    ("generator.after_take_critic", 12),
    ("generator.before_update", 8),
    ("generator.after_update", 10),
    ("discriminator.after_take", 12),
    ("discriminator.before_publish", 12),
    ("discriminator.before_update", 11),
    ("discriminator.after_update", 10),
    ("exchange.send_images", 12),
    ("exchange.images_received", 12),
    ("exchange.images_acknowledged", 12),
    ("exchange.after_publish", 11),
    ("exchange.critic_received", 11),
    ("checkpoint.before_shard", 3),
    ("checkpoint.after_shard", 3),
]
GRADIENT_POINTS = [
    ("generator.after_take_feedback", 12),
    ("discriminator.before_answer", 12),
    ("exchange.after_answer", 12),
    ("exchange.feedback_received", 12),
]
COORDINATOR_POINTS = [
    ("checkpoint.before_manifest", 2),
    ("checkpoint.before_rename", 2),
    ("checkpoint.after_rename", 2),
    ("checkpoint.prune", 2),
]


class CrashTest(harness.RunTest):
    def crash(self, point, count, sets):
        marker = self.folder / (point + ".killed")
        name = point.replace(".", "-")
        run = self.start(name, sets=sets, env={
            "GANDEM_FAILPOINT": f"{point}:{count}:{marker}"})
        return run, marker

    def reference(self, sets):
        return self.train("reference", sets=sets)

    def check_workers(self, points, sets):
        reference = self.reference(sets)
        for point, count in points:
            with self.subTest(point):
                run, marker = self.crash(point, count, sets)
                self.assertEqual(run.wait(), 0, run.text()[-4000:])
                self.assertTrue(marker.exists(), "the point was not passed")
                self.assert_same_state(run, reference)

    def test_worker_points(self):
        self.check_workers(WORKER_POINTS, SETS)

    def test_image_gradient_points(self):
        self.check_workers(GRADIENT_POINTS,
                           SETS + ["schedule.feedback=IMAGE_GRADIENT"])

    def test_fused_points(self):
        self.check_workers(GRADIENT_POINTS, SETS + [
            "schedule.feedback=FUSED", "schedule.lag=1"])

    def test_coordinator_points(self):
        reference = self.reference(SETS)
        for point, count in COORDINATOR_POINTS:
            with self.subTest(point):
                run, marker = self.crash(point, count, SETS)
                self.assertEqual(run.wait(), -signal.SIGKILL,
                                 run.text()[-4000:])
                self.assertTrue(marker.exists())
                again = self.train(point.replace(".", "-"), sets=SETS)
                self.assert_same_state(again, reference)

    def test_discriminator_started_again_at_its_port(self):
        # Heartbeats are rare, so the generator meets the new process before it
        # learns that its run epoch is over.
        sets = SETS + ["control.heartbeat_seconds=5"]
        reference = self.train("reference-tcp", sets=SETS)
        run = self.start("tcp", sets=sets, flags=["--external"])
        listen = ["--listen", f"127.0.0.1:{harness.free_port()}"]
        marker = self.folder / "killed"
        generator = run.start_worker("generator")
        killed = run.start_worker("discriminator", listen, env={
            "GANDEM_FAILPOINT": f"discriminator.before_update:14:{marker}"})
        self.assertEqual(killed.wait(), -signal.SIGKILL, killed.text())
        again = run.start_worker("discriminator", listen)
        self.assertEqual(run.wait(), 0, run.text())
        for worker in (generator, again):
            self.assertEqual(worker.wait(), 0, worker.text())
        self.assertIn("run epoch 1 is over", generator.text())
        self.assert_same_state(run, reference)

    def test_killed_workers_and_coordinator_at_any_moment(self):
        sets = ["rounds=3000", "checkpoint.every_rounds=200",
                "schedule.lag=1", "samples.every_rounds=0"]
        reference = self.train("reference-any", sets=sets)
        run = self.start("any", sets=sets)
        for victim, rounds in (("generator_worker", 300),
                               ("discriminator_worker", 700)):
            harness.wait_for(lambda: run.rounds() >= rounds, f"round {rounds}")
            epochs = run.text().count("epoch")
            os.kill(run.worker(victim), signal.SIGKILL)
            harness.wait_for(lambda: run.text().count("epoch") > epochs,
                             "a new epoch")
        harness.wait_for(lambda: run.rounds() >= 1500, "round 1500")
        run.process.kill()
        run.wait()
        again = self.train("any", sets=sets)
        self.assert_same_state(again, reference)


if __name__ == "__main__":
    harness.main()
