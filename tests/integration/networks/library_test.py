# SPDX-License-Identifier: Apache-2.0
"""gandem as a library: installs it in a folder; a project outside the tree finds
it, trains its own networks and evaluates them."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import harness

TINY = harness.SOURCE / "examples" / "own_network"
BUILD = harness.BIN.parent
BUILD_DEADLINE = 1200  # seconds; two files, on a busy machine


def call(*command, env=None, seconds=harness.DEADLINE):
    return subprocess.run([str(part) for part in command], timeout=seconds,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, env={**os.environ, **(env or {})})


class LibraryTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="gandem-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.prefix = cls.folder / "prefix"
        cls.build = cls.folder / "build"
        # A copy, so that it cannot use files of the tree.
        source = cls.folder / "own_network"
        shutil.copytree(TINY, source)
        cls.done("cmake", "--install", BUILD, "--prefix", cls.prefix)
        cls.done("cmake", "-S", source, "-B", cls.build,
                 f"-DCMAKE_PREFIX_PATH={cls.prefix}",
                 "-DCMAKE_BUILD_TYPE=Release")
        cls.done("cmake", "--build", cls.build)
        cls.worker = cls.build / "tiny_worker"
        # Evaluations cache features there.
        cls.env = {"XDG_CACHE_HOME": str(cls.folder / "cache")}
        cls.run_dir = cls.folder / "run"
        cls.trained = call(cls.build / "train_tiny", cls.run_dir, env=cls.env)

    @classmethod
    def done(cls, *command):
        done = call(*command, seconds=BUILD_DEADLINE)
        if done.returncode != 0:
            raise AssertionError(f"{command}:\n{done.stdout}{done.stderr}")

    def gandem(self, *arguments, worker=None):
        env = {**self.env, "GANDEM_WORKER": str(worker or "")}
        return call(self.prefix / "bin" / "gandem", *arguments, env=env)

    def train(self, name, *sets, worker=None):
        assignments = [word for one in sets for word in ("--set", one)]
        return self.gandem("train", TINY / "tiny.textproto", "--run_dir",
                           self.folder / name, *assignments, worker=worker)

    def test_the_example_trains_and_judges(self):
        self.assertEqual(self.trained.returncode, 0, self.trained.stderr)
        self.assertRegex(
            self.trained.stdout,
            r"complete: 20 rounds, 640 images \(\d+ a second\) in "
            rf"{re.escape(str(self.run_dir))}/checkpoints/step-0*20\n")
        self.assertRegex(self.trained.stdout,
                         r"FD\(.*\) [\d.]+ \([\d.]+ to [\d.]+\) of 300 images")

    def test_two_processes_have_computed_it(self):
        log = (self.run_dir / "logs" / "generator-0.log").read_text()
        self.assertIn("run epoch 1", log)
        self.assertTrue((self.run_dir / "logs/discriminator-0.log").exists())

    def test_it_is_the_same_run_in_one_process(self):
        """Frozen critics, restored buffers and initial values: section 10.1 of
        design.md also holds for a user's own networks."""
        states = []
        for name, flags in (("two", []), ("one", ["--colocated"])):
            done = self.gandem(
                "train", TINY / "tiny.textproto", "--run_dir",
                self.folder / name, "--set", "generator.batch_size=32", "--set",
                "discriminator.batch_size=32", *flags, worker=self.worker)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            newest = max((self.folder / name / "checkpoints").glob("step-*"))
            states.append(b"".join(
                file.read_bytes()
                for file in sorted(newest.glob("*.safetensors"))))
        self.assertTrue(states[0] == states[1])

    def test_a_worker_program_is_all_programs_that_compute(self):
        made = self.gandem("sample", self.run_dir, "-n", 16, "-o",
                           self.folder / "samples.png", worker=self.worker)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertTrue((self.folder / "samples.png").exists())

    def test_a_name_that_the_worker_does_not_have(self):
        done = self.train("tiney", "generator.network.own.name=tiney",
                          worker=self.worker)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("did you mean 'tiny'?", done.stdout + done.stderr)

    def test_the_same_from_the_program(self):
        done = call(self.build / "train_tiny", self.folder / "other", "tiney",
                    env=self.env)
        self.assertEqual(done.returncode, 1)
        # Gan overrides the networks of the recipe.
        self.assertIn("did you mean 'tiny'?", done.stderr)

    def test_gandem_s_own_workers_say_how_to_name_one(self):
        done = self.train("none")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("Start `gandem` with GANDEM_WORKER=PATH",
                      done.stdout + done.stderr)

    def test_a_worker_that_is_no_program(self):
        done = self.train("missing", worker=self.folder / "not_there")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("not_there' is no program that can be started",
                      done.stdout + done.stderr)

    def test_the_worker_s_first_argument(self):
        done = call(self.worker, "generator_woker")
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean 'generator_worker'?", done.stderr)

    def test_recipes_are_installed(self):
        recipes = self.prefix / "share" / "gandem" / "recipes"
        self.assertEqual(
            sorted(path.name for path in recipes.glob("*.textproto")),
            sorted(path.name
                   for path in (harness.SOURCE / "recipes").glob("*.textproto")))


if __name__ == "__main__":
    harness.main()
