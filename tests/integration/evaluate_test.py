# SPDX-License-Identifier: Apache-2.0
"""Evaluation jobs as processes: the number of workers does not change metrics,
kill -9 loses nothing, and concurrent jobs do not disturb each other."""

import functools
import hashlib
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import tempfile

import harness

METRICS = ["--metric", "fid,is,kid,prdc"]
NUM = 1100  # nine slices, the last one small
# A cache without results of other tests.
ALONE = ["--feature_cache_gib", 0]


def slices(cache):
    """Inodes of all slices of features in the cache by folder and name, without
    temporary files."""
    return {path.relative_to(cache): path.stat().st_ino for path in
            pathlib.Path(cache).glob(
                "gandem/features/images/*/features-*.safetensors")}


class Evaluations(harness.RunTest):
    """A run, and evaluations with a separate cache."""

    @classmethod
    def setUpClass(cls):
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="gandem-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        cls.env = {**os.environ, "XDG_CACHE_HOME": str(cls.shared / "cache")}
        run = harness.Run(cls.shared / "run", sets=["checkpoint.keep_last=9"])
        assert run.wait() == 0, run.text()[-4000:]
        cls.run_dir = run.dir
        # Trains the classifier and computes the reference's features.
        cls.card = cls.judge(cls.run_dir, *METRICS, "--num", NUM)

    @classmethod
    def command(cls, *arguments):
        return [str(part) for part in [harness.BIN / "gandem", *arguments]]

    def own_cache(self):
        """A cache with only the reference's features and the network."""
        own = self.folder / "cache"
        shared = pathlib.Path(self.env["XDG_CACHE_HOME"])
        features = "gandem/features"
        (own / features / "images").mkdir(parents=True)
        for network in (shared / features).glob("*.safetensors"):
            shutil.copy(network, own / features)
        for folder in (shared / features / "images").glob("*"):
            if folder.name.startswith(self.card["reference"]["sha256"][:12]):
                shutil.copytree(folder, own / features / "images" / folder.name)
        self.assertTrue(list((own / features / "images").glob("*")))
        self.env = {**self.env, "XDG_CACHE_HOME": str(own)}
        return own

    @classmethod
    def evaluate(cls, *arguments, failpoint="", env=None):
        return subprocess.run(
            cls.command("evaluate", *arguments), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=harness.DEADLINE,
            env={**(env or cls.env), "GANDEM_FAILPOINT": failpoint})

    @classmethod
    def judge(cls, *arguments, env=None):
        """The metric card of a successful job."""
        done = cls.evaluate(*arguments, env=env)
        assert done.returncode == 0, done.stderr
        path = done.stdout.splitlines()[-1].removeprefix("card: ")
        return json.loads(pathlib.Path(path).with_suffix(".json").read_text())


