# SPDX-License-Identifier: Apache-2.0
"""AUTO in real processes: it measures once, and every resume keeps the choice."""

import json
import struct

import harness

AUTO = [f"{role}.{field}=AUTO" for role in ("generator", "discriminator")
        for field in ("precision", "layout")]


def choice(content):
    """[precision, layout] in the bytes of a checkpoint's file."""
    size = struct.unpack("<Q", content[:8])[0]
    begin, end = json.loads(content[8:8 + size])[
        "compute.choice"]["data_offsets"]
    return list(struct.unpack("<2q", content[8 + size + begin:8 + size + end]))


class PrecisionTest(harness.RunTest):
    def choices(self, run):
        _, files = run.final_state()
        return {name: choice(content) for name, content in files.items()}

    def test_a_resume_keeps_what_auto_has_chosen(self):
        first = self.train("auto", sets=AUTO + ["rounds=20"])
        chosen = self.choices(first)
        self.assertEqual(sorted(chosen), ["discriminator-0.safetensors",
                                          "generator-0.safetensors"])
        for role in ("generator", "discriminator"):
            log = (first.dir / "logs" / f"{role}-0.log").read_text()
            self.assertIn("the fastest of", log)
        again = self.train("auto", sets=AUTO + ["rounds=30"])
        self.assertEqual(self.choices(again), chosen)
        for role in ("generator", "discriminator"):
            log = (again.dir / "logs" / f"{role}-0.log").read_text()
            self.assertIn("as in the checkpoint", log)
            self.assertEqual(log.count("the fastest of"), 1)

    def test_a_death_before_the_first_checkpoint_keeps_it(self):
        sets = AUTO + ["rounds=20", "checkpoint.every_rounds=1000"]
        marker = self.folder / "generator.killed"
        run = self.start("killed", sets=sets, env={
            "GANDEM_FAILPOINT":
                f"kill generator.before_update@generator-0:4:{marker}"})
        self.assertEqual(run.wait(), 0, run.text()[-4000:])
        self.assertTrue(marker.exists(), "the point was not passed")
        for role in ("generator", "discriminator"):
            log = (run.dir / "logs" / f"{role}-0.log").read_text()
            self.assertEqual(log.count("the fastest of"), 1, log)
            self.assertEqual(log.count("as chosen earlier in this run"), 1, log)

        # Ends the whole family with kill -9.
        whole = self.start("whole", sets=sets, env={
            "GANDEM_FAILPOINT":
                f"stop generator.before_update@generator-0:4:{marker}-2"})
        harness.wait_for((self.folder / "generator.killed-2").exists, "round 4")
        whole.kill()
        whole.wait()
        self.assertFalse(list((whole.dir / "checkpoints").glob("step-*")))
        again = self.train("whole", sets=sets)
        for role in ("generator", "discriminator"):
            log = (again.dir / "logs" / f"{role}-0.log").read_text()
            self.assertEqual(log.count("the fastest of"), 1, log)
            self.assertEqual(log.count("as chosen earlier in this run"), 1, log)

    def test_two_processes_equal_one_in_bfloat16(self):
        sets = ["generator.precision=BFLOAT16",
                "discriminator.precision=BFLOAT16", "rounds=12"]
        together = self.train("one", sets=sets, flags=["--colocated"])
        for feedback in ("SNAPSHOT", "IMAGE_GRADIENT"):
            apart = self.train(f"two-{feedback}",
                               sets=sets + [f"schedule.feedback={feedback}"])
            self.assert_same_state(apart, together)


if __name__ == "__main__":
    harness.main()
