# SPDX-License-Identifier: Apache-2.0
"""Real runs through the Python package (docs/python.md). Tests that need torch run
in an interpreter with torch, if there is one."""

import contextlib
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import harness

sys.path.insert(0, str(harness.SOURCE / "python"))
os.environ["GANDEM_BIN"] = str(harness.BIN)
import gandem  # noqa: E402

# Set if gandem._worker is built.
OWN_PYTHON = os.environ.get("GANDEM_OWN_PYTHON", "")
FACE = {"PYTHONPATH": str(harness.SOURCE / "python"), "PYTHONUNBUFFERED": "1",
        "PYTHONFAULTHANDLER": "1"}


def python_with_torch():
    for python in (OWN_PYTHON, sys.executable):
        if python and subprocess.run(
                [python, "-c", "import importlib.util as u, sys\n"
                 "sys.exit(u.find_spec('torch') is None)"],
                timeout=harness.DEADLINE).returncode == 0:
            return python
    return ""


TORCH_PYTHON = python_with_torch()
ADAM = {"adam": {"learning_rate": 1e-3, "beta1": 0}}
# A shorter recipes/mlp_smoke.textproto.
SMALL = {
    "name": 'a "small" \\ run, très petite', "rounds": 20,
    "data": {"image_size": 8, "fit": "RESIZE", "max_images": 512},
    "schedule": {"lag": 1, "feedback": gandem.Enum("SNAPSHOT")},
    "generator": {"network": {"mlp": {"hidden": [32, 16], "noise_dim": 8}},
                  "batch_size": 16, "optimizer": ADAM, "device": None},
    "discriminator": {"network": {"mlp": {"hidden": (32, 32)}},
                      "batch_size": 16, "optimizer": ADAM},
    "loss": "HINGE", "ema": {"decay": 0.9},
    "checkpoint": {"every_rounds": 10},
}
ENDLESS = {"rounds": 100000000, "checkpoint.every_rounds": 100000000}


