# SPDX-License-Identifier: Apache-2.0
"""Plays eight faults of chaos/, or thirty with GANDEM_TEST_ALL=1. scripts/chaos.sh
plays all of them."""

import os
import re
import unittest

import harness
from chaos import recovery, sandbox, stage, table


def faults_of(cases):
    return [fault for case in cases for fault in case.faults]


def points_in_code():
    use = re.compile(r"(?:GANDEM_FAILPOINT(?:_CORRUPTS)?|FailpointDamages|"
                     r'DamageMessage)\(\s*"([^"]*)"')
    folders = [path for path in harness.SOURCE.iterdir()
               if path.is_dir() and path.name[0] != "."
               and not path.name.startswith(("build", "tests"))]
    return {point for folder in folders
            for ending in ("cc", "h") for path in folder.rglob(f"*.{ending}")
            for point in use.findall(path.read_text())}


class TableTest(unittest.TestCase):
    def test_different_faults_at_all_points_of_a_run(self):
        cases = table.parse(table.FAULTS)
        self.assertEqual(len(set(cases)), len(cases))
        self.assertEqual(
            {fault.point for fault in faults_of(cases)},
            # divergence_test.py, precision_test.py and bad_input_test.py use
            # these points.
            {point for point in points_in_code()
             if not point.startswith(("evaluation.", "update."))
             and point not in ("coordinator.after_choice", "file.wait")})

    def test_the_thirty_are_of_all_kinds_places_and_shapes(self):
        cases = table.parse(table.FAULTS)
        thirty = table.parse(table.THIRTY)
        self.assertEqual(len(thirty), 30)
        self.assertLessEqual(set(thirty), set(cases))
        self.assertEqual({fault.family for fault in faults_of(thirty)},
                         {fault.family for fault in faults_of(cases)})
        self.assertEqual({fault.place for fault in faults_of(thirty)},
                         {fault.place for fault in faults_of(cases)})
        self.assertEqual({case.setup.shape for case in thirty},
                         {case.setup.shape for case in cases})

    def test_a_seed_draws_the_same_faults_each_time(self):
        cases = table.draw(7, 40, 3)
        self.assertEqual(cases, table.draw(7, 40, 3))
        self.assertNotEqual(cases, table.draw(8, 40, 3))
        self.assertEqual({len(case.faults) for case in cases}, {1, 2, 3})
        for case in cases:
            self.assertEqual(table.parse_case(str(case)), case)
            for fault in case.faults:
                self.assertIn(fault.process, [*case.setup.workers(), "gandem"])

    def test_all_of_it_are_three_hundred_faults(self):
        from chaos.__main__ import DRAWN_RUNS, MOST_FAULTS
        cases = table.parse(table.FAULTS) + table.draw(1, DRAWN_RUNS,
                                                       MOST_FAULTS)
        self.assertGreaterEqual(len(faults_of(cases)), 360)

    def test_a_line_that_is_none_is_refused(self):
        for line in ("snapshot-1", "snapshot-1 kill", "snapshots-1 kill a@b:1",
                     "snapshot-1 kill ring.received@generator-0",
                     "snapshot-1 kill a@b:1 + kill",
                     "snapshot-1 stop=for ring.received@generator-0:3",
                     "snapshot-1 pauze ring.received@generator-0:3"):
            with self.subTest(line), self.assertRaises(ValueError):
                table.parse_case(line)


class SummaryTest(unittest.TestCase):
    def test_what_failed_and_what_was_skipped_is_told(self):
        one, two = table.parse("snapshot-1 kill ring.received@generator-0:3\n"
                               "bounded-2 kill ring.received@generator-0:3 + "
                               "pause ring.received@generator-1:3")
        text = stage.summary([
            stage.Result(one, 2, one.faults, "", ""),
            stage.Result(two, 2, two.faults, "other bits", ""),
            # The worker of the second fault had already ended.
            stage.Result(two, 2, two.faults[:1], "", ""),
            stage.Result(one, 0, [], "", "no disk")], 60)
        self.assertIn("4 faults in 3 runs in 60 s; 1 runs failed; "
                      "1 skipped: no disk.", text)
        self.assertIn("| kill | 1 of 1 | 1 of 2 |", text)
        self.assertIn("| pause |  | 0 of 1 |", text)

    def test_a_missed_aim_is_told(self):
        text = recovery.table([
            recovery.Death("BOUNDED", "2+2", "generator", 0.5, 3),
            recovery.Death("BOUNDED", "2+2", "generator", 1.5, 4)])
        self.assertIn("at most 1.50 (aim 1: MISSED)", text)
        self.assertIn("at most 4.00 (aim 5: met)", text)


class ChaosTest(harness.RunTest):
    def test_faults(self):
        def report(result):
            with self.subTest(str(result.case)):
                self.assertFalse(result.problem, result.problem)
                if result.skipped:
                    self.skipTest(result.skipped)
        sandbox.set_up()
        cases = table.parse(table.THIRTY)
        if os.environ.get("GANDEM_TEST_ALL") != "1":
            cases = cases[::4]
        stage.Stage(self.folder).play(cases, report)


if __name__ == "__main__":
    sandbox.enter()
    harness.main()
