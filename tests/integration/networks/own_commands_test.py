# SPDX-License-Identifier: Apache-2.0
"""Commands of `gandem` on runs with users' networks (docs/own_networks.md, "After
and before the training")."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import harness
from own_network_test import FOLDER, PYTHON, SHORT, both, network

# Makes `images` with plain PyTorch, from the generator of a run's newest
# checkpoint and the noise of evaluation/images/sample_noise.h.
PLAIN = """
import math, sys
import torch
sys.path.append({folder!r})
import gandem, mlp

def normals(index, step=0, purpose=8):
    values = []
    for block in range(2):
        words = mlp.philox([block, index, step, purpose], [1, 0])
        for u, v in (words[:2], words[2:]):
            radius = math.sqrt(-2 * math.log((u + 1) * 2.0 ** -32))
            angle = 2 * math.pi * v * 2.0 ** -32
            values += [radius * math.cos(angle), radius * math.sin(angle)]
    return values

noise = torch.tensor([normals(i) for i in range(70)])
generator = gandem.Run({run!r}).generator()
with torch.no_grad():
    images = generator(noise)
assert images.std(0).mean() > 0.01  # they are of their noise
"""
# Makes other `images`, with standing statistics and the draws of
# evaluation/images/standing_statistics.h.
STANDING = """
norms = [module for module in generator.modules()
         if isinstance(module, torch.nn.modules.batchnorm._BatchNorm)]
assert len(norms) == 2
generator.train()
for norm in norms:
    norm.reset_running_stats()
    norm.momentum = None
sizes = []
with torch.no_grad():
    for step in range({steps}):
        # Without the rejections of an exactly uniform draw, which these steps
        # do not have.
        word = mlp.philox([0, 0, step, 20], [1, 0])[0]
        sizes.append(2 + (word * ({batch} - 1) >> 32))
        generator(torch.tensor([normals(1 + i, step, 20)
                                for i in range(sizes[-1])]))
    generator.eval()
    assert min(sizes) >= 2 and len(set(sizes)) > 1
    before, images = images, generator(noise)
"""
# With this momentum, batch norm would keep most of its initial statistics.
NORMED = """
import torch
from torch import nn

class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(8, 32), nn.BatchNorm1d(32, momentum=0.01), nn.ReLU(),
            nn.Unflatten(1, (8, 2, 2)), nn.ConvTranspose2d(8, 8, 4, 2, 1),
            nn.BatchNorm2d(8, momentum=0.01), nn.ReLU(),
            nn.ConvTranspose2d(8, 1, 4, 2, 1), nn.Tanh())

    def forward(self, noise):
        return self.main(noise)
"""
# Reads `bytes_NHWC` from a file of `gandem sample -o FILE.npz`.
STORED = """
import zipfile
stored = zipfile.ZipFile({file!r}).read("arr_0.npy")
header = 10 + int.from_bytes(stored[8:10], "little")
bytes_NHWC = torch.frombuffer(bytearray(stored[header:]), dtype=torch.uint8)
"""


@unittest.skipUnless(PYTHON, "built without workers inside Python")
class OwnCommandsTest(harness.RunTest):
    @classmethod
    def setUpClass(cls):
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="gandem-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        cls.built_in = cls.trained("built-in", SHORT)
        cls.own = cls.trained("own", SHORT + both(FOLDER / "mlp.py"))

    @classmethod
    def trained(cls, name, sets):
        run = harness.Run(cls.shared / name, sets=sets,
                          flags=["--python", PYTHON])
        assert run.wait() == 0, run.text()[-4000:]
        return run.dir

    def gandem(self, *arguments, code=0, python=PYTHON, env=None):
        flags = ["--python", python] if python else []
        done = subprocess.run(
            [str(part) for part in [harness.BIN / "gandem", *arguments, *flags]],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=harness.DEADLINE,
            env={**os.environ, "XDG_CACHE_HOME": str(self.shared / "cache"),
                 **(env or {})})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def refused(self, *arguments, text, **options):
        done = self.gandem(*arguments, code=2, **options)
        self.assertIn(text, done.stderr)
        return done.stderr

    def in_torch(self, script):
        done = subprocess.run(
            [PYTHON, "-c", script], capture_output=True, text=True,
            timeout=harness.DEADLINE,
            env={**os.environ,
                 "PYTHONPATH": str(harness.BIN.parent / "python"),
                 "XDG_CACHE_HOME": str(self.shared / "cache"),
                 "VIRTUAL_ENV": ""})
        self.assertEqual(done.returncode, 0, done.stderr)

    def plain(self):
        return PLAIN.format(folder=str(FOLDER), run=str(self.own))

    def test_samples_are_those_of_plain_torch(self):
        file = self.folder / "own.npz"
        self.gandem("sample", self.own, "-n", 70, "-o", file)
        self.in_torch(self.plain() + STORED.format(file=str(file)) + """
