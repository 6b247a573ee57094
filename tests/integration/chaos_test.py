# SPDX-License-Identifier: Apache-2.0
"""Ten of the faults of chaos.py; scripts/chaos.sh plays all of them."""

import re
import unittest

import chaos
import harness


class TableTest(unittest.TestCase):
    def test_a_hundred_different_faults_at_all_points_of_a_run(self):
        faults = chaos.parse(chaos.FAULTS)
        self.assertGreaterEqual(len(set(faults)), 100)
        self.assertEqual(len(set(faults)), len(faults))
        points = re.findall(
            r'^    "([\w.]+)",$',
            (harness.SOURCE / "common/process/failpoint.cc").read_text(), re.M)
        self.assertEqual(
            {fault.point for fault in faults},
            # divergence_test.py spoils the gradients.
            {point for point in points
             if not point.startswith(("evaluation.", "update."))})

    def test_the_ten_are_of_all_kinds_and_places(self):
        faults = set(chaos.parse(chaos.FAULTS))
        ten = set(chaos.parse(chaos.TEN))
        self.assertEqual(len(ten), 10)
        self.assertLessEqual(ten, faults)
        self.assertEqual({fault.kind for fault in ten},
                         {fault.kind for fault in faults}
                         - {"cut", "cut=tcp"})
        self.assertLessEqual({chaos.place_of(fault) for fault in faults}
                             - {"update"},  # crash_test.py
                             {chaos.place_of(fault) for fault in ten})


class ChaosTest(harness.RunTest):
    def test_ten_faults(self):
        def report(fault, _, problem):
            with self.subTest(str(fault)):
                self.assertFalse(problem, problem)
        chaos.Stage(self.folder).play(chaos.parse(chaos.TEN), report)


if __name__ == "__main__":
    unittest.main()
