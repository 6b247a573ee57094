# SPDX-License-Identifier: Apache-2.0
"""Users' networks in real runs (docs/own_networks.md). A build without workers
inside Python has only the test of that message."""

import array
import json
import os
import pathlib
import shutil
import struct
import subprocess
import unittest

import harness

FOLDER = pathlib.Path(__file__).parent / "own_networks"
# An interpreter with torch; set if gandem._worker is built.
PYTHON = os.environ.get("GANDEM_OWN_PYTHON", "")
FEEDBACKS = ("SNAPSHOT", "IMAGE_GRADIENT", "FUSED")
DOUBLES = ["generator.precision=FLOAT64", "discriminator.precision=FLOAT64",
           "exchange.image_encoding=FLOAT64",
           "exchange.feedback_encoding=FLOAT64"]
SHORT = ["rounds=20", "checkpoint.every_rounds=10"]


def network(role, file, name, *arguments):
    """Values of --set for a network in a file."""
    path = f"{role}.network.python"
    listed = ", ".join(json.dumps(a) for a in arguments)
    return ([f'{path}.module="{file}"', f'{path}.name="{name}"',
             f"{path}.noise_dim=8"] +
            ([f"{path}.arguments=[{listed}]"] if arguments else []))


def short_with(feedback):
    """Networks in Python use two backward passes by default."""
    return SHORT + [f"schedule.feedback={feedback}"] + (
        ["schedule.fused_backward=TWO_PASSES"] if feedback == "FUSED" else [])


def both(file, *arguments):
    return (network("generator", file, "Generator", *arguments) +
            network("discriminator", file, "Discriminator", *arguments))


def tensors(content, prefix):
    """Names and bytes of a safetensors file's tensors, sorted by name."""
    size = struct.unpack("<Q", content[:8])[0]
    found = json.loads(content[8:8 + size])
    return [content[8 + size + value["data_offsets"][0]:
                    8 + size + value["data_offsets"][1]]
            for name, value in sorted(found.items()) if name.startswith(prefix)]


@unittest.skipIf(PYTHON, "built with workers inside Python")
class WithoutPythonTest(harness.RunTest):
    def test_says_how_to_build_it(self):
        run = self.train("none", code=2, sets=both(FOLDER / "mlp.py"))
        self.assertIn("generator.network.python", run.text())
        self.assertIn("scripts/build.sh --python", run.text())


