# SPDX-License-Identifier: Apache-2.0
"""--replan with real workers, by a profile in which half a batch takes ages:
one discriminator worker is better than two, and how fast the machine is has no
say."""

import math
import os
import re
import signal
import subprocess
import unittest

import harness
from harness import BIN, DEADLINE, SMOKE, RunTest, wait_for

OPERATIONS = {"GENERATOR": ("FORWARD", "JUDGE", "BACKWARD"),
              "DISCRIMINATOR": ("REAL", "GENERATED")}
EVERY_ROUNDS = 100
ONE_EACH = "1 generator and 1 discriminator workers"
TWO_DISCRIMINATORS = "1 generator and 2 discriminator workers"


def probe(role, batch, seconds):
    """A step of which each operation on images takes so many seconds."""
    times = dict.fromkeys(OPERATIONS[role], seconds) | {"UPDATE": 1e-6}
    operations = "".join(
        f"operations {{ operation: {name} median_seconds: {value} }}\n"
        for name, value in times.items())
    return (f"probes {{ settings {{ role: {role} batch_size: {batch} "
            "precision: FLOAT32 layout: NCHW threads: 1 feedback: SNAPSHOT "
            f"image_source: REUSED }} outcome: MEASURED {operations}"
            f"round {{ operation: ROUND median_seconds: {sum(times.values())} }}"
            " peak_bytes: 200000000 resting_bytes: 150000000 }\n")


def planted(profile):
    """A whole batch is nothing to a worker that half of one occupies."""
    text = re.sub(r"(?ms)^(probes|transfers) \{\n.*?^\}\n", "", profile)
    for role in OPERATIONS:
        text += probe(role, 8, 10) + probe(role, 16, 1e-6)
    for kind in ("EXCHANGE_SOCKET", "COLLECTIVE_MEMORY"):
        text += (f"transfers {{ kind: {kind} latency_seconds: 0 "
                 "bytes_per_second: 1e15 }\n")
    return text


class ReplanTest(RunTest):
    def setUp(self):
        super().setUp()
        self.cache = {"XDG_CACHE_HOME": str(self.folder / "cache")}
        profile = self.folder / "profile.textproto"
        # Whatever the budget, it has this machine's fingerprint.
        self.gandem("profile", SMOKE, "-o", profile, "--budget", "1s")
        text = planted(profile.read_text())
        for path in [profile, *self.folder.glob("cache/gandem/profiles/*")]:
            path.write_text(text)
        hosts = self.folder / "hosts.textproto"
        hosts.write_text('hosts { name: "here" cores: 3 }\n')
        self.plan = self.folder / "plan.textproto"
        self.gandem("plan", SMOKE, "--profile", profile, "--hosts", hosts,
                    "--as_it_is", "-o", self.plan, "--set",
                    "discriminator.workers=2", "--set", "rounds=1000000",
                    "--set", f"checkpoint.every_rounds={EVERY_ROUNDS}",
                    "--set", "samples.every_rounds=0")
        text = self.plan.read_text()
        # As if the generator never waited: what it takes is then nothing, too,
        # beside the discriminator's halves.
        text = re.sub(r"generator_wait: \S+\n", "generator_wait: 0\n", text)
        # Three workers may start where there are two cores.
        text = re.sub(r'(host: "here"\n)\s+threads: 1\n', r"\1", text)
        self.plan.write_text(text)

    def gandem(self, *arguments):
        done = subprocess.run(
            [str(part) for part in [BIN / "gandem", *arguments]],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=DEADLINE, check=False, env={**os.environ, **self.cache})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def start_by_plan(self, name, flag):
        return self.start(name, recipe=f"--plan={self.plan}", env=self.cache,
                          flags=[flag])

    def wait_for_text(self, run, text):
        def is_there():
            self.assertIsNone(run.process.poll(), run.text()[-4000:])
            return text in run.text()
        wait_for(is_there, text)

    def end(self, run):
        run.process.send_signal(signal.SIGTERM)
        self.assertEqual(run.wait(), 75, run.text()[-4000:])

    def checkpoint(self, run):
        return int(run.final_state()[0].split("-")[1])

    def ranks(self, run):
        """Of the discriminator's workers, by round."""
        found = {}
        for record in run.records("discriminator"):
            found.setdefault(record["round"], []).append(record["rank"])
        return found

    def first_of_one(self, run):
        """The first round of the new shape; before it began, infinity."""
        alone = [number for number, ranks in self.ranks(run).items()
                 if ranks == [0]]
        return min(alone, default=math.inf)

    def test_proposes_and_stays_as_it_is(self):
        run = self.start_by_plan("proposes", "--replan")
        self.wait_for_text(run, f"replan: {ONE_EACH} would be ")
        self.end(run)
        self.assertIn(f"faster than {TWO_DISCRIMINATORS}", run.text())
        self.assertNotIn("going on", run.text())
        # The first checkpoint is one check, and one is not enough.
        self.assertGreaterEqual(self.checkpoint(run), 2 * EVERY_ROUNDS)

    def test_applies_and_goes_on_from_where_it_was(self):
        run = self.start_by_plan("applies", "--auto_replan")
        self.wait_for_text(run, "going on in the new shape")
        wait_for(lambda: self.first_of_one(run) + 1 in self.ranks(run),
                 "rounds in the new shape")
        self.end(run)
        ranks, first = self.ranks(run), self.first_of_one(run)
        self.assertGreaterEqual(first, 2 * EVERY_ROUNDS)
        # No round is lost or done again, and the shape is no other before it
        # was checked twice.
        self.assertEqual(sorted(ranks), list(range(len(ranks))))
        for number, found in ranks.items():
            if number < first + EVERY_ROUNDS:
                self.assertEqual(sorted(found),
                                 [0, 1] if number < first else [0], number)


if __name__ == "__main__":
    harness.main()
