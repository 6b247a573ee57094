# SPDX-License-Identifier: Apache-2.0
"""`gandem logs` of a real run: all processes in order of time, including a worker
that dies and restarts. Also follows the logs until the run ends."""

import json
import os
import signal
import subprocess

import harness

SETS = ["samples.every_rounds=0", "checkpoint.every_rounds=10",
        "discriminator.workers=2", "rounds=1000000"]


def texts(lines):
    """Texts line by line; late lines have a separate entry."""
    return [f"{line['role']} {line.get('rank')}: {text}"
            for line in lines for text in line["text"].split("\n")]


class LogsTest(harness.RunTest):
    def logs(self, run, *flags):
        done = subprocess.run(
            [harness.BIN / "gandem", "logs", run.dir, *map(str, flags)],
            capture_output=True, text=True, timeout=harness.DEADLINE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def lines(self, text):
        found = [json.loads(line) for line in text.splitlines()]
        times = [line["time"] for line in found]
        self.assertEqual(times, sorted(times))
        return found

    def test_all_processes_in_order_also_when_followed(self):
        run = self.start("run", sets=SETS)
        harness.wait_for(
            lambda: len(list((run.dir / "logs").glob("discriminator-*.log"))) == 2
            and list(run.dir.glob("checkpoints/step-*")), "a checkpoint")
        followed = harness.Worker(
            [harness.BIN / "gandem", "logs", run.dir, "--follow", "--json"],
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
        whole = self.logs(run, "--json")
        lines = self.lines(whole)
        self.assertEqual({(line["role"], line.get("rank")) for line in lines},
                         {("gandem", None), ("generator", 0),
                          ("discriminator", 0), ("discriminator", 1)})
        self.assertIn("killed by signal 9", whole)
        # Following printed exactly the same lines.
        shown = [json.loads(line) for line in followed.text().splitlines()]
        self.assertCountEqual(texts(shown), texts(lines))
        one = self.lines(self.logs(run, "--json", "--role", "discriminator",
                                   "--rank", 1))
        self.assertEqual(one, [line for line in lines if line["role"] ==
                               "discriminator" and line["rank"] == 1])
        # In text format every line names its process.
        stamped = [line for line in self.logs(run).splitlines()
                   if not line.startswith("  | ")]
        self.assertEqual(len(stamped), len(lines))
        self.assertTrue(any(" discriminator/1: " in line for line in stamped))
        nobody = subprocess.run(
            [harness.BIN / "gandem", "logs", run.dir, "--rank", "7"],
            capture_output=True, text=True, timeout=harness.DEADLINE)
        self.assertEqual(nobody.returncode, 2, nobody.stderr)
        self.assertIn("discriminator/1", nobody.stderr)


if __name__ == "__main__":
    harness.main()
