# SPDX-License-Identifier: Apache-2.0
"""`gandem trials` with real runs: it stops at its time limit, the same command
resumes and then prints the result, and a folder belongs to one study."""

import os
import subprocess

import harness


class TrialsTest(harness.RunTest):
    def trials(self, *flags):
        command = [harness.BIN / "gandem", "trials", harness.SMOKE, "-o",
                   self.folder / "trials", "--trials", 3, "--rounds", 2,
                   *flags, "--", "--num", 1100]
        return subprocess.run(
            [str(part) for part in command], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=4 * harness.DEADLINE,
            env={**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")})

    def scores(self):
        text = (self.folder / "trials" / "trials.textproto").read_text()
        return text.count("distance:")

    def test_a_study_in_parts(self):
        cut = self.trials("--seeds", 2, "--trial_hours", "0.00001")
        self.assertEqual(cut.returncode, 0, cut.stderr)
        self.assertIn("raise --trial_hours to continue", cut.stdout)
        self.assertEqual(self.scores(), 0)

        done = self.trials("--seeds", 2, "--trial_hours", 10)
        self.assertEqual(done.returncode, 0, done.stderr)
        # Rungs of one and of two rounds; the worse trial ends after the first.
        scores = self.scores()
        self.assertGreaterEqual(scores, 3 * 2 + 2 * 2)
        self.assertLessEqual(scores, 2 * 3 * 2)
        table = done.stdout[done.stdout.index("after 2 rounds, 2 of 2 seeds"):]
        self.assertIn("synchronous", table)
        self.assertIn("smallest distance", table)

        again = self.trials("--seeds", 2, "--trial_hours", 10)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(again.stdout, table)
        self.assertEqual(self.scores(), scores)

        other = self.trials("--seeds", 3, "--trial_hours", 10)
        self.assertEqual(other.returncode, 2)
        self.assertIn("another study (added: seeds[2]", other.stderr)


if __name__ == "__main__":
    harness.main()
