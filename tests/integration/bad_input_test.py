# SPDX-License-Identifier: Apache-2.0
"""Wrong input gets a clear message and the right exit code; nothing is lost."""

import json
import os
import shutil
import signal
import struct
import subprocess

import harness


def unshare(test, what):
    """Prefix of a command that runs its arguments in a new namespace. Skips the
    test if that is not permitted: in a chroot and in most containers."""
    command = ["unshare", what]
    if os.geteuid() != 0:
        command += ["--user", "--map-root-user"]
    tried = subprocess.run([*command, "true"], capture_output=True, text=True,
                           timeout=harness.DEADLINE)
    if tried.returncode != 0:
        test.skipTest(tried.stderr.strip())
    return command


class BadConfigTest(harness.RunTest):
    def refused(self, *parts, sets=(), flags=()):
        """The run is refused with exit code 2 and a message with all parts."""
        run = self.train("refused", code=2, sets=sets, flags=flags)
        for part in parts:
            self.assertIn(part, run.text())
        self.assertFalse(list(run.dir.glob("checkpoints/step-*")))

    def test_an_empty_value_is_a_forgotten_variable(self):
        for command in (
                [harness.BIN / "gandem", "evaluate", ""],
                [harness.BIN / "generator_worker", "--control", "",
                 "--rank", "0"]):
            done = subprocess.run(command, capture_output=True, text=True,
                                  timeout=harness.DEADLINE, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("the value is empty", done.stderr)

    def test_absent_device(self):
        self.refused("cuda:0", "device", sets=['generator.device="cuda:0"'])

    def test_the_same_worker_is_started_twice(self):
        run = self.start("again", flags=["--external"],
                         sets=["rounds=1000000"])
        listen = ["--listen", f"127.0.0.1:{harness.free_port()}"]
        generator = run.start_worker("generator")
        first = run.start_worker("discriminator", listen)
        harness.wait_for(lambda: run.rounds() >= 1, "a round")
        # Both workers would write to the same log file.
        second = run.start_worker("discriminator", listen, under=[
            "sh", "-c", 'exec "$@" > "$0" 2>&1', self.folder / "second"])
        self.assertEqual(second.wait(), 2)
        text = (self.folder / "second").read_text()
        self.assertIn(f"--listen: cannot listen on {listen[1]}", text)
        self.assertIn("another process does", text)
        before = run.rounds()
        harness.wait_for(lambda: run.rounds() > before, "the run to go on")
        self.assertNotIn("takes the place", run.text())
        run.process.send_signal(signal.SIGTERM)
        self.assertEqual(run.wait(), 75, run.text())
        for worker in (generator, first):
            self.assertEqual(worker.wait(), 75, worker.text())

    def test_unix_socket_for_another_host(self):
        elsewhere = unshare(self, "--uts") + [
            "sh", "-c", 'hostname elsewhere && exec "$@"', "sh"]
        run = self.start("hosts", flags=["--external"])
        generator = run.start_worker("generator", under=elsewhere)
        discriminator = run.start_worker("discriminator")
        self.assertEqual(discriminator.wait(), 2, discriminator.text())
        self.assertEqual(run.wait(), 2, run.text())
        self.assertEqual(generator.wait(), 75, generator.text())
        for process in (discriminator, run):
            self.assertIn("generator 0 on elsewhere", process.text())
            self.assertIn("--listen HOST:PORT", process.text())

    def worker_alone(self, *flags):
        """A worker without a coordinator."""
        token = self.folder / "token"
        token.write_text("0" * 64)
        token.chmod(0o600)
        worker = harness.Worker(
            [harness.BIN / "generator_worker", "--control",
             f"unix:{self.folder}/nobody", "--token_file", token, *flags],
            self.folder / "worker.out", None)
        self.addCleanup(worker.process.wait)
        self.addCleanup(worker.process.kill)
        return worker

    def test_a_worker_says_what_it_waits_for_and_leaves_when_asked(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                worker = self.worker_alone()
                said = "waiting for the coordinator at unix:"
                harness.wait_for(
                    lambda w=worker, n=worker.text().count(said):
                        w.text().count(said) > n, "a word")
                worker.process.send_signal(number)
                self.assertEqual(worker.wait(), 75, worker.text())

    def test_workers_whose_gandem_is_gone_leave_when_asked(self):
        run = self.start("run", flags=["--external"],
                         sets=["rounds=1000000000"])
        workers = [run.start_worker(role)
                   for role in ("generator", "discriminator")]
        harness.wait_for(lambda: run.rounds() > 10, "rounds")
        run.process.kill()
        run.process.wait()
        for worker, number in zip(workers, (signal.SIGINT, signal.SIGTERM)):
            self.assertIsNone(worker.process.poll(), worker.text())
            worker.process.send_signal(number)
        for worker in workers:
            self.assertEqual(worker.wait(60), 75, worker.text())

    def test_a_run_folder_that_is_away_for_a_while(self):
        run = self.start("run", flags=["--external"],
                         sets=["rounds=1000000000"])
        link = self.folder / "mounted"
        link.symlink_to(run.dir)
        harness.wait_for(run.dir.exists, "the run folder")
        generator = run.start_worker("generator", flags=["--run_dir", link])
        discriminator = run.start_worker("discriminator")
        harness.wait_for(lambda: run.rounds() > 10, "rounds")
        link.unlink()
        # Checkpoints and sample grids of these rounds cannot be written.
        before = run.rounds()
        harness.wait_for(lambda: run.rounds() > before + 40, "rounds")
        self.assertFalse(os.path.lexists(link))
        discriminator.process.kill()
        discriminator.process.wait()
        run.start_worker("discriminator")
        # The worker joins the next run epoch, but does not see the folder.
        self.assertEqual(generator.wait(), 74, generator.text())
        self.assertIn("--run_dir", generator.text())
        self.assertIsNone(run.process.poll(), run.text())
        self.assertFalse(os.path.lexists(link))
        link.symlink_to(run.dir)
        before = run.rounds()
        run.start_worker("generator", flags=["--run_dir", link])
        harness.wait_for(lambda: run.rounds() > before + 10, "rounds")
        run.process.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(), 75, run.text())

    def test_timeouts_that_are_none(self):
        for text in ("nan", "-1", "0", "inf", "soon"):
            with self.subTest(text):
                worker = self.worker_alone(
                    f"--register_timeout_seconds={text}")
                self.assertEqual(worker.wait(), 2, worker.text())
                self.assertIn(f"'{text}' is no number of seconds",
                              worker.text())

    def test_a_run_folder_that_hosts_do_not_share(self):
        # Stands for a folder of the same name on another disk.
        elsewhere = self.folder / "elsewhere"
        (elsewhere / "state").mkdir(parents=True)
        run = self.start("shared", flags=["--external"])
        other = run.start_worker("generator")
        harness.wait_for(lambda: "run epoch 1" in other.text(), "its place")
        worker = run.start_worker("discriminator",
                                  flags=["--run_dir", elsewhere])
        self.assertEqual(worker.wait(), 2, worker.text())
        self.assertEqual(run.wait(), 2, run.text())
        self.assertEqual(other.wait(), 75, other.text())
        for process in (worker, run):
            self.assertIn(str(elsewhere), process.text())
            self.assertIn("--run_dir", process.text())


class BadStateTest(harness.RunTest):
    def test_last_checkpoint_cannot_be_written(self):
        run = self.start("run", flags=["--external"],
                         sets=["rounds=12", "checkpoint.every_rounds=0"])
        run.control_address()  # the run epoch has begun
        # A file where the workers need a folder.
        (run.dir / "checkpoints").write_text("")
        workers = [run.start_worker(role)
                   for role in ("generator", "discriminator")]
        self.assertEqual(run.wait(), 75, run.text())
        for worker in workers:
            self.assertEqual(worker.wait(), 75, worker.text())
            self.assertIn("checkpoint is not complete", worker.text())

    def test_a_disk_that_never_answers_does_not_hold_the_end(self):
        run = self.start(
            "run", sets=["rounds=1000000", "control.grace_seconds=2"],
            env={"GANDEM_FAILPOINT": "hang checkpoint.before_manifest@gandem:1"})
        # All workers have written their shards; the commit hangs.
        harness.wait_for(lambda: list((run.dir / "checkpoints").glob(
            "*.tmp/discriminator*")), "a checkpoint that is not complete")
        harness.wait_for(lambda: run.rounds() > 10, "rounds after it")
        run.process.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(), 75, run.text())
        self.assertIn("within 2s (control.grace_seconds)", run.text())
        self.assertIn(f"the disk of {run.dir} may not answer", run.text())

    def test_disk_full_while_checkpointing(self):
        # A file system that has space for only the first checkpoint.
        (self.folder / "run" / "checkpoints").mkdir(parents=True)
        in_namespace = unshare(self, "--mount")
        gandem = " ".join(str(part) for part in [
            harness.BIN / "gandem", "train", harness.SMOKE, "--run_dir",
            self.folder / "run", "--set", "rounds=30"])
        done = subprocess.run(
            [*in_namespace, "sh", "-c",
             f"mount -t tmpfs -o size=120k none {self.folder}/run/checkpoints"
             f" && {gandem}; echo exit $?;"
             f" ls {self.folder}/run/checkpoints"],
            capture_output=True, text=True, timeout=harness.DEADLINE)
        text = done.stdout + done.stderr
        self.assertIn("round 30/30", text)   # training went on
        self.assertIn("No space left", text)
        self.assertIn("exit 75", text.splitlines())
        self.assertIn("step-000000010", text.splitlines()[-1])


