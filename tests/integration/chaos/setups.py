# SPDX-License-Identifier: Apache-2.0
"""Shapes of runs: "[G+D/]MODE-LAG"; by default two workers of each role.

MODE is snapshot, gradient or fused (schedule.feedback), bounded (snapshots,
BOUNDED), tcp (snapshots; workers started by hand, TCP) or net (like tcp, with a
separate network for every worker: sandbox.py).
"""

import collections
import re

import harness

SILENCE = 4  # seconds until a silent worker is declared dead
LATENESS = 15  # until one that has not joined is; busy machines start slowly
GRACE = 2  # until a stopping run ends without its checkpoint
PATIENCE = 120  # the same in runs without long silences
ROUNDS = 24
BOUNDED_ROUNDS = 240  # enough for a worker to die and return
# One network is below, one above the size from which sums use the ring.
RECIPE = harness.SMOKE.read_text().replace(
    "discriminator {\n  network { mlp { hidden: 32 hidden: 32 } }",
    "discriminator {\n  network { mlp { hidden: 160 hidden: 160 } }")
MODES = ("snapshot", "gradient", "fused", "bounded", "tcp", "net")
FEEDBACK = {"gradient": "IMAGE_GRADIENT", "fused": "FUSED"}


class Setup(collections.namedtuple(
        "Setup", "generators discriminators mode lag")):
    @classmethod
    def parse(cls, text):
        match = re.fullmatch(r"(?:(\d)\+(\d)/)?(\w+)-(\d)", text)
        if not match or match[3] not in MODES:
            raise ValueError(f"'{text}' is no [G+D/]MODE-LAG with a MODE of "
                             + ", ".join(MODES))
        return cls(int(match[1] or 2), int(match[2] or 2), match[3],
                   int(match[4]))

    def __str__(self):
        shape = f"{self.generators}+{self.discriminators}/"
        return f"{'' if shape == '2+2/' else shape}{self.mode}-{self.lag}"

    @property
    def feedback(self):
        return FEEDBACK.get(self.mode, "SNAPSHOT")

    @property
    def is_exact(self):
        return self.mode != "bounded"

    @property
    def is_by_hand(self):
        """Whether the test starts the workers, not `gandem`."""
        return self.mode in ("tcp", "net")

    @property
    def shape(self):
        """A text for summaries, such as "2+2 EXACT"."""
        return (f"{self.generators}+{self.discriminators} "
                f"{'EXACT' if self.is_exact else 'BOUNDED'}")

    @property
    def rounds(self):
        return ROUNDS if self.is_exact else BOUNDED_ROUNDS

    def size(self, role):
        return {"generator": self.generators,
                "discriminator": self.discriminators}[role]

    def workers(self):
        return [f"{role}-{rank}" for role in ("generator", "discriminator")
                for rank in range(self.size(role))]

    def sets(self):
        """Arguments of --set."""
        sets = [f"rounds={self.rounds}",
                f"checkpoint.every_rounds={self.rounds // 4}",
                "samples.every_rounds=0",
                f"generator.workers={self.generators}",
                f"discriminator.workers={self.discriminators}",
                "generator.sync.divergence_check_interval=6",
                "discriminator.sync.divergence_check_interval=6",
                f"control.heartbeat_timeout_seconds={SILENCE}",
                "control.heartbeat_seconds=0.1", "control.restart_budget=20",
                f"schedule.feedback={self.feedback}",
                f"schedule.lag={self.lag}"]
        if not self.is_exact:
            sets += ["schedule.consistency=BOUNDED",
                     "schedule.max_samples_per_image=2"]
        return sets