expected = ((images + 1) / 2 * 255 + 0.5).floor().permute(0, 2, 3, 1).flatten()
off = (bytes_NHWC.float() - expected).abs()
assert off.max() <= 1 and off.mean() < 1e-3, (off.max(), off.mean())
""")
        grids = []
        for run in (self.own, self.built_in):
            grids.append(self.folder / f"{run.name}.png")
            self.gandem("sample", run, "-n", 70, "-o", grids[-1], "--check")
        self.assertEqual(*(grid.read_bytes() for grid in grids))

    def normed(self):
        file = self.folder / "normed.py"
        file.write_text(NORMED)
        return self.trained(self.folder / "normed", SHORT + network(
            "generator", file, "Generator"))

    def test_standing_statistics_are_those_of_plain_torch(self):
        run = self.normed()
        file = self.folder / "standing.npz"
        self.gandem("sample", run, "-n", 70, "-o", file, "--standing_steps", 9,
                    "--standing_batch", 6)
        self.in_torch(
            PLAIN.format(folder=str(FOLDER), run=str(run)) +
            STANDING.format(steps=9, batch=6) +
            STORED.format(file=str(file)) + """
def bytes_of(images):
    return ((images + 1) / 2 * 255 + 0.5).floor().permute(0, 2, 3, 1).flatten()
off = (bytes_NHWC.float() - bytes_of(images)).abs()
assert off.max() <= 1 and off.mean() < 1e-3, (off.max(), off.mean())
assert (bytes_of(before) - bytes_of(images)).abs().mean() > 1
""")
        grids = []
        for flags in ([], ["--standing_steps", 9]):
            grids.append(self.folder / f"{len(flags)}.png")
            self.gandem("sample", run, "-o", grids[-1], *flags)
        self.assertNotEqual(*(grid.read_bytes() for grid in grids))

    def test_standing_statistics_in_an_evaluation(self):
        run = self.normed()
        figures = []
        for steps, workers in ((9, 1), (9, 2), (0, 1)):
            card = json.loads(self.gandem(
                "evaluate", run, "--num", 300, "--quiet", "--workers", workers,
                "--standing_steps", steps, "--feature_cache_gib", 0, "--output",
                self.folder / f"{steps}-{workers}", "--json", "-").stdout)
            figures.append(card["metrics"][0]["value"])
        self.assertEqual(figures[0], figures[1])
        self.assertNotEqual(figures[0], figures[2])

    def test_standing_statistics_need_batch_norm(self):
        standing = ["--standing_steps", 2, "-o", self.folder / "grid.png"]
        self.refused("sample", self.own, *standing,
                     text="no module of the generator is a torch.nn batch norm")
        self.refused("sample", self.normed(), *standing, "--standing_batch", 1,
                     text="standing_batch 1 is below 2")

    def test_an_export_has_the_images_of_plain_torch(self):
        file = self.folder / "generator.pt"
        done = self.gandem("export", self.own, "-o", file)
        self.assertIn("forward(noise): ", done.stdout)
        self.assertTrue((self.folder / "generator.png").exists())
        self.in_torch(self.plain() + f"""
exported = torch.jit.load({str(file)!r})
with torch.no_grad():
    for count in (1, 70):
        torch.testing.assert_close(exported(noise[:count]), images[:count],
                                   rtol=0, atol=1e-5)