class SharedRunTest(harness.RunTest):
    """One run for all tests that only inspect a run."""

    @classmethod
    def setUpClass(cls):
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="gandem-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        cls.run_dir = cls.shared / "run"
        cls.run_ = gandem.train(SMALL, cls.run_dir, progress=False, seed=3)

    def script(self, text, python=sys.executable, **more):
        """Starts a Python process in a new family."""
        file = self.folder / "script.py"
        file.write_text(text)
        process = subprocess.Popen(
            [python, file], cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, **FACE, **more, harness.TOKEN: str(self.folder)})
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        for pid in harness.family(str(self.folder)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.kill()
        process.communicate(timeout=harness.DEADLINE)

    def output(self, process, code=0):
        try:
            text = process.communicate(timeout=harness.DEADLINE)[0]
        except subprocess.TimeoutExpired:
            where = harness.standing(str(self.folder))
            process.send_signal(signal.SIGABRT)  # Python prints its stack
            self.fail(f"still running:\n{where}\n"
                      + process.communicate(timeout=harness.DEADLINE)[0])
        self.assertEqual(process.returncode, code, text)
        return text


class FaceTest(SharedRunTest):
    def test_the_recipe_is_that_of_the_dict(self):
        config = self.run_.config
        self.assertEqual(config["name"], SMALL["name"])
        self.assertEqual(config["seed"], 3)
        self.assertEqual(config["loss"], "HINGE")
        self.assertEqual(config["data"]["max_images"], 512)
        self.assertEqual(config["generator"]["network"]["mlp"]["hidden"],
                         [32, 16])
        self.assertEqual(config["generator"]["device"], "cpu")

    def test_status_and_metrics(self):
        status = self.run_.status()
        self.assertEqual(status["state"], "FINISHED")
        self.assertEqual(status["completed_rounds"], 20)
        self.assertEqual(status["run_name"], SMALL["name"])
        columns = self.run_.metrics()
        self.assertEqual({len(values) for values in columns.values()}, {40})
        self.assertEqual(set(columns["role"]), {"generator", "discriminator"})
        generator = self.run_.metrics("generator")
        self.assertEqual(generator["round"], list(range(20)))
        self.assertTrue(all(seconds > 0 for seconds in
                            generator["round_seconds"]))
        self.assertEqual(self.run_.checkpoint().name, "step-000000020")

    def test_columns_as_a_data_frame(self):
        class Frame:
            def __init__(self, columns):
                self.columns = columns
        columns = self.run_.metrics("generator")
        with mock.patch.dict(sys.modules, pandas=mock.Mock(DataFrame=Frame)):
            self.assertEqual(columns.to_pandas().columns, columns)
        with mock.patch.dict(sys.modules, pandas=None):
            with self.assertRaisesRegex(gandem.ConfigError, "pip install"):
                columns.to_pandas()

    def test_the_same_call_goes_on(self):
        shutil.copytree(self.run_dir, self.folder / "copy", symlinks=True)
        run = gandem.train(SMALL, self.folder / "copy", progress=False, seed=3,
                           rounds=25, flags=["--colocated"])
        self.assertEqual(run.metrics("generator")["round"], list(range(25)))

    def test_messages_are_those_of_gandem(self):
        small = json.loads(json.dumps(SMALL))
        for change, text in (({"loss": "HINGES"}, "HINGES"),
                             ({"no_field": 1}, "no_field"),
                             ({"generator.batch_size": -1}, "batch_size"),
                             # A worker finds this fault after the start.
                             ({"generator.device": "cuda:99"}, "cuda:99")):
            with self.assertRaises(gandem.ConfigError) as caught:
                gandem.train(small, self.folder / "bad", progress=False,
                             **change)
            self.assertIn(text, caught.exception.message)
            self.assertEqual(caught.exception.exit_code, 2)
        for recipe in ("/no/such.textproto", 7):
            with self.assertRaises(gandem.ConfigError):
                gandem.train(recipe, self.folder / "bad", progress=False)
        with self.assertRaisesRegex(gandem.ConfigError, "holds no run"):
            gandem.Run(self.folder)
        with self.assertRaisesRegex(gandem.ConfigError, "'no_such'"):
            self.run_.evaluate("no_such")
        (self.folder / "config.textproto").write_text("rounds: 1\n")
        with self.assertRaisesRegex(gandem.ConfigError, "no complete checkpoint"):
            gandem.Run(self.folder).checkpoint()

    def test_a_file_that_trains_when_it_is_imported(self):
        with mock.patch.dict(sys.modules, {"gandem._worker": mock.Mock()}):
            with self.assertRaisesRegex(gandem.ConfigError, "__main__"):
                gandem.train(SMALL, self.folder / "inside")

    def endless(self, path):
        text = (f"import gandem\ngandem.train({str(harness.SMOKE)!r}, {path!r}, "
                f"**{ENDLESS!r})\n")
        process = self.script(text)
        file = self.folder / path / "metrics.jsonl"
        harness.wait_for(lambda: file.exists() and file.stat().st_size > 0,
                         "a round")
        return process

    def test_ctrl_c_writes_a_checkpoint(self):
        process = self.endless("run")
        process.send_signal(signal.SIGINT)
        text = self.output(process, -signal.SIGINT)
        self.assertIn("KeyboardInterrupt", text)
        run = gandem.Run(self.folder / "run")
        self.assertGreater(int(run.checkpoint().name[5:]), 0)
        self.assertEqual(run.status()["state"], "STOPPED")
        self.assertEqual(harness.family(str(self.folder)), [])

    def test_a_training_does_not_outlive_its_caller(self):
        process = self.endless("run")
        process.kill()
        harness.wait_for(lambda: not harness.family(str(self.folder)),
                         "the training to end")
        run = gandem.Run(self.folder / "run")
        self.assertGreater(int(run.checkpoint().name[5:]), 0)

    def test_lines_without_tqdm_and_a_bar_with_it(self):
        text = (f"import gandem\ngandem.train({str(harness.SMOKE)!r}, 'run', "
                "rounds=8)\n")
        (self.folder / "tqdm").mkdir()
        absent = self.folder / "tqdm" / "__init__.py"
        absent.write_text("raise ImportError")
        self.assertIn("all 8 rounds", self.output(self.script(text)))
        absent.write_text("")
        (self.folder / "tqdm" / "auto.py").write_text("""
class tqdm:
    n = 0
    def __init__(self, unit, total): self.total = total
    def set_postfix(self, losses, refresh): self.losses = sorted(losses)
    def refresh(self): pass
    def close(self): print("bar", self.n, self.total, self.losses)
""")
        text = text.replace("'run'", "'other'")
        self.assertEqual(self.output(self.script(text)),
                         "bar 8 8 ['discriminator', 'generator']\n")

    def test_the_estimator(self):
        manager = gandem.ScalingManager(
            harness.SMOKE, batch_size=8, num_workers=1,
            run_dir=self.folder / "run", rounds=10)
        run = manager.train(progress=False)
        for role in ("generator", "discriminator"):
            self.assertEqual(run.config[role]["batch_size"], 8)
            self.assertEqual(run.config[role]["workers"], 1)
        with mock.patch.dict(os.environ,
                             XDG_CACHE_HOME=str(self.shared / "cache")):
            value = manager.evaluate("fid", num=100, bootstrap=0)
            figures = run.evaluate("fid,kid", num=100, bootstrap=0,
                                   kid_subset=50, kid_subsets=2)
        self.assertIsInstance(value, float)
        distance, kernel = figures  # FD(classifier-...), KID(...)
        self.assertTrue(distance.startswith("FD(")
                        and kernel.startswith("KID("), figures)
        self.assertEqual(figures[distance], value)
        with self.assertRaisesRegex(gandem.ConfigError, "gan: "):
            manager.train(7)

    @unittest.skipIf(importlib.util.find_spec("torch"), "torch is here")
    def test_says_what_needs_torch(self):
        for ask in (lambda run: run.generator(), lambda run: run.sample(1)):
            with self.assertRaisesRegex(gandem.ConfigError, "needs torch"):
                ask(self.run_)


@unittest.skipUnless(TORCH_PYTHON, "no interpreter here has torch: set "
                     "GANDEM_OWN_PYTHON to one that has")
class TorchTest(SharedRunTest):
    def torch(self, text):
        return self.output(self.script(
            "import gandem, torch\n"
            f"run = gandem.Run({str(self.run_dir)!r})\n" + text, TORCH_PYTHON))

    def test_the_generator_has_the_averaged_weights(self):
        """Computes the MLP from the checkpoint's numbers by its formula."""
        self.torch("""
from gandem import _generator
state = list(_generator.read_state(run.checkpoint()).values())
weights = [t for t in state if t.dim() == 2]
biases = [t for t in state if t.dim() == 1]
assert [w.shape[0] for w in weights] == [32, 16, 64], state
noise = values = torch.randn(5, 8)
for i, (weight, bias) in enumerate(zip(weights, biases)):
    values = values @ weight.T + bias
    values = torch.nn.functional.leaky_relu(values, 0.2) if i < 2 \
        else torch.tanh(values)
module = run.generator()
assert isinstance(module, torch.nn.Module)
with torch.no_grad():
    images = module(noise)
torch.testing.assert_close(images, values.reshape(5, 1, 8, 8))
""")

    def test_samples(self):
        self.torch("""
few, many, others = run.sample(3), run.sample(70), run.sample(3, seed=1)
assert many.shape == (70, 1, 8, 8) and many.abs().max() <= 1, many.shape
torch.testing.assert_close(few, many[:3])
assert not torch.equal(few, others)
for arguments, text in ((dict(num_images=0), 'num_images'),
                        (dict(num_images=1, label=2), 'label 2')):
    try:
        run.sample(**arguments)
    except gandem.ConfigError as error:
        assert text in error.message
    else:
        raise AssertionError(text)
""")

    def test_exports(self):
        self.torch("""
noise = torch.randn(5, 8)
with torch.no_grad():
    images = run.generator()(noise)
    exported = torch.jit.load(str(run.export('generator.pt')))(noise)
torch.testing.assert_close(exported, images, rtol=0, atol=1e-5)
first = run.export('first.safetensors', raw=True, checkpoint=10)
assert first.exists() and first.name == 'first.safetensors'
""")

    def test_an_onnx_file(self):
        found = subprocess.run(
            [TORCH_PYTHON, "-c", "import onnx, onnxruntime"],
            capture_output=True, timeout=harness.DEADLINE)
        if found.returncode != 0:
            self.skipTest("the interpreter with torch lacks onnx or onnxruntime")
        self.torch("""
import os, onnxruntime
noise = torch.randn(5, 8)
file = run.export('generator.onnx')
session = onnxruntime.InferenceSession(str(file))
assert [one.name for one in session.get_inputs()] == ['noise']
with torch.no_grad():
    images = run.generator()(noise)
for count in (1, 5):
    made, = session.run(['images'], {'noise': noise[:count].numpy()})
    torch.testing.assert_close(torch.from_numpy(made), images[:count],
                               rtol=0, atol=1e-4)
# Runs the lines of the card's block.
card = open('README.md').read()
assert 'library_name: onnx' in card and '(generator.png)' in card, card
assert os.path.exists('generator.png')
use = card.split('```python\\n')[1].split('```')[0]
names = {}
exec(use, names)
assert names['made'].shape == (16, 1, 8, 8), names['made'].shape
open('README.md', 'w').write('mine')
run.export('generator.onnx')
assert open('README.md').read() == 'mine'
assert 'onnxruntime' in file.with_suffix('.md').read_text()
try:
    run.export('/proc/generator.onnx')
except gandem.ConfigError as error:
    assert '/proc/generator.onnx' in error.message, error
else:
    raise AssertionError('written')
assert not os.path.exists('generator.onnx.part')
""")

    @unittest.skipUnless(OWN_PYTHON, "built without workers inside Python")
    def test_the_estimator_trains_a_pair_of_ones_own(self):
        own = harness.SOURCE / "tests/integration/networks/own_networks"
        self.torch(f"""
import sys
sys.path.append({str(own)!r})
import mlp
manager = gandem.ScalingManager({str(harness.SMOKE)!r}, batch_size=8,
                                num_workers=2, run_dir='pair', rounds=10)
run = manager.train((gandem.own(mlp.Generator, noise_dim=8),
                     mlp.Discriminator), progress=False)
assert run.status()['state'] == 'FINISHED'
for role, name in (('generator', 'Generator'),
                   ('discriminator', 'Discriminator')):
    assert run.config[role]['network']['python']['name'] == name
    assert run.config[role]['workers'] == 2
assert type(run.generator()).__name__ == 'Generator'
""")

    def test_a_network_of_ones_own_is_its_class(self):
        """Uses a handmade run folder, without a worker inside Python."""
        folder = self.folder / "own"
        step = folder / "checkpoints" / "step-000000007"
        step.mkdir(parents=True)
        (step / "manifest.textproto").write_text("")
        (self.folder / "net.py").write_text(
            "import torch\n"
            "class Net(torch.nn.Module):\n"
            "    def __init__(self, scale):\n"
            "        super().__init__()\n"
            "        self.weight = torch.nn.Parameter(torch.zeros(2))\n"
            "        self.last = torch.nn.LazyLinear(2, bias=False)\n"
            "        self.scale = scale\n"
            "    def forward(self, noise):\n"
            "        return self.last(noise * self.weight * self.scale)"
            ".reshape(-1, 1, 1, 2)\n")
        (folder / "config.textproto").write_text(
            'generator { network { python { module: "net.py" name: "Net" '
            'arguments: "scale=2" noise_dim: 2 } } }\n'
            'data { num_classes: 0 }\n')
        header = json.dumps({"ema.weight": {
            "dtype": "F32", "shape": [2], "data_offsets": [8, 16]},
            "ema.last.weight": {"dtype": "F32", "shape": [2, 2],
                                "data_offsets": [16, 32]},
            "model.weight": {"dtype": "F32", "shape": [2],
                             "data_offsets": [0, 8]}}).encode()
        file = step / "generator-0.safetensors"
        whole = struct.pack("<Q", len(header)) + header + \
            struct.pack("<8f", 9, 9, 0.25, 0.5, 1, 0, 0, 1)
        file.write_bytes(whole)
        ask = """
module = gandem.Run('own').generator()
assert type(module).__name__ == 'Net' and not module.training
assert module(torch.ones(1, 2)).tolist() == [[[[0.5, 1.0]]]]
assert gandem.Run('own').sample(2).shape == (2, 1, 1, 2)
"""
        self.torch(ask)
        file.write_bytes(whole[:-3])
        self.torch("try:\n    gandem.Run('own').generator()\n"
                   "except gandem.ConfigError as error:\n"
                   "    assert 'is damaged' in error.message, error\n"
                   "else:\n    raise AssertionError")

    @unittest.skipUnless(OWN_PYTHON, "built without workers inside Python")
    def test_the_lines_of_the_page_run_as_written(self):
        page = (harness.SOURCE / "docs" / "python.md").read_text()
        lines = re.search(r"```python\n(.*?)```", page, re.S)[1]
        (self.folder / "recipes").symlink_to(harness.SOURCE / "recipes")
        text = self.output(self.script(lines, TORCH_PYTHON))
        self.assertIn("torch.Size([4, 1, 16, 16])", text.splitlines()[-1])


if __name__ == "__main__":
    harness.main()
