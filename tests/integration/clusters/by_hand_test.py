# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of docs/how_to/several_hosts.md word for word, on hosts that
are namespaces of this machine. Over mutual TLS, training completes with the same
bits as a run on one host."""

import pathlib
import subprocess
import sys

import harness

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import hosts  # pylint: disable=wrong-import-position

PAGE = harness.SOURCE / "docs" / "how_to" / "several_hosts.md"


class ByHandTest(harness.RunTest):
    def setUp(self):
        super().setUp()
        missing = hosts.why_not()
        if missing:
            self.skipTest(f"no hosts can be played: {missing}")
        self.hosts = hosts.Hosts(self.folder / "hosts", harness.BIN)
        # The page's recipe with fewer rounds.
        self.recipe = self.hosts.home("alpha") / "recipes" / harness.SMOKE.name
        self.recipe.parent.mkdir()
        text = harness.SMOKE.read_text()
        shorter = text.replace("rounds: 40\n", "rounds: 20\n")
        self.assertNotEqual(shorter, text)
        self.recipe.write_text(shorter)

    def assert_state_of(self, run, name):
        step, files = run.final_state()
        for file, content in files.items():
            other = self.hosts.shared / name / "checkpoints" / step / file
            self.assertTrue(content == other.read_bytes(), f"{file} differs")

    def test_the_lines_of_the_page_train_to_the_end(self):
        lines = hosts.block(PAGE, "## By hand")
        self.assertFalse(any("insecure" in line for line in lines))
        codes, text = self.hosts.play(lines, harness.DEADLINE)
        self.assertEqual(codes, [0] * len(lines), text[-4000:])
        self.assert_state_of(self.train("here", recipe=self.recipe), "a")

    def test_a_fleet_that_gandem_starts_by_ssh(self):
        start = self.hosts.home("alpha") / "by_ssh"
        start.write_text("\n".join(hosts.block(PAGE, "## By hand", 1)) + "\n")
        start.chmod(0o755)
        lines = hosts.block(PAGE, "## By hand", 2)
        codes, text = self.hosts.play(lines, harness.DEADLINE)
        self.assertEqual(codes, [0] * len(lines), text[-4000:])
        workers = (self.hosts.shared / "b" / "config.textproto").read_text()
        self.assertIn("workers: 2", workers)
        self.assert_state_of(
            self.train("here", recipe=self.recipe,
                       sets=["discriminator.workers=2"]), "b")

    def test_a_host_that_does_not_see_the_run_folder_is_told(self):
        *lines, _, beta = hosts.block(PAGE, "## By hand")
        lonely = beta.replace("ssh beta ", "ssh beta 'mount --bind ~ /mnt && ") + "'"
        codes, text = self.hosts.play(
            [*lines, lonely, 'kill "${started[0]}"'], harness.DEADLINE)
        self.assertEqual(codes, [0] * (len(lines) - 1) + [2, 0, 75], text[-4000:])
        self.assertIn("cannot open '/mnt/a/state/token'", text)
        self.assertIn("does this host see the run folder?", text)

    def test_a_link_that_is_closed_in_one_direction_ends_the_run(self):
        # The generator reaches the coordinator's socket, but no port of the
        # host.
        port = harness.free_port()
        run = self.start("run", recipe=self.recipe, flags=["--external"],
                         sets=["control.heartbeat_timeout_seconds=2",
                               "control.join_timeout_seconds=5"])
        run.start_worker("discriminator", ["--listen", f"127.0.0.1:{port}"])
        run.start_worker("generator", under=["unshare", "--net"])
        self.assertEqual(run.wait(), 2, run.text())
        self.assertRegex(
            run.text(), r"generator 0 .*host \S+ does not reach the "
            rf"discriminator at 127.0.0.1:{port}: nobody answers")

    def test_a_worker_of_another_release_is_refused(self):
        said = subprocess.run([harness.BIN / "gandem", "--version"], check=True,
                              capture_output=True, timeout=harness.DEADLINE)
        release = said.stdout.split()[1]
        other = release[:-1] + (b"1" if release[-1:] != b"1" else b"2")
        program = self.folder / "generator_worker"
        image = (harness.BIN / program.name).read_bytes()
        self.assertIn(release + b"\0", image)
        program.write_bytes(image.replace(release + b"\0", other + b"\0"))
        program.chmod(0o755)
        run = self.start("run", recipe=self.recipe, flags=["--external"])
        stranger = harness.Worker(
            [program, "--control", run.control_address(), "--rank", "0",
             "--token_file", run.dir / "state" / "token"],
            self.folder / "stranger", None)
        run.by_hand.append(stranger)
        self.assertEqual(stranger.wait(), 2, stranger.text())
        self.assertIn("release", stranger.text())
        harness.wait_for(lambda: other.decode() in run.text(),
                         "the release in what gandem prints")
        self.assertIn("start workers of the same release", run.text())
        run.process.terminate()
        self.assertEqual(run.wait(), 75, run.text())


if __name__ == "__main__":
    harness.main()