""")

    def test_an_exported_state_loads_into_the_class(self):
        for flags in ([], ["--raw"]):
            file = self.folder / f"generator{len(flags)}.safetensors"
            self.gandem("export", self.own, "-o", file, *flags)
            self.in_torch(self.plain() + f"""
import pathlib
from gandem import _generator
module = mlp.Generator()
module.load_state_dict(_generator.read_tensors(pathlib.Path({str(file)!r})))
with torch.no_grad():
    off = (module(noise) - images).abs().max()
assert (off == 0) is not {bool(flags)}, off
""")
        self.assertIn("network = Generator()  # of mlp.py",
                      (self.folder / "README.md").read_text())

    def test_which_forwards_can_be_recorded(self):
        # rich.py has an autograd Function.
        file = self.folder / "cases.py"
        file.write_text((FOLDER / "mlp.py").read_text() + """
class Random(Generator):
    def forward(self, noise):
        return super().forward(noise + torch.randn_like(noise))

class Baked(Generator):
    def forward(self, noise):
        return super().forward(noise + torch.ones(len(noise), 8))

class Shaped(Generator):
    def forward(self, noise):
        return super().forward(noise + torch.ones(noise.shape[0], 8))

class Counts(Generator):
    def __init__(self):
        super().__init__()
        self.register_buffer("passes", torch.zeros(()))

    def forward(self, noise):
        self.passes += 1
        return super().forward(noise)
""")
        cases = [(file, "Shaped", ""),
                 ("rich.py", "Generator", "Swish"),
                 (file, "Random", "makes other images"),
                 (file, "Baked", "makes other images"),
                 (file, "Counts", "it changes its buffer passes in eval()")]
        for module, name, why in cases:
            with self.subTest(name):
                run = self.trained(self.folder / f"run-{name}", SHORT + [
                    f'generator.network.python.module="{FOLDER / module}"',
                    f'generator.network.python.name="{name}"',
                    "generator.network.python.noise_dim=8"])
                output = self.folder / name / "generator.pt"
                output.parent.mkdir()
                if not why:
                    self.gandem("export", run, "-o", output)
                    continue
                said = self.refused("export", run, "-o", output,
                                    text="cannot be recorded as a .pt")
                self.assertIn(f"generator.network.python '{name}'", said)
                self.assertIn("-o FILE.safetensors", said)
                self.assertIn(why, said)
                self.assertEqual(list(output.parent.iterdir()), [])
                self.gandem("export", run, "-o",
                            output.with_suffix(".safetensors"))

    def test_evaluation_has_the_figures_of_the_built_in_network(self):
        cards = []
        for run, workers in ((self.own, 2), (self.own, 1), (self.built_in, 1)):
            cards.append(json.loads(self.gandem(
                "evaluate", run, "--metric", "fid,is", "--num", 300, "--quiet",
                "--workers", workers, "--feature_cache_gib", 0, "--output",
                self.folder / f"{run.name}-{workers}", "--json", "-").stdout))
        figures = [[metric["value"] for metric in card["metrics"]]
                   for card in cards]
        self.assertEqual(len(figures[0]), 2)
        self.assertEqual(figures[0], figures[1])
        self.assertEqual(figures[0], figures[2])

    def test_evaluation_from_python_takes_the_interpreter_that_asks(self):
        self.in_torch(f"""
