# SPDX-License-Identifier: Apache-2.0
"""BOUNDED: fleets continue without a worker that dies, and later with it again."""

import os
import signal

import harness

LAG = 2
SETS = ["schedule.consistency=BOUNDED", f"schedule.lag={LAG}",
        "schedule.max_samples_per_image=2", "samples.every_rounds=0",
        "generator.sync.divergence_check_interval=1",
        "discriminator.sync.divergence_check_interval=1"]


def workers(generators, discriminators):
    return [f"generator.workers={generators}",
            f"discriminator.workers={discriminators}"]


class ElasticTest(harness.RunTest):
    def wait_for_round(self, run, role, rounds, epoch=1):
        harness.wait_for(
            lambda: any(r.get("round", 0) >= rounds and r["run_epoch"] >= epoch
                        for r in run.records(role)),
            f"round {rounds} of the {role}")

    def lose_and_get_back(self, run, role, rank, size):
        """Kills one worker; the others continue without it, then with it."""
        before = run.processes()
        self.assertEqual(len(before), sum(size.values()), before)
        # One role may complete a round of the new epoch before the other.
        epoch = max(r["run_epoch"] for each in size
                    for r in run.records(each))
        os.kill(before[role, rank], signal.SIGKILL)
        less, whole = size[role] - 1, size[role]
        harness.wait_for(
            lambda: f"{role} {rank} was killed by signal 9 (Killed); its fleet "
                    f"goes on with {less} of {whole} workers" in run.text(),
            "the others to go on")
        harness.wait_for(
            lambda: f"{role} {rank} is back; its fleet goes on with {whole} of "
                    f"{whole} workers" in run.text(), "it to be back")
        # The other processes are still the same.
        after = run.processes()
        self.assertNotEqual(after.pop((role, rank)), before.pop((role, rank)))
        self.assertEqual(after, before)
        harness.wait_for(
            lambda: any(r["run_epoch"] > epoch + 1
                        for r in run.records(role)), "rounds with it")
        # It may return before the others have completed a round.
        sizes = {r["run_epoch"]: r["workers"] for r in run.records(role)}
        self.assertEqual(sizes.get(epoch + 1, less), less)
        self.assertEqual(sizes[max(sizes)], whole)

    def check_rounds(self, run, role, rank):
        """No round was repeated, except those by which one side was ahead."""
        rounds = [r.get("round", 0) for r in run.records(role)
                  if r.get("rank", 0) == rank]
        self.assertLessEqual(
            max(a - b for a, b in zip(rounds, rounds[1:])), LAG)

    def test_workers_come_and_go(self):
        size = {"generator": 2, "discriminator": 2}
        sets = SETS + workers(2, 2)
        run = self.start("changing", sets=sets + [
            "rounds=200000", "checkpoint.every_rounds=0"])
        self.wait_for_round(run, "discriminator", 30)
        self.lose_and_get_back(run, "discriminator", 1, size)
        self.lose_and_get_back(run, "generator", 0, size)  # the first one
        run.process.send_signal(signal.SIGTERM)
        self.assertEqual(run.wait(), 75, run.text()[-4000:])
        self.assertNotIn("resuming", run.text())
        self.check_rounds(run, "generator", 1)
        self.check_rounds(run, "discriminator", 0)
        # The checkpoint that the workers saved is an ordinary one.
        step = int(run.final_state()[0].split("-")[1])
        run = self.train("changing", sets=sets + [f"rounds={step + 20}"])
        self.assertEqual(run.rounds(), step + 20)

    def test_a_zombie_leaves(self):
        run = self.start("zombie", sets=SETS + workers(1, 3) + [
            "rounds=2000", "control.heartbeat_timeout_seconds=5",
            "schedule.feedback=IMAGE_GRADIENT",
            "checkpoint.every_rounds=0"], flags=["--external"])
        generator = run.start_worker("generator")
        discriminators = [run.start_worker("discriminator", rank=rank)
                          for rank in range(3)]
        self.wait_for_round(run, "generator", 20)
        harness.wait_for(
            lambda: any(r.get("rank", 0) == 1
                        for r in run.records("discriminator")),
            "what discriminator 1 has to report")
        zombie = discriminators[1]
        zombie.process.send_signal(signal.SIGSTOP)
        try:
            harness.wait_for(
                lambda: "its fleet goes on with 2 of 3 workers" in run.text(),
                "the others to go on")
        finally:
            zombie.process.send_signal(signal.SIGCONT)
        self.assertEqual(zombie.wait(), 75, zombie.text())
        self.assertEqual(run.wait(), 0, run.text()[-4000:])
        for worker in (generator, discriminators[0], discriminators[2]):
            self.assertEqual(worker.wait(), 0, worker.text())
        last = {r.get("rank", 0): r for r in run.records("discriminator")}
        self.assertEqual([last[rank]["round"] for rank in (0, 2)], [1999, 1999])
        self.assertEqual([last[rank]["workers"] for rank in range(3)],
                         [2, 3, 2])

    def test_a_role_that_is_lost_starts_from_the_checkpoint(self):
        run = self.start("lost", sets=SETS + workers(2, 1) + [
            "rounds=200000", "checkpoint.every_rounds=20"])
        harness.wait_for(lambda: "checkpoint of" in run.text(), "a checkpoint")
        os.kill(run.processes()["discriminator", 0], signal.SIGKILL)
        harness.wait_for(lambda: "resuming after round" in run.text(),
                         "a start from the checkpoint")
        self.wait_for_round(run, "generator", 40, epoch=2)
        run.process.send_signal(signal.SIGTERM)
        self.assertEqual(run.wait(), 75, run.text()[-4000:])


if __name__ == "__main__":
    harness.main()