FLEET = ["rounds=20", "checkpoint.every_rounds=10", "samples.every_rounds=0",
         "generator.workers=2", "discriminator.workers=2"]
PLACES = [(role, rank) for role in ("generator", "discriminator")
          for rank in (0, 1)]


def put_nan(path):
    """Writes NaN to a weight of a safetensors file."""
    content = bytearray(path.read_bytes())
    size, = struct.unpack_from("<Q", content)
    tensors = json.loads(content[8:8 + size])
    first = min(tensor["data_offsets"][0] for name, tensor in tensors.items()
                if name.endswith("weight") and tensor["dtype"] == "F32")
    struct.pack_into("<f", content, 8 + size + first, float("nan"))
    path.write_bytes(content)


class DeafFolderTest(harness.RunTest):
    """A call to a file system whose server is gone never returns."""

    def hung(self, *command, at=1):
        """Starts a command whose `at`-th call to a file system hangs."""
        return subprocess.Popen(
            [str(part) for part in [harness.BIN / "gandem", *command]],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True,
            env={**os.environ, "GANDEM_FAILPOINT": f"hang file.wait:{at}"})

    def assert_given_up(self, process, command):
        _, said = process.communicate(timeout=harness.DEADLINE)
        self.assertEqual(process.returncode, 75, said)
        self.assertRegex(
            said, f"^gandem {command}: waiting for \S+ since 5 s\n"
            f"gandem {command}: '\S+' has not answered within 10s: ")

    def test_commands_that_read_or_begin_a_run_give_up(self):
        run = self.train("run", sets=["rounds=2"])
        train = ["train", harness.SMOKE, "--run_dir", self.folder / "new"]
        processes = [(name, self.hung(name, run.dir, *flags)) for name, flags in (
            ("status", []), ("report", []), ("logs", []),
            ("sample", ["-o", self.folder / "grid.png"]))]
        # From the first call up to one that writes to the run folder.
        processes += [("train", self.hung(*train, at=at)) for at in (1, 40)]
        for name, process in processes:
            self.assert_given_up(process, name)