@unittest.skipUnless(PYTHON, "built without workers inside Python")
class OwnNetworkTest(harness.RunTest):
    def own(self, name, sets, code=0, flags=(), **options):
        return self.train(name, code=code, sets=sets,
                          flags=["--python", PYTHON, *flags], **options)

    def fails(self, name, sets, *texts, flags=()):
        run = self.own(name, sets, code=2, flags=flags)
        for text in texts:
            self.assertIn(text, run.text())
        return run

    def assert_same_networks(self, run, other):
        for role in ("generator", "discriminator"):
            parts = ("model.", "ema.") if role == "generator" else ("model.",)
            for part in parts:
                values = [tensors(r.final_state()[1][f"{role}-0.safetensors"],
                                  part) for r in (run, other)]
                self.assertGreater(len(values[0]), 0)
                self.assertEqual(values[0], values[1], f"{role} {part}")

    def assert_same_in_one_process(self, name, sets):
        apart = self.own(f"apart-{name}", sets)
        together = self.own(f"together-{name}", sets, flags=["--colocated"])
        self.assert_same_networks(apart, together)

    def test_has_the_bits_of_the_built_in_network(self):
        for feedback in FEEDBACKS:
            sets = short_with(feedback)
            with self.subTest(feedback):
                built_in = self.train(f"built-in-{feedback}", sets=sets)
                own = self.own(f"own-{feedback}",
                               sets + both(FOLDER / "mlp.py"))
                self.assert_same_networks(built_in, own)

    def test_outputs_of_a_list_count_with_their_mean(self):
        for feedback in FEEDBACKS:
            sets = short_with(feedback)
            with self.subTest(feedback):
                runs = [self.own(f"{name}-{feedback}", sets + network(
                    "discriminator", FOLDER / file, name))
                    for file, name in (("mlp.py", "Discriminator"),
                                       ("several.py", "Twice"))]
                self.assert_same_networks(*runs)

    def test_outputs_of_several_shapes(self):
        scales = network("discriminator", FOLDER / "several.py", "Scales")
        for loss in ("HINGE", "RELATIVISTIC_AVERAGE"):
            sets = SHORT + scales + [f"loss={loss}", "penalties.r1=1",
                                     "schedule.feedback=IMAGE_GRADIENT"]
            with self.subTest(loss):
                self.assert_same_in_one_process(loss, sets)

    def test_translates_the_inputs_of_the_data(self):
        images = "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz"
        module = FOLDER / "translator.py"
        path = "generator.network.python"
        translator = [f'{path}.module="{module}"', f'{path}.name="Generator"',
                      f'data.idx_inputs="{images}"']
        discriminator = network("discriminator", FOLDER / "mlp.py",
                                "Discriminator")
        for feedback in FEEDBACKS:
            sets = [*short_with(feedback), *translator, *discriminator,
                    "paired_loss.l1=10"]
            with self.subTest(feedback):
                self.assert_same_in_one_process(feedback, sets)
        # Each image is its own input. The generator stays close to the
        # identity, so the distance of the pair is nearly 0.
        still = [*SHORT, *translator, *discriminator,
                 "generator.optimizer.adam.learning_rate=1e-9"]
        losses = {}
        for name, more in (("near", ["paired_loss.l1=10"]), ("none", []),
                           ("far", ["paired_loss.l1=10",
                                    f'{path}.name="Half"'])):
            run = self.own(name, still + more)
            losses[name] = run.records("generator")[0]["loss"]
        self.assertAlmostEqual(losses["near"], losses["none"], delta=1e-5)
        self.assertGreater(losses["far"], losses["none"] + 0.5)
        self.fails("noise", SHORT + translator + [f"{path}.noise_dim=8"],
                   "noise_dim 8: forward gets the images of data.idx_inputs")
        self.fails("no inputs", SHORT + translator[:2] + [f"{path}.noise_dim=0"],
                   "noise_dim 0 translates images: set data.idx_inputs")

    def test_of_one_role_alone(self):
        built_in = self.train("built-in", sets=SHORT)
        for role, name in (("generator", "Generator"),
                           ("discriminator", "Discriminator")):
            with self.subTest(role):
                own = self.own(role, SHORT + network(
                    role, FOLDER / "mlp.py", name, "hidden=(32, 32)"))
                self.assert_same_networks(built_in, own)

    def test_one_process_and_two_have_the_same_bits(self):
        self.assert_same_in_one_process("rich", SHORT + both(FOLDER / "rich.py"))

    def test_a_resume_has_the_same_bits(self):
        sets = both(FOLDER / "rich.py") + ["checkpoint.every_rounds=10"]
        straight = self.own("straight", sets + ["rounds=20"])
        self.own("resumed", sets + ["rounds=10"])
        resumed = self.own("resumed", sets + ["rounds=20"])
        self.assert_same_state(straight, resumed)

    def test_gradient_penalties_differentiate_twice(self):
        self.own("penalty", SHORT + network(
            "discriminator", FOLDER / "mlp.py", "Discriminator") +
            ["penalties.r1=1"])

    def test_a_fleet_of_two_and_two(self):
        self.own("fleet", SHORT + both(FOLDER / "rich.py") + [
            "generator.workers=2", "discriminator.workers=2"])

    def test_changed_code_is_refused_until_accepted(self):
        file = self.folder / "own.py"
        shutil.copy(FOLDER / "mlp.py", file)
        sets = both(file) + ["checkpoint.every_rounds=10"]
        self.own("run", sets + ["rounds=10"])
        file.write_text(file.read_text() + "\n# more\n")
        self.fails("run", sets + ["rounds=20"], "sha256",
                   "--accept_changed_code")
        self.own("run", sets + ["rounds=20"], flags=["--accept_changed_code"])

    def test_a_moved_file_is_the_same_network(self):
        first = self.folder / "first.py"
        shutil.copy(FOLDER / "mlp.py", first)
        self.own("moved", both(first) + ["rounds=10"])
        second = self.folder / "second.py"
        first.rename(second)
        self.own("moved", both(second) + ["rounds=20"])

    def test_names_what_is_wrong_with_a_network(self):
        cases = {
            "Missing": ["has no 'Missing'", "Good"],
            "ReturnsNone": ["returns a NoneType"],
            "ReturnsFeatures": ["returns a list in a tuple",
                                "logits alone: a tensor, or a list of them"],
            "ReturnsADict": ["returns a dict, and"],
            "WantsMore": ["forward(images, others, strength=1.0)",
                          "forward(images) where data.num_classes is 0",
                          "'others'"],
            "ReturnsNothing": ["returns nothing in a list"],
            "OneIsDetached": ["has no gradient"],
            "Detached": ["has no gradient"],
            "OneForAll": ["returns logits of shape []"],
            "Infinite": ["not finite"],
            "Empty": ["has no parameters to train"],
            "NeedsAnArgument": ["network.python.arguments", "'depth'"],
            "Shares": ["parameter offset is that of another network",
                       "in the constructor"],
            "LoopsForEver": ["a first pass of discriminator.network.python",
                             "has taken more than 1 s"],
            "Complex": ["phase is torch.complex64"],
            "no_module": ["is a int"],
        }
        for name, texts in cases.items():
            with self.subTest(name):
                self.fails(name, network("discriminator", FOLDER / "faulty.py",
                                         name), *texts)

    def test_a_layer_that_appears_later_is_named_with_its_step(self):
        self.fails("later", SHORT + network(
            "discriminator", FOLDER / "tensors.py", "AddsALayer"),
                   ", in step ", "adds the parameters extra.bias, extra.weight")

    def test_unused_parameters_that_the_recipe_freezes(self):
        unused = SHORT + network("discriminator", FOLDER / "tensors.py",
                                 "Unused")
        self.fails("unused", unused, "forgotten.weight, forgotten.bias",
                   "discriminator.freeze")
        self.own("frozen", unused + ['discriminator.freeze=["forgotten.*"]',
                                     # Makes networks before that of the run.
                                     "discriminator.precision=AUTO"])

    def test_a_frozen_base_of_the_file_in_all_networks(self):
        self.assert_same_in_one_process("base", SHORT + network(
            "discriminator", FOLDER / "tensors.py", "SharedFrozen"))

    def test_lazy_layers(self):
        self.assert_same_in_one_process("lazy", SHORT + network(
            "discriminator", FOLDER / "tensors.py", "Lazy"))

    def test_names_the_classes_that_a_file_imports(self):
        file = self.folder / "imports.py"
        file.write_text(f"import sys\nsys.path.append({str(FOLDER)!r})\n"
                        "from torch.nn import Linear\n"
                        "from mlp import Discriminator, Generator\n")
        self.fails("missing", both(file) + network("generator", file, "Missing"),
                   "its modules are: Discriminator, Generator\n")

    def test_a_file_inside_a_package(self):
        package = self.folder / "networks"
        package.mkdir()
        shutil.copy(FOLDER / "mlp.py", package)
        file = package / "wide.py"
        file.write_text("from .mlp import Discriminator, Generator\n")
        run = self.fails("inside", both(file), "is part of a package",
                         "name a file of your own")
        self.assertNotIn("Traceback", run.text())

    def test_arguments(self):
        for argument, text in (("depth=3", "unexpected keyword argument 'depth'"),
                               ("width=four", "no Python literal")):
            with self.subTest(argument):
                self.fails("bad", network("discriminator", FOLDER / "faulty.py",
                                          "Good", argument),
                           "network.python.arguments", text)

    def test_an_exception_ends_the_run_with_its_traceback(self):
        for name, line in (("Raises", "ValueError: this network does not like"),
                           ("RaisesLater", "ValueError: twenty passes")):
            with self.subTest(name):
                run = self.fails(name, network(
                    "discriminator", FOLDER / "faulty.py", name), line)
                log = (run.dir / "logs" / "discriminator-0.log").read_text()
                self.assertEqual(log.count(line), 1, log)
                self.assertIn("faulty.py", log)
                self.assertNotIn("_network.py", log)

    def test_files(self):
        broken = self.folder / "broken.py"
        broken.write_text("class Generator(:\n")
        self.fails("syntax", both(broken), "SyntaxError", "broken.py")
        self.fails("absent", both(self.folder / "absent.py"),
                   "generator.network.python.module", "absent.py")

    def test_interpreters(self):
        run = self.train("absent", code=2, sets=both(FOLDER / "mlp.py"),
                         flags=["--python", "/no/such/python"])
        self.assertIn("--python: '/no/such/python'", run.text())
        run = self.train("none", code=2, sets=both(FOLDER / "mlp.py"),
                         env={"VIRTUAL_ENV": ""})
        self.assertIn("--python", run.text())
        bare = self.folder / "bare"  # without any packages
        bare.write_text(f"#!/bin/sh\nexec {PYTHON} -S \"$@\"\n")
        bare.chmod(0o755)
        run = self.train("without_torch", code=2, sets=both(FOLDER / "mlp.py"),
                         flags=["--python", bare])
        self.assertIn("cannot import torch", run.text())
        other = self.folder / "other"  # with another torch
        (other / "torch").mkdir(parents=True)
        (other / "torch" / "__init__.py").write_text(
            "__version__ = '2.10.0+cpu'\n")
        python = other / "python"
        python.write_text("#!/bin/sh\nexport PYTHONPATH="
                          f"{other}:$PYTHONPATH\nexec {PYTHON} \"$@\"\n")
        python.chmod(0o755)
        run = self.train("other_torch", code=2, sets=both(FOLDER / "mlp.py"),
                         flags=["--python", python])
        self.assertIn("has 2.10.0+cpu: install torch==", run.text())

    def test_an_environment_that_keeps_the_interpreter_from_starting(self):
        folder = self.folder / "mine"
        folder.mkdir()
        (folder / "types.py").write_text("")
        for variable, value in (("PYTHONPATH", folder),
                                ("PYTHONHOME", "/no/such/home")):
            with self.subTest(variable):
                run = self.own("none", both(FOLDER / "mlp.py"), code=2,
                               env={variable: str(value)})
                self.assertIn(f"{variable} is '{value}': unset it", run.text())
                self.assertFalse((run.dir / "logs").exists())
        # With this environment Python starts, but torch does not load.
        (folder / "types.py").rename(folder / "numbers.py")
        run = self.own("torch", both(FOLDER / "mlp.py"), code=2,
                       env={"PYTHONPATH": str(folder)})
        self.assertIn(f"PYTHONPATH is '{folder}'", run.text())

    def test_fields_of_the_recipe_are_those_of_built_in_networks(self):
        cases = {
            "labels": (["data.num_classes=10"], "labeled.py"),
            "freeze": (['generator.freeze=["main.0.*"]',
                        'discriminator.freeze=["main.2.bias"]'], "mlp.py"),
            "group": (['discriminator.optimizer.group=[{parameters: '
                       '"main.2.*" learning_rate_factor: 0.1}]'], "mlp.py"),
            "micro_batch": (["generator.micro_batch=4",
                             "discriminator.micro_batch=8"], "mlp.py"),
        }
        plain = self.train("plain", sets=SHORT)
        for name, (fields, file) in cases.items():
            with self.subTest(name):
                built_in = self.train(f"built-in-{name}", sets=SHORT + fields)
                own = self.own(f"own-{name}",
                               SHORT + fields + both(FOLDER / file))
                self.assert_same_networks(built_in, own)
                self.assertNotEqual(plain.final_state()[1],
                                    built_in.final_state()[1])

    def test_says_where_the_images_of_a_batch_are_coupled(self):
        file = self.folder / "coupled.py"
        file.write_text(f"import sys\nsys.path.append({str(FOLDER)!r})\n"
                        "import mlp\n\n"
                        "class Coupled(mlp.Discriminator):\n"
                        "    def forward(self, images):\n"
                        "        return super().forward(images - images.mean(0))\n"
                        "\nclass Single(mlp.Discriminator):\n"
                        "    pass\n")
        for name in ("Coupled", "Single"):
            with self.subTest(name):
                run = self.own(name, SHORT + network("discriminator", file, name))
                log = (run.dir / "logs" / "discriminator-0.log").read_text()
                self.assertEqual(
                    log.count(f"'{name}': an image's logits depend on the other "
                              "images of its batch"), int(name == "Coupled"), log)
        for discriminator, why in (
                ((file, "Coupled"),
                 "an image's logit depends on the other images of its batch"),
                ((FOLDER / "several.py", "Twice"), "an image has several logits")):
            with self.subTest(why):
                self.fails(f"one-{discriminator[1]}", SHORT + [
                    "schedule.feedback=FUSED",
                    "schedule.fused_backward=ONE_PASS",
                    # Makes networks before that of the run.
                    "discriminator.precision=AUTO"] + network(
                        "discriminator", *discriminator),
                           f"ONE_PASS is not exact with this discriminator: {why}"
                           ". Set schedule.fused_backward=AUTO")

    def test_one_backward_pass_where_the_loss_has_slopes(self):
        """HINGE has no slope at an image that the discriminator is sure of; such a
        pass needs two backward passes. The result equals two for every pass."""
        sets = (short_with("FUSED") + both(FOLDER / "mlp.py") + DOUBLES +
                ["loss=HINGE"])
        one = sets + ["schedule.fused_backward=ONE_PASS"]
        run, two = self.own("one", one), self.own("two", sets)
        self.assert_same_networks(run, self.own("together", one,
                                                flags=["--colocated"]))
        contents = [[array.array("d", tensor) for tensor in tensors(
            r.final_state()[1]["generator-0.safetensors"], "model.")]
            for r in (run, two)]
        largest = max(abs(a - b) for ours, theirs in zip(*contents)
                      for a, b in zip(ours, theirs))
        self.assertLess(largest, 1e-12)

    def test_packages_that_have_libraries_of_their_own(self):
        wanted = ("grpc", "tensorboard", "numpy")
        absent = subprocess.run(
            [PYTHON, "-c", "import importlib.util as u, sys\n"
             f"print([n for n in {wanted} if u.find_spec(n) is None])"],
            capture_output=True, text=True,
            timeout=harness.DEADLINE).stdout.strip()
        if absent != "[]":
            self.skipTest(f"the interpreter of GANDEM_OWN_PYTHON lacks {absent}")
        own = self.own("plain", SHORT + both(FOLDER / "mlp.py"))
        beside = self.own("beside", SHORT + both(FOLDER / "packages.py"))
        self.assert_same_networks(own, beside)

    def test_workers_make_grids(self):
        run = self.own("sampled", SHORT + both(FOLDER / "mlp.py"))
        self.assertTrue(list((run.dir / "samples").iterdir()))


if __name__ == "__main__":
    harness.main()
