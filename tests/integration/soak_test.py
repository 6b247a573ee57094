# SPDX-License-Identifier: Apache-2.0
"""Runs soak.py for ten minutes; scripts/soak.sh takes an hour."""

import pathlib
import shutil
import tempfile
import unittest

import harness
import soak


def samples(pid, values):
    """One sample per minute."""
    return [soak.Sample(60 * minute, pid, {"threads": value})
            for minute, value in enumerate(values)]


class SlopeTest(unittest.TestCase):
    def test_growth_is_that_within_processes(self):
        self.assertAlmostEqual(
            soak.slope(samples(1, [10, 12, 14]) + samples(2, [50, 52, 54]),
                       "threads"), 2)

    def test_a_larger_process_later_is_no_growth(self):
        self.assertEqual(
            soak.slope(samples(1, [10, 10]) + samples(2, [90, 90]), "threads"),
            0)

    def test_too_short_to_tell(self):
        self.assertEqual(soak.slope(samples(1, [10]), "threads"), 0)


class JudgeTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gandem-soak-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def test_what_grows_is_named(self):
        player = soak.Soak(None, 1, 1)
        for name in ("gandem", "generator", "discriminator"):
            player.samples[name] = [
                soak.Sample(60 * minute, 1, {
                    "memory (KiB)": 1000 + 300 * minute * (name == "gandem"),
                    "file descriptors": 10, "threads": 5})
                for minute in range(3)]
        text, faults = player.judge()
        self.assertEqual(len(faults), 1, faults)
        self.assertIn("gandem: memory (KiB) grow by 300.00", faults[0])
        self.assertIn("| gandem: memory (KiB) | 1600 | 300.00 | 256 |", text)
        samples = self.folder / "samples.csv"
        player.write_samples(samples)
        self.assertEqual(samples.read_text().splitlines()[:2], [
            "process,pid,seconds,memory (KiB),file descriptors,threads",
            "discriminator,1,0,1000,10,5"])
        self.assertIn("gandem,1,120,1600,10,5", samples.read_text())
        player.most["state"] = 3 << 20
        self.assertIn("state: 3.0 MiB", " ".join(player.judge()[1]))


class SoakTest(harness.RunTest):
    def test_ten_minutes(self):
        player = soak.Soak(self.folder / "run", minutes=10, seed=1)
        player.play()
        text, faults = player.judge()
        print(text)
        self.assertFalse(faults, text)


if __name__ == "__main__":
    harness.main()
