# SPDX-License-Identifier: Apache-2.0
"""The demo's recipe learns: after a short run, samples are close to the data."""

import subprocess

import harness


class LearnTest(harness.RunTest):
    # This run measured 0.22; docs/reference/sample_check.md has 5 for an
    # untrained generator and 0.014 for other real images.
    ROUNDS = 700
    THRESHOLD = "0.5"

    def test_short_demo(self):
        run = self.start(
            "demo", recipe=harness.SOURCE / "recipes" /
            "fashion_mnist_dcgan.textproto", sets=[f"rounds={self.ROUNDS}"])
        self.assertEqual(run.wait(4 * harness.DEADLINE), 0, run.text()[-4000:])
        check = subprocess.run(
            [harness.BIN / "gandem", "sample", run.dir, "--check",
             "--threshold", self.THRESHOLD, "-o", self.folder / "grid.png"],
            capture_output=True, text=True, timeout=harness.DEADLINE)
        print(check.stdout)
        self.assertEqual(check.returncode, 0, check.stdout + check.stderr)
        self.assertTrue((self.folder / "grid.png").exists())


if __name__ == "__main__":
    harness.main()