class EvaluateTest(Evaluations):
    def own_run(self, *steps):
        """A private run folder with some of the checkpoints."""
        own = self.folder / "run"
        for step in steps:
            name = f"checkpoints/step-{step:09}"
            shutil.copytree(self.run_dir / name, own / name)
        shutil.copy(self.run_dir / "config.textproto", own)
        return own

    def test_every_checkpoint_is_judged_once(self):
        own = self.own_run(10, 20)
        every = [own, "--every_checkpoint", "--num", 512]
        first = self.evaluate(*every)
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertIn("checkpoints: 2, evaluated now: 2", first.stdout)
        self.assertEqual(first.stdout.count("<- best"), 1)
        # A pruned checkpoint stays in the table because of its card.
        shutil.rmtree(own / "checkpoints/step-000000010")
        again = self.evaluate(*every)
        self.assertIn("checkpoints: 1, evaluated now: 0", again.stdout)
        self.assertEqual(again.stdout.splitlines()[1:],
                         first.stdout.splitlines()[1:])
        both = self.evaluate(*every, "--checkpoint", 20)
        self.assertEqual(both.returncode, 2)
        self.assertIn("--every_checkpoint evaluates all", both.stderr)

    def test_the_card_has_the_facts(self):
        card = self.card
        names = [metric["name"] for metric in card["metrics"]]
        net = card["features"]["network"]
        self.assertEqual(names, [f"{name}({net})" for name in (
            "FD", "IS", "KID", "precision", "recall", "density", "coverage")])
        distance = card["metrics"][0]
        self.assertGreater(distance["sd"], 0)
        self.assertEqual(distance["num_images"], NUM)
        self.assertEqual(distance["num_reference_images"], 2048)
        self.assertEqual(card["images"]["generator"]["step"], 40)
        self.assertEqual(card["images"]["generator"]["seed"], 1)
        self.assertEqual(card["reference"]["split"], "train")
        self.assertEqual(len(card["reference"]["sha256"]), 64)
        self.assertEqual(len(card["features"]["sha256"]), 64)
        self.assertIn("the evaluated set has only 1100 images",
                      card["warnings"][0])
        events = list(self.run_dir.glob("tensorboard/evaluation/events*"))
        self.assertTrue(any(f"evaluation/FD({net})".encode() in
                            path.read_bytes() for path in events))
        self.assertEqual(list(self.run_dir.glob("evaluation/work/*")), [])

    def test_any_number_of_workers_gives_the_same_bits(self):
        for workers in (2, 3):
            output = self.folder / str(workers)
            card = self.judge(self.run_dir, *METRICS, "--num", NUM, *ALONE,
                              "--workers", workers, "--output", output)
            self.assertEqual(list(output.glob("work/*")), [])
            self.assertEqual(card["metrics"], self.card["metrics"])

    def test_a_run_with_classes(self):
        run = harness.Run(self.folder / "run", sets=["data.num_classes=10"])
        self.assertEqual(run.wait(), 0, run.text()[-4000:])
        card = self.judge(run.dir, "--num", 300)
        self.assertEqual(card["images"]["generator"]["labels"],
                         "uniform over 10 classes")

    def test_images_of_another_size(self):
        """The run's images are 8 x 8, the reference's 10 x 10."""
        config = self.folder / "other.textproto"
        config.write_text(harness.SMOKE.read_text().replace(
            "image_size: 8", "image_size: 10"))
        what = [self.run_dir, "--num", 300, "--reference", config,
                "--halvings", 0, "--output", self.folder / "cards"]
        values = set()
        for kernel in ("area", "bilinear", "bicubic"):
            card = self.judge(*what, "--resize", kernel)
            self.assertEqual(card["images"]["fit"], f"{kernel} to 10 x 10")
            self.assertEqual(card["images"]["height"], 10)
            values.add(card["metrics"][0]["value"])
        # Not all kernels differ, because the images are enlarged.
        self.assertGreaterEqual(len(values), 2)
        refused = self.evaluate(*what, "--resize", "lanczos")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("none of area, bilinear, bicubic", refused.stderr)

    def test_images_of_files_get_the_same_figures(self):
        expected = self.card["metrics"]
        for name in ("samples.npz", "samples.tar", "samples/"):
            exported = self.folder / name
            done = subprocess.run(
                self.command("sample", self.run_dir, "-n", NUM, "-o",
                             f"{exported}{'/' if name[-1] == '/' else ''}"),
                capture_output=True, text=True, timeout=harness.DEADLINE)
            self.assertEqual(done.returncode, 0, done.stderr)
            card = self.judge(
                exported, *METRICS, "--reference",
                self.run_dir / "config.textproto", "--output",
                self.folder / "cards")
            self.assertEqual(card["metrics"], expected, name)

    def test_statistics_files(self):
        for name in ("own.safetensors", "own.npz"):
            own = self.folder / name
            self.judge(self.run_dir, "--num", NUM, "--save_statistics", own)
            card = self.judge(self.run_dir, "--num", NUM, "--reference", own,
                              "--halvings", 0, "--output", self.folder / "b")
            self.assertLess(card["metrics"][0]["value"],
                            1e-6 * self.card["metrics"][0]["value"])
            self.assertEqual(card["reference"]["kind"], "statistics")
        # pytorch-fid's format does not name the network.
        warnings = " ".join(card["warnings"])
        self.assertIn("does not say which network", warnings)
        self.assertIn("does not say how its images were resized", warnings)
        refused = self.evaluate(self.run_dir, "--num", NUM, "--metric", "kid",
                                "--reference", own)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("need the images themselves", refused.stderr)

    def test_two_statistics_files(self):
        """Comparing two sets of images equals comparing their statistics."""
        paths = []
        for step in (20, 40):
            paths.append(self.folder / f"{step}.safetensors")
            images = self.folder / f"{step}.tar"
            done = subprocess.run(
                self.command("sample", self.run_dir, "--checkpoint", step,
                             "-n", 300, "-o", images),
                capture_output=True, text=True, timeout=harness.DEADLINE)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.judge(self.run_dir, "--checkpoint", step, "--num", 300,
                       "--save_statistics", paths[-1], "--output",
                       self.folder / "cards")
        what = [paths[0], "--reference", paths[1], "--output",
                self.folder / "statistics"]
        card = self.judge(*what)
        metric, = card["metrics"]
        self.assertEqual(metric["name"], self.card["metrics"][0]["name"])
        self.assertEqual(metric["num_images"], 300)
        self.assertNotIn("assumed", " ".join(card.get("warnings", [])))
        # Swapped, and against the images.
        swapped = self.judge(paths[1], "--reference", paths[0], "--output",
                             self.folder / "swapped")
        self.assertAlmostEqual(swapped["metrics"][0]["value"] / metric["value"],
                               1, places=7)
        network = next(
            path for path in pathlib.Path(self.env["XDG_CACHE_HOME"]).glob(
                "gandem/features/*.safetensors")
            if hashlib.sha256(path.read_bytes()).hexdigest()
            == self.card["features"]["sha256"])
        images = self.judge(paths[0], "--reference", self.folder / "40.tar",
                            "--features", network, "--output",
                            self.folder / "images")
        self.assertAlmostEqual(images["metrics"][0]["value"] / metric["value"],
                               1, places=7)
        refused = self.evaluate(*what, "--metric", "fid,kid")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("need features of each image", refused.stderr)

    def test_a_second_metric_extracts_nothing(self):
        cache = self.own_cache()
        images = self.folder / "images.tar"
        done = subprocess.run(
            self.command("sample", self.run_dir, "-n", 300, "-o", images),
            capture_output=True, text=True, timeout=harness.DEADLINE)
        self.assertEqual(done.returncode, 0, done.stderr)
        config = self.run_dir / "config.textproto"
        before = slices(cache)
        for what in ([self.run_dir, "--num", 300],
                     [images, "--reference", config]):
            self.judge(*what, "--output", self.folder / "a", env=self.env)
            first = slices(cache)
            self.assertEqual(len(first), len(before) + 3)
            # Any worker that computes a slice dies.
            second = self.evaluate(
                *what, "--metric", "is,prdc", "--output", self.folder / "a",
                env=self.env, failpoint="evaluation.after_slice:1")
            self.assertEqual(second.returncode, 0, second.stderr)
            self.assertNotIn("features: ", second.stderr)
            self.assertEqual(slices(cache), first)
            before = first
        # More images need only the missing features; other noise needs new
        # ones.
        self.judge(self.run_dir, "--num", 400, "--output", self.folder / "a",
                   env=self.env)
        self.assertEqual(len(slices(cache)), len(before) + 2)
        self.judge(self.run_dir, "--num", 300, "--seed", 7, "--output",
                   self.folder / "a", env=self.env)
        self.assertEqual(len(slices(cache)), len(before) + 5)

    def test_precisions(self):
        def figure(card):
            return card["metrics"][0]["value"]

        cache = self.own_cache()
        judge = functools.partial(self.judge, self.run_dir, "--num", 300,
                                  "--output", self.folder / "a", env=self.env)
        exact = judge()
        self.assertEqual(exact["features"]["compute"], "")
        before = slices(cache)
        coarse = judge("--precision", "bfloat16")
        self.assertEqual(coarse["features"]["compute"], "bfloat16")
        self.assertNotEqual(figure(coarse), figure(exact))
        self.assertLess(abs(figure(coarse) / figure(exact) - 1), 0.05)
        # The precisions share no cached features.
        self.assertGreater(len(slices(cache)), len(before) + 3)

    def test_kill_loses_nothing(self):
        cache = self.own_cache()
        own = self.own_run(20, 40)
        what = [own, "--checkpoint", 20, "--num", NUM, "--workers", 1]
        before = slices(cache)
        killed = self.evaluate(*what, env=self.env,
                               failpoint="evaluation.after_slice:2")
        self.assertEqual(killed.returncode, -signal.SIGKILL, killed.stderr)
        first = slices(cache)
        self.assertEqual(len(first), len(before) + 2)
        # Training prunes the checkpoint meanwhile; the job does not need it.
        shutil.rmtree(own / "checkpoints/step-000000020")
        killed = self.evaluate(*what, env=self.env,
                               failpoint="evaluation.before_card:1")
        self.assertEqual(killed.returncode, -signal.SIGKILL, killed.stderr)
        second = slices(cache)
        self.assertEqual(len(second), len(before) + 9)
        self.assertEqual(first, {name: second[name] for name in first})
        card = self.judge(*what, env=self.env)
        self.assertEqual(slices(cache), second)
        self.assertEqual(list(own.glob("evaluation/work/*")), [])
        undisturbed = self.judge(
            self.run_dir, "--checkpoint", 20, "--num", NUM, *ALONE, "--output",
            self.folder / "undisturbed")
        self.assertEqual(card["metrics"], undisturbed["metrics"])

    def test_two_jobs_do_not_disturb_each_other(self):
        self.own_cache()
        output = self.folder / "cards"
        command = self.command("evaluate", self.run_dir, *METRICS, "--num",
                               NUM, "--output", output)
        jobs = [subprocess.Popen(command, env=self.env, text=True,
                                 stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE) for _ in range(2)]
        for job in jobs:
            _, errors = job.communicate(timeout=harness.DEADLINE)
            self.assertEqual(job.returncode, 0, errors)
        cards = list(output.glob("*.json"))
        self.assertEqual(len(cards), 1)
        self.assertEqual(json.loads(cards[0].read_text())["metrics"],
                         self.card["metrics"])
        self.assertEqual(list(output.glob("work/*")), [])

    def test_two_jobs_with_relative_paths_and_one_reference(self):
        """Folders with equal names in two places do not share features."""
        config = self.run_dir / "config.textproto"
        expected = {}
        for step in (20, 40):
            folder = self.folder / f"at-{step}"
            folder.mkdir()
            done = subprocess.run(
                self.command("sample", self.run_dir, "--checkpoint", step,
                             "-n", 600, "-o", folder / "images.tar"),
                capture_output=True, text=True, timeout=harness.DEADLINE)
            self.assertEqual(done.returncode, 0, done.stderr)
            card = self.judge(folder / "images.tar", "--reference", config,
                              "--output", self.folder / f"alone-{step}")
            expected[step] = card["metrics"]
        # Once as generated images, once as the common reference.
        network = next(
            path for path in pathlib.Path(self.env["XDG_CACHE_HOME"]).glob(
                "gandem/features/*.safetensors")
            if hashlib.sha256(path.read_bytes()).hexdigest()
            == self.card["features"]["sha256"])
        reference = self.folder / "reference.tar"
        shutil.copy(self.folder / "at-20/images.tar", reference)
        jobs = {step: subprocess.Popen(
            self.command("evaluate", "images.tar", "--reference",
                         f"../{reference.name}", "--features", network,
                         "--workers", 2, "--output", "cards"),
            cwd=self.folder / f"at-{step}", env=self.env, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE) for step in (20, 40)}
        for step, job in jobs.items():
            _, errors = job.communicate(timeout=harness.DEADLINE)
            self.assertEqual(job.returncode, 0, errors)
        values = {step: json.loads(next(self.folder.glob(
            f"at-{step}/cards/*.json")).read_text())["metrics"][0]["value"]
            for step in jobs}
        # Checkpoint 20 has the reference's images, 40 has different ones.
        self.assertLess(values[20], 1e-6 * expected[20][0]["value"])
        self.assertGreater(values[40], 1e-3 * expected[40][0]["value"])

    def test_a_damaged_newest_checkpoint_is_said(self):
        own = self.own_run(30, 40)
        shard = next((own / "checkpoints/step-000000040").glob(
            "generator-*.safetensors"))
        damaged = bytearray(shard.read_bytes())
        damaged[len(damaged) // 2] ^= 1
        shard.write_bytes(damaged)
        done = self.evaluate(own, "--num", 300, "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("a newer checkpoint is damaged, so that of step 30 is "
                      "evaluated", done.stderr)
        self.assertIn("step-000000040", done.stderr)
        card = json.loads(next(own.glob("evaluation/*.json")).read_text())
        self.assertEqual(card["images"]["generator"]["step"], 30)
        self.assertIn("a newer checkpoint is damaged", card["warnings"][0])

    def test_a_full_disk_leaves_nothing_and_goes_on(self):
        """A limit of the file size simulates the full disk."""
        cache = self.own_cache()
        output = self.folder / "cards"
        what = [self.run_dir, "--num", 300, "--workers", 1, "--output", output]
        before = slices(cache)

        def little_room():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (40000, 40000))

        done = subprocess.run(
            self.command("evaluate", *what), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=harness.DEADLINE,
            env=self.env, preexec_fn=little_room)
        self.assertEqual(done.returncode, 75, done.stderr)
        self.assertEqual(done.stderr.count("gandem evaluate: "), 1)
        self.assertEqual(slices(cache), before)
        left = [path for folder in (output, cache) for path in folder.rglob("*")
                if ".tmp" in path.name]
        self.assertEqual(left, [])
        self.judge(*what, env=self.env)

    def test_some_files_are_drawn_at_random(self):
        images = self.folder / "images.tar"
        done = subprocess.run(
            self.command("sample", self.run_dir, "-n", 600, "-o", images),
            capture_output=True, text=True, timeout=harness.DEADLINE)
        self.assertEqual(done.returncode, 0, done.stderr)
        what = [images, "--reference", self.run_dir / "config.textproto",
                "--num", 300, "--halvings", 0]
        said = self.evaluate(*what, "--output", self.folder / "a")
        self.assertIn("evaluating 300 of 600 images, drawn at random",
                      said.stderr)
        drawn = self.judge(*what, "--output", self.folder / "a")
        again = self.judge(*what, "--output", self.folder / "b", "--workers", 2,
                           *ALONE)
        first = self.judge(*what, "--output", self.folder / "c", "--first")
        self.assertEqual(drawn["metrics"], again["metrics"])
        self.assertNotEqual(drawn["metrics"], first["metrics"])
        self.assertEqual(drawn["metrics"][0]["num_images"], 300)

    def test_the_card_as_json(self):
        what = [self.run_dir, *METRICS, "--num", NUM]
        done = self.evaluate(*what, "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout), self.card)
        done = self.evaluate(*what, "--json", self.folder / "card.json")
        self.assertTrue(done.stdout.startswith("evaluated before:"))
        self.assertEqual(json.loads(
            (self.folder / "card.json").read_text()), self.card)

    def test_options_of_metrics(self):
        what = [self.run_dir, "--num", 300, "--output", self.folder / "cards"]
        kid = self.judge(*what, "--metric", "kid", "--kid_subset", 300,
                         "--kid_subsets", 2)
        self.assertEqual(kid["metrics"][0]["sd_of"], "2 subsets of 300")
        other = self.judge(*what, "--metric", "kid", "--kid_subset", 300,
                           "--kid_subsets", 2, "--kid_degree", 2)
        self.assertNotEqual(kid["metrics"], other["metrics"])
        prdc = {k: self.judge(*what, "--metric", "prdc", "--prdc_k", k)
                for k in (3, 20)}
        self.assertLess(prdc[3]["metrics"][0]["value"],
                        1e-9 + prdc[20]["metrics"][0]["value"])
        self.assertEqual(prdc[3]["metrics"][0]["num_reference_images"], 2048)

    def test_what_was_judged_is_not_judged_again(self):
        done = self.evaluate(self.run_dir, *METRICS, "--num", NUM)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.startswith("evaluated before:"))
        self.assertEqual(done.stderr, "")

    def watch(self, *arguments, env=None):
        return subprocess.run(
            self.command("watch-eval", *arguments), capture_output=True,
            text=True, timeout=harness.DEADLINE, env=env or self.env)

    def test_the_watcher_goes_on_after_a_crash(self):
        own = self.own_run(10, 20, 30)
        arguments = [own, "--every", 20, "--once", "--", "--num", 300]
        marker = self.folder / "killed"
        done = self.watch(*arguments, env={
            **self.env,
            "GANDEM_FAILPOINT": f"evaluation.before_card:1:{marker}"})
        self.assertTrue(marker.exists())
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [line.split(":")[0] for line in done.stdout.splitlines()]
        self.assertEqual(rows, ["round 20"])
        cards = {path.name: path.stat().st_mtime_ns
                 for path in own.glob("evaluation/*.textproto")}
        self.assertEqual(len(cards), 1)
        # Evaluates the new checkpoint, and finds the old one in the cache.
        name = "checkpoints/step-000000040"
        shutil.copytree(self.run_dir / name, own / name)
        shutil.rmtree(own / "checkpoints/step-000000010")
        done = self.watch(own, "--every", 20, "--", "--num", 300)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [line.split(":")[0] for line in done.stdout.splitlines()]
        self.assertEqual(rows, ["round 20", "round 40"])
        after = {path.name: path.stat().st_mtime_ns
                 for path in own.glob("evaluation/*.textproto")}
        self.assertEqual(len(after), 2)
        self.assertEqual(cards, {name: after[name] for name in cards})
        self.assertEqual(list(own.glob("evaluation/snapshots/*")), [])

    def test_the_watcher_is_killed(self):
        cache = self.own_cache()
        before = slices(cache)
        own = self.own_run(40)
        watcher = subprocess.Popen(
            self.command("watch-eval", own, "--", "--num", 200000,
                         "--halvings", 0, "--workers", 1),
            env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(watcher.stdout.close)
        self.addCleanup(watcher.wait)
        self.addCleanup(watcher.kill)
        harness.wait_for(lambda: slices(cache) != before, "a slice")
        job, = harness.descendants(watcher.pid)
        self.assertEqual(harness.command_of(job), "evaluation_job")
        watcher.kill()
        watcher.wait()
        harness.wait_for(lambda: not harness.command_of(job),
                         "the job to die with its watcher")
        self.assertTrue(
            list(own.glob("evaluation/snapshots/step-000000040")))

    def test_training_with_an_evaluation_beside_it(self):
        run = self.start(
            "train", sets=["checkpoint.keep_last=1", "rounds=45"],
            flags=["--evaluate_every", "20", "--evaluate_args", "--num 300"],
            env=self.env)
        self.assertEqual(run.wait(harness.BESIDE), 0, run.text()[-4000:])
        steps = sorted(
            json.loads(card.read_text())["images"]["generator"]["step"]
            for card in run.dir.glob("evaluation/*.json"))
        self.assertEqual(steps, [20, 40, 45])
        self.assertIn("\nround 45: FD(", run.text())
        self.assertEqual(len(list(run.dir.glob("checkpoints/*"))), 1)

    def test_a_failing_evaluation_does_not_stop_the_training(self):
        run = self.start(
            "train", flags=["--evaluate_every", "20", "--evaluate_args",
                            "--features /no/such/file"], env=self.env)
        self.assertEqual(run.wait(harness.BESIDE), 0, run.text()[-4000:])
        self.assertIn("the training goes on", run.text())
        self.assertIn("/no/such/file",
                      (run.dir / "logs/watch-eval.log").read_text())

    def test_wrong_arguments_of_an_evaluation_are_found_at_the_start(self):
        for arguments, fault in [("--nmu 300", "--nmu"),
                                 ("--metric fud", "none of fid, is, kid"),
                                 ("--num 1", "num 1 is not in [2, ")]:
            with self.subTest(arguments):
                run = self.start(
                    "refused", flags=["--evaluate_every", "20",
                                      "--evaluate_args", arguments],
                    env=self.env)
                self.assertEqual(run.wait(), 2, run.text())
                self.assertIn(f"--evaluate_args '{arguments}'", run.text())
                self.assertIn(fault, run.text())
                self.assertFalse((run.dir / "checkpoints").exists())

    def test_bad_input_is_explained(self):
        other = self.folder / "other.npz"
        done = subprocess.run(
            self.command("sample", self.run_dir, "-n", 3, "-o", other),
            capture_output=True, text=True, timeout=harness.DEADLINE)
        self.assertEqual(done.returncode, 0, done.stderr)
        pending = self.folder / "run/checkpoints/step-000000050.1.tmp"
        pending.mkdir(parents=True)
        cases = [
            (["/no/such/run"], "no such file or folder"),
            ([pending], "is being written"),
            ([self.run_dir, "--metric", "fud"], "none of fid, is, kid, prdc, "),
            ([self.run_dir, "--num", 1, "--workers", 0],
             "num 1 is not in [2, 10000000]; workers 0"),
            ([self.run_dir, "--checkpoint", 33], "no checkpoint of step 33"),
            ([self.run_dir, "--device", "tpu"], "expected cpu or cuda:N"),
            ([other, "--reference", self.run_dir / "config.textproto",
              "--device", "cuda:99"], "device cuda:99: this machine"),
            ([self.run_dir, "--precision", "int8"],
             "none of float32, bfloat16, float16"),
            ([self.run_dir, "--precision", "bfloat16", "--save_statistics",
              self.folder / "a.npz"], "precision float32"),
            ([self.run_dir, "--truncation", "-1"], "truncation -1"),
            ([self.run_dir, "--features", harness.SMOKE], "mlp_smoke"),
            ([self.run_dir, "--reference", "/no/such"], "no such file"),
            ([self.run_dir, "--cores", "999"], "core 999"),
            ([self.run_dir, "--num", 999, "--metric", "kid"],
             "needs 1000 or more, but there are 999 images to evaluate"),
            ([self.run_dir, "--num", 999, "--save_statistics",
              "/no/such/folder/a.npz"], "/no/such/folder"),
            ([self.run_dir, "--num", 999, "--save_statistics", "a.txt"],
             "neither with .npz"),
            ([self.run_dir, "--input_resize", "bicubic"],
             "none of tf1, pytorch_fid, clean"),
            ([self.run_dir, "--input_resize", "clean"],
             "--input_resize is for weights"),
            ([self.run_dir, "--dims", 100],
             "dims 100 is none of 64, 192, 768, 2048; dims selects a layer"),
            ([self.run_dir, "--metric", "cmmd"],
             "cmmd needs features of CLIP: --features clip:FILE"),
            ([self.run_dir, "--features", "dinov2:"], "names no file"),
            ([other], "needs a --reference"),
            ([other, "--num", 5, "--reference", self.run_dir /
              "config.textproto"], "holds 3 images; --num 5"),
            ([other, "--seed", 5], "are for runs and checkpoints"),
            ([self.run_dir, "--reference",
              "/usr/share/datasets/fashion-mnist"],
             "the images are 8 x 8 gray, those of the reference "
             "/usr/share/datasets/fashion-mnist are 32 x 32 gray"),
        ]
        for arguments, message in cases:
            with self.subTest(message):
                done = self.evaluate(*arguments, "--output",
                                     self.folder / "cards")
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(message, done.stderr)


if __name__ == "__main__":
    harness.main()