class BadFleetTest(harness.RunTest):
    def start_workers(self, run, places, **options):
        return {place: run.start_worker(place[0], rank=place[1], **options)
                for place in places}

    def test_a_rank_is_missing_at_the_start(self):
        run = self.start("missing", flags=["--external"],
                         sets=FLEET + ["control.join_timeout_seconds=60"])
        workers = self.start_workers(run, [
            place for place in PLACES if place != ("generator", 1)])
        self.assertEqual(run.wait(), 75, run.text())
        self.assertIn("(control.join_timeout_seconds): generator 1.",
                      run.text())
        for worker in workers.values():
            self.assertEqual(worker.wait(), 75, worker.text())

    def test_two_workers_with_one_rank(self):
        run = self.start("twice", flags=["--external"], sets=FLEET)
        first = run.start_worker("generator", rank=1)
        harness.wait_for(lambda: "run epoch 1" in first.text(), "its place")
        workers = self.start_workers(run, PLACES)
        self.assertEqual(first.wait(), 75, first.text())
        self.assertEqual(run.wait(), 0, run.text())
        self.assertIn("another process has registered with its role and rank",
                      first.text())
        self.assertRegex(run.text(),
                         rf"generator 1: process \d+ on \S+ takes the place "
                         rf"of process {first.process.pid} on")
        for worker in workers.values():
            self.assertEqual(worker.wait(), 0, worker.text())

    def test_another_config_than_the_workers_have(self):
        # They continue without gandem; the next gandem has another config.
        endless = FLEET + ["rounds=1000000"]
        first = self.start("configs", flags=["--external"], sets=endless)
        workers = self.start_workers(first, PLACES)
        harness.wait_for(lambda: list(first.dir.glob(
            "checkpoints/step-*[0-9]")), "a checkpoint")
        first.process.kill()
        first.wait()
        run = self.start("configs", flags=["--external"],
                         sets=endless + ["checkpoint.every_rounds=25"])
        harness.wait_for(lambda: "run epoch 2 starts" in run.text(),
                         "the workers")
        run.process.send_signal(signal.SIGTERM)
        self.assertEqual(run.wait(), 75, run.text())
        for worker in workers.values():
            self.assertEqual(worker.wait(), 75, worker.text())

    def test_a_rank_whose_state_is_not_finite(self):
        before = self.train("nan", sets=FLEET).final_state()
        elsewhere = self.folder / "elsewhere"
        shutil.copytree(self.folder / "nan" / "checkpoints",
                        elsewhere / "checkpoints")
        put_nan(elsewhere / "checkpoints" / before[0]
                / "discriminator-0.safetensors")
        run = self.start("nan", flags=["--external"],
                         sets=FLEET + ["rounds=40"])
        # Otherwise gandem refuses it, because this is not the run folder.
        run.control_address()
        (elsewhere / "state").mkdir()
        for proof in (run.dir / "state").glob("folder-*"):
            shutil.copy(proof, elsewhere / "state")
        damaged = ("discriminator", 1)
        workers = self.start_workers(
            run, [place for place in PLACES if place != damaged])
        workers |= self.start_workers(run, [damaged],
                                      flags=["--run_dir", elsewhere])
        self.assertEqual(run.wait(), 3, run.text())
        # Generator 1 gets feedback from this discriminator's critic.
        self.assertRegex(
            run.text(), r"the gradient of \S+ on rank 1 is not finite")
        for worker in workers.values():
            self.assertIn(worker.wait(), (3, 75), worker.text())
        self.assertEqual(run.final_state(), before)


class ArgumentsTest(harness.RunTest):
    def test_the_commands_name_stands_once(self):
        nowhere = self.folder / "none"
        for arguments in (["sample", nowhere, "-o", "a.gif"],
                          ["export", nowhere, "-o", "a.onnx"],
                          ["evaluate", nowhere, "--metric", "nothing"],
                          ["train-features", "--epochs", "0"]):
            done = subprocess.run([harness.BIN / "gandem", *arguments],
                                  capture_output=True, text=True,
                                  timeout=harness.DEADLINE)
            self.assertEqual(done.returncode, 2, done.stderr)
            name = arguments[0]
            self.assertTrue(done.stderr.startswith(f"gandem {name}: "),
                            done.stderr)
            self.assertEqual(done.stderr.count(f"{name}: "), 1, done.stderr)


if __name__ == "__main__":
    harness.main()
