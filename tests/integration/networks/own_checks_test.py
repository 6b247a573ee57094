# SPDX-License-Identifier: Apache-2.0
"""Checks of users' networks (docs/own_networks.md) without a run: calls
python/gandem/_network.py like python_worker/ does. Needs torch; uses the
interpreter GANDEM_OWN_PYTHON if this one has no torch."""

import importlib.util
import os
import pathlib
import re
import sys
import unittest

import harness

HAS_TORCH = importlib.util.find_spec("torch") is not None
FOLDER = pathlib.Path(__file__).parent / "own_networks"
FILE = FOLDER / "tensors.py"
if HAS_TORCH:
    sys.path.insert(0, str(harness.SOURCE / "python"))
    import torch
    from gandem import _network


def line_of(mark):
    lines = FILE.read_text().splitlines()
    return 1 + next(i for i, line in enumerate(lines)
                    if line.endswith(f"# {mark}"))


@unittest.skipUnless(HAS_TORCH, "no torch here")
class OwnChecksTest(unittest.TestCase):
    def network(self, name, seed=1):
        """A role's network after the checks, with the initial values of a run."""
        _network._findings.clear()
        network = _network.Network("discriminator", str(FILE), name, [], "", 0,
                                   (1, 8, 8), 0)
        network.set_first_values(seed)
        return network

    def passes(self, network, count=20, images=4, mode="train"):
        """Training steps without updates."""
        for step in range(count):
            torch.manual_seed(step)
            values = torch.randn(images, 1, 8, 8)
            with torch.enable_grad():
                output, = network.forward(mode, values, None, step)
                output.sum().backward()

    def refuses(self, name, *texts, **passes):
        with self.assertRaises(_network.NetworkError) as caught:
            network = self.network(name)
            self.passes(network, **passes)
        for text in texts:
            self.assertRegex(str(caught.exception), text)

    def trains(self, name, **passes):
        network = self.network(name)
        self.passes(network, **passes)
        return network

    def test_tensors_that_networks_share(self):
        self.refuses("SharedBase", "parameter base.weight is that of another",
                     "memory with parameter base.weight of discriminator",
                     re.escape("copy.deepcopy"), count=0)
        self.refuses("SharedNorm", "buffer base.running_mean is that of another",
                     count=0)

    def test_constants_of_the_file_are_copied(self):
        for name, tensor in (("SharedFrozen", "base.0.weight"),
                             ("SharedConstant", "blur")):
            with self.subTest(name):
                networks = [self.trains(name), self.trains(name)]
                ones, others = (dict(each.buffers()) for each in networks)
                self.assertTrue(torch.equal(ones[tensor], others[tensor]))
                ones[tensor].zero_()
                self.assertGreater(float(others[tensor].abs().sum()), 0)

    def test_a_file_draws_the_same_numbers_in_every_process(self):
        first = _network.load_module(str(FILE), "")
        _network._modules.clear()
        torch.manual_seed(3)
        second = _network.load_module(str(FILE), "")
        self.assertTrue(torch.equal(first.BASE.weight, second.BASE.weight))

    def test_tensors_that_are_used_and_not_had(self):
        for name, shapes in (("HiddenList", r"\[64\], \[64, 64\]"),
                             ("HiddenParameter", r"\[64\]")):
            self.refuses(name, "neither trained nor saved",
                         f"of shape {shapes} .*tensors.py, line {line_of(name)}",
                         count=0)
        self.refuses("MadeInForward", r"of shape \[64\], \[64, 64\]", count=0)
        self.refuses("HiddenNorm", "a BatchNorm1d .*tensors.py, line "
                     f"{line_of('HiddenNorm')}", r"running_mean of shape \[64\]",
                     count=0)
        self.trains("HiddenFrozen")
        self.trains("InnerGradient")

    def test_what_is_not_repeatable_has_a_warning(self):
        for name, count in (("KeepsState", 1), ("DrawsElsewhere", 1),
                            ("Good", 0), ("HiddenFrozen", 0)):
            warnings = [line for line in self.network(name).warnings
                        if "not repeatable" in line]
            self.assertEqual(len(warnings), count, name)

    def test_changes_of_tensors_are_reported_at_the_pass(self):
        # The checks have already made three passes with two samples.
        for name, text in (
                ("AddsALayer", "adds the parameters extra.bias, extra.weight"),
                ("AddsABuffer", "adds the buffer mean"),
                ("Removes", "removes the parameter main.1.bias"),
                ("Replaces", "in the place of parameter main.1.weight"),
                ("Clamps", "changes parameter main.1.weight in place"),
                ("ChangesItsInput", "changes its input in place"),
                ("Freezes", "requires_grad of parameter main.1.weight")):
            for mode in ("train", "frozen"):
                with self.subTest(name, mode=mode):
                    self.refuses(name, f"forward, in step 5, .*{text}",
                                 mode=mode)
        self.refuses("GrowsAtOnce", "forward adds the parameter extra", count=0)
        self.trains("AddsAnActivation")
        self.trains("SwapsData")

    def test_lazy_layers_get_their_tensors(self):
        network = self.trains("Lazy")
        # Only the twenty passes changed the statistics.
        self.assertEqual(int(dict(network.buffers())[
            "main.1.num_batches_tracked"]), 20)
        same, other = self.network("Lazy"), self.network("Lazy", seed=2)
        first = dict(self.network("Lazy").parameters())["main.5.weight"]
        self.assertTrue(torch.equal(
            first, dict(same.parameters())["main.5.weight"]))
        self.assertFalse(torch.equal(
            first, dict(other.parameters())["main.5.weight"]))
        self.refuses("LazyUnused", "lazy parameters extra.weight, extra.bias",
                     count=0)

    def test_batch_norm_of_a_single_image_is_named(self):
        self.refuses("Norm", r"the layer 'main.2' \(BatchNorm1d\)",
                     "discriminator.micro_batch", images=1)
        self.trains("Norm", images=2)

    def test_unused_parameters_may_be_frozen(self):
        self.refuses("Unused", "forgotten.weight, forgotten.bias",
                     "discriminator.freeze")
        network = self.network("Unused")
        for name, tensor in network.parameters():
            tensor.requires_grad_(not name.startswith("forgotten"))
        self.passes(network)


if __name__ == "__main__":
    python = os.environ.get("GANDEM_OWN_PYTHON", "")
    if not HAS_TORCH and python:
        os.execv(python, [python, __file__, *sys.argv[1:]])
    harness.main()