import gandem
figures = gandem.Run({str(self.own)!r}).evaluate(num=200)
assert len(figures) == 1 and min(figures.values()) > 0, figures
""")

    def test_evaluation_beside_the_training(self):
        run = harness.Run(
            self.folder / "judged", sets=SHORT + both(FOLDER / "mlp.py"),
            flags=["--python", PYTHON, "--evaluate_every", "10",
                   "--evaluate_args", "--num 200"],
            env={"XDG_CACHE_HOME": str(self.shared / "cache"),
                 "VIRTUAL_ENV": ""})
        self.assertEqual(run.wait(harness.BESIDE), 0, run.text()[-4000:])
        self.assertEqual(len(list((run.dir / "evaluation").glob("*.json"))), 2,
                         run.text()[-4000:])

    def test_counts_are_those_of_the_built_in_network(self):
        # Without labels, which the class does not take.
        texts = []
        for run in (self.own, self.built_in):
            recipe = run / "config.textproto"
            text = self.gandem("models", recipe, "--summary").stdout
            texts.append(text.replace("\npython ", "\nmlp    "))
        self.assertEqual(*texts)
        self.refused("models", self.own / "config.textproto", python="",
                     env={"VIRTUAL_ENV": ""}, text="name it with --python")

    def test_a_profile_and_a_plan_of_it(self):
        recipe = self.own / "config.textproto"
        profile = self.folder / "profile.textproto"
        self.refused("profile", recipe, "-o", profile, python="",
                     env={"VIRTUAL_ENV": ""}, text="name it with --python")
        self.assertFalse(profile.exists())
        self.gandem("profile", recipe, "-o", profile, "--budget", "30s")
        text = profile.read_text()
        for role in ("generator", "discriminator"):
            self.assertRegex(
                text, rf"{role}_state \{{\n\s+parameter_bytes: [1-9]\d*\n")
        plan = ["plan", recipe, "--profile", profile,
                "-o", self.folder / "plan.textproto"]
        self.assertIn("why 1:", self.gandem(*plan, python="").stdout)
        # The content of the file counts, not its name.
        moved = self.folder / "moved.py"
        shutil.copy(FOLDER / "mlp.py", moved)
        modules = [f'{role}.network.python.module="{moved}"'
                   for role in ("generator", "discriminator")]
        plan += [word for module in modules for word in ("--set", module)]
        self.gandem(*plan, python="")
        moved.write_text(moved.read_text() + "\n# more\n")
        plan += ["--set", 'generator.network.python.sha256=""',
                 "--set", 'discriminator.network.python.sha256=""']
        self.refused(*plan, python="", text="another model")

    def test_the_interpreter(self):
        grid = self.folder / "grid.png"
        sample = ["sample", self.own, "-o", grid]
        environment = str(pathlib.Path(PYTHON).parent.parent)
        self.gandem(*sample, python="", env={"VIRTUAL_ENV": environment})
        self.refused(*sample, python="", env={"VIRTUAL_ENV": ""},
                     text="name it with --python")
        self.refused(*sample, python="/no/such/python",
                     text="--python: '/no/such/python' cannot be executed")
        bare = self.folder / "bare"  # without any packages
        bare.write_text(f"#!/bin/sh\nexec {PYTHON} -S \"$@\"\n")
        bare.chmod(0o755)
        self.refused(*sample, python=bare, text="cannot import torch")
        # A run with built-in networks needs no interpreter.
        self.gandem("sample", self.built_in, "-o", grid, python="",
                    env={"VIRTUAL_ENV": ""})

    def test_code_that_has_changed(self):
        file = self.folder / "changed.py"
        shutil.copy(FOLDER / "mlp.py", file)
        run = self.trained(self.folder / "changed", SHORT + both(file))
        file.write_text(file.read_text() + "\nraise ValueError('not mine')\n")
        said = self.refused("sample", run, text="--accept_changed_code")
        self.assertNotIn("not mine", said)
        file.unlink()
        self.refused("sample", run, text=f"cannot read '{file}'")

    def test_an_exception_comes_with_its_traceback(self):
        file = self.folder / "fails.py"
        file.write_text((FOLDER / "mlp.py").read_text() + """
class Fails(Generator):
    def forward(self, noise):
        if not self.training and len(noise) == 7:
            raise ValueError("seven are too many")
        return super().forward(noise)
""")
        run = self.trained(self.folder / "fails", SHORT + [
            one.replace('name="Generator"', 'name="Fails"')
            for one in both(file)])
        said = self.refused("sample", run, "-n", 7,
                            text="ValueError: seven are too many")
        self.assertIn("fails.py", said)
        self.assertNotIn("_network.py", said)


if __name__ == "__main__":
    harness.main()
