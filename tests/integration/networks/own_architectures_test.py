# SPDX-License-Identifier: Apache-2.0
"""Compares built-in convolutional networks with the same networks in torch.nn
(own_networks/convolutional.py). From the same initial values, they have the same
parameters after 20 rounds."""

import array
import json
import struct
import subprocess
import unittest

import harness
from own_network_test import DOUBLES, FEEDBACKS, FOLDER, PYTHON, network

FILE = FOLDER / "convolutional.py"
WIDTH = 4
# Classes of both roles by family.
CLASSES = {"dcgan": ("Dcgan", "DcganJudge"),
           "sndcgan": ("Sndcgan", "SndcganJudge")}
FIRST_VALUES = """
import sys
sys.path.append({folder!r})
import torch, convolutional
torch.manual_seed(5)
for name, file in {files!r}:
    torch.save(getattr(convolutional, name)(width={width}).state_dict(), file)
"""


FIELDS = {
    "channels_last": ["generator.layout=CHANNELS_LAST",
                      "discriminator.layout=CHANNELS_LAST"],
    "bfloat16": ["generator.precision=BFLOAT16",
                 "discriminator.precision=BFLOAT16"],
    "float64": DOUBLES,
}


def sets_of(family, feedback="SNAPSHOT"):
    shape = f'{{width: {WIDTH} noise_dim: 8}}'
    return ["rounds=20", "checkpoint.every_rounds=10",
            "samples.every_rounds=0", "data.image_size=32",
            "data.max_images=256", f"schedule.feedback={feedback}",
            f"generator.network={{{family} {shape}}}",
            f"discriminator.network={{{family} {{width: {WIDTH}}}}}"] + (
        # Networks in Python use two backward passes by default.
        ["schedule.fused_backward=TWO_PASSES"] if feedback == "FUSED" else [])


def values(run, role):
    """Bytes of tensors by the names of torch.nn.utils.spectral_norm."""
    content = run.final_state()[1][f"{role}-0.safetensors"]
    begin = 8 + struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:begin])
    found = {}
    for name, tensor in header.items():
        part, _, rest = name.partition(".")
        if part not in ("model", "ema"):
            continue
        if name + "_u" in header:
            rest += "_orig"
        first, last = (begin + offset for offset in tensor["data_offsets"])
        found[f"{part}.{rest}"] = content[first:last]
    return found


@unittest.skipUnless(PYTHON, "built without workers inside Python")
class OwnArchitecturesTest(harness.RunTest):
    def begin(self, family):
        """Flags that give both forms the same initial values, and fields that
        select the networks in Python."""
        files = [(name, str(self.folder / f"{name}.pth"))
                 for name in CLASSES[family]]
        subprocess.run([PYTHON, "-c", FIRST_VALUES.format(
            folder=str(FOLDER), files=files, width=WIDTH)],
            check=True, timeout=harness.DEADLINE)
        own = sum((network(role, FILE, name, f"width={WIDTH}") for role, name
                   in zip(("generator", "discriminator"), CLASSES[family])), [])
        return ["--init_generator", files[0][1],
                "--init_discriminator", files[1][1]], own

    def assert_same_values(self, built_in, own):
        for role in ("generator", "discriminator"):
            wanted, found = values(built_in, role), values(own, role)
            self.assertEqual(wanted.keys(), found.keys())
            self.assertGreater(len(wanted), 5)
            self.assertEqual([name for name in wanted
                              if wanted[name] != found[name]], [], role)

    def check(self, family):
        first, own = self.begin(family)
        for feedback in FEEDBACKS:
            with self.subTest(feedback):
                sets = sets_of(family, feedback)
                built_in = self.train(f"built-in-{feedback}", sets=sets,
                                      flags=first)
                for name, flags in (("apart", []),
                                    ("together", ["--colocated"])):
                    self.assert_same_values(built_in, self.train(
                        f"{name}-{feedback}", sets=sets + own,
                        flags=["--python", PYTHON, *first, *flags]))

    def test_fields_of_a_role(self):
        first, own = self.begin("sndcgan")
        for name, fields in FIELDS.items():
            with self.subTest(name):
                sets = sets_of("sndcgan") + fields
                self.assert_same_values(
                    self.train(f"built-in-{name}", sets=sets, flags=first),
                    self.train(f"own-{name}", sets=sets + own,
                               flags=["--python", PYTHON, *first]))

    def test_one_backward_pass(self):
        """It starts at the discriminator's loss instead of the sum of the logits
        as for built-in layers; the result is equal up to rounding."""
        first, own = self.begin("sndcgan")
        flags = ["--python", PYTHON, *first]
        sets = sets_of("sndcgan", "FUSED") + DOUBLES
        one = ["schedule.fused_backward=ONE_PASS"]
        built_in = self.train("built-in", sets=sets + one, flags=first)
        apart = self.train("apart", sets=sets + own + one, flags=flags)
        together = self.train("together", sets=sets + own + one,
                              flags=[*flags, "--colocated"])
        two = self.train("two", sets=sets + own, flags=flags)
        self.assert_same_values(apart, together)
        for other in (built_in, two):
            self.assertLess(self.distance(apart, other), 1e-9)
            self.assertGreater(self.distance(apart, other), 0)

    def distance(self, run, other):
        """The largest difference of a value between two runs in float64."""
        largest = 0
        for role in ("generator", "discriminator"):
            ours, theirs = values(run, role), values(other, role)
            self.assertEqual(ours.keys(), theirs.keys())
            self.assertGreater(len(ours), 5)
            largest = max(largest, *(
                abs(a - b) for name in ours
                for a, b in zip(array.array("d", ours[name]),
                                array.array("d", theirs[name]))))
        return largest

    def test_dcgan(self):
        self.check("dcgan")

    def test_sndcgan(self):
        self.check("sndcgan")


if __name__ == "__main__":
    harness.main()
