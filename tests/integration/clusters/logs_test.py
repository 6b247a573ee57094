# SPDX-License-Identifier: Apache-2.0
"""`gandem logs` of a real run: all processes in order of time, including a worker
that dies and restarts. Also follows the logs until the run ends."""

import os
import re
import signal
import subprocess

import harness

SETS = ["samples.every_rounds=0", "checkpoint.every_rounds=10",
        "discriminator.workers=2", "rounds=1000000"]


LINE = re.compile(r"(\d{4}-\d\d-\d\d [\d:.]{12}) ([DIWE]) ([a-z]+)(?:/(\d+))?: ")


class LogsTest(harness.RunTest):
    def logs(self, run, *flags):
        done = subprocess.run(
            [harness.BIN / "gandem", "logs", run.dir, *map(str, flags)],
            capture_output=True, text=True, timeout=harness.DEADLINE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def lines(self, text):
        """The lines of the processes, without those of tracebacks."""
        found = [line for line in text.splitlines() if LINE.match(line)]
        times = [LINE.match(line)[1] for line in found]
        self.assertEqual(times, sorted(times))
        return found

    def test_all_processes_in_order_also_when_followed(self):
        run = self.start("run", sets=SETS)
        harness.wait_for(
            lambda: len(list((run.dir / "logs").glob("discriminator-*.log"))) == 2
            and list(run.dir.glob("checkpoints/step-*")), "a checkpoint")
        followed = harness.Worker(
            [harness.BIN / "gandem", "logs", run.dir, "--follow"],
            self.folder / "followed", {})
        self.addCleanup(followed.process.wait)
        self.addCleanup(followed.process.kill)
        harness.wait_for(followed.text, "its first lines")
        os.kill(run.worker("generator_worker"), signal.SIGKILL)
        harness.wait_for(lambda: "killed by signal 9" in followed.text(),
                         "the death")
        run.process.send_signal(signal.SIGTERM)
        self.assertEqual(run.wait(), 75, run.text()[-4000:])
        # Following ends with the run.
        self.assertEqual(followed.wait(), 0, followed.text())
        whole = self.logs(run)
        lines = self.lines(whole)
        self.assertEqual({LINE.match(line).group(3, 4) for line in lines},
                         {("gandem", None), ("generator", "0"),
                          ("discriminator", "0"), ("discriminator", "1")})
        self.assertIn("killed by signal 9", whole)
        # Following printed the same lines: none is lost, none is repeated.
        # Within the second of a death it may print them in another order.
        shown = followed.text().splitlines()
        self.assertCountEqual(filter(LINE.match, shown), lines)
        one = self.lines(self.logs(run, "--role", "discriminator",
                                   "--rank", 1))
        self.assertEqual(one, [line for line in lines
                               if " discriminator/1: " in line])
        nobody = subprocess.run(
            [harness.BIN / "gandem", "logs", run.dir, "--rank", "7"],
            capture_output=True, text=True, timeout=harness.DEADLINE)
        self.assertEqual(nobody.returncode, 2, nobody.stderr)
        self.assertIn("discriminator-1", nobody.stderr)


if __name__ == "__main__":
    harness.main()
