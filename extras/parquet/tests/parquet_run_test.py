# SPDX-License-Identifier: Apache-2.0
"""Runs on Parquet files give the same bits as runs on a folder of the same
images, even if data_worker is killed, and with TLS. Runs the example of
parquet.md."""

import contextlib
import os
import shutil
import signal
import subprocess

import credentials_test
import data_docs_test
import data_test
import file_server
import harness

EXTRA = harness.SOURCE / "extras" / "parquet"
# The images of data_test.py, written by parquet_goldens.py.
HUB = EXTRA / "tests" / "goldens" / "hub"


class ParquetRunTest(data_test.DataRuns):
    def test_the_same_run_as_on_a_folder(self):
        self.assert_same_state(self.train_on("folder", self.write_folder()),
                               self.train_on("parquet", HUB))

    def test_goes_on_when_data_worker_is_killed(self):
        rounds = ["rounds=1500", "checkpoint.every_rounds=500"]
        self.files += [(name.replace("img0", "img1"), data)
                       for name, data in self.files]
        whole = self.train_on("whole", self.write_folder(), sets=rounds)
        copies = self.folder / "copies"
        copies.mkdir()
        for i in range(2):
            for shard in sorted(HUB.glob("data/train-*")):
                shutil.copy(shard, copies / f"{i}-{shard.name[6:11]}.parquet")
        # The cache gets a quarter of this, less than all row groups, so they
        # are read repeatedly.
        run = self.start("killed", sets=[*self.SETS, *rounds,
                                         "data.memory_bytes=1048576"],
                         flags=["--data", str(copies)])

        def data_workers():
            return [pid for pid in harness.family(run.token)
                    if harness.command_of(pid) == "data_worker"]

        harness.wait_for(lambda: run.rounds() >= 1, "a round")
        killed = 0
        for pid in data_workers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                killed += 1
        self.assertGreater(killed, 0)
        self.assertEqual(run.wait(), 0, run.text())
        self.assert_same_state(run, whole)
        self.assertEqual(data_workers(), [])

    def test_without_data_worker_it_says_so(self):
        alone = self.folder / "bin"
        alone.mkdir()
        shutil.copy(harness.BIN / "gandem", alone)
        shown = subprocess.run(
            [alone / "gandem", "dataset", "show", str(HUB)],
            capture_output=True, text=True, timeout=harness.DEADLINE)
        self.assertEqual(shown.returncode, 2, shown.stderr)
        self.assertIn("Parquet is read by data_worker", shown.stderr)

    def test_it_is_read_in_a_run_over_tls(self):
        """Arrow's libraries contain their own OpenSSL and protobuf, which must not
        clash with those of gRPC."""
        sets = credentials_test.SETS
        plain = self.train("plain", sets=sets, flags=["--data", HUB])
        address = credentials_test.address_of_this_host()
        over_tls = self.train("tls", sets=sets, flags=[
            "--data", HUB, "--listen", f"{address}:0"])
        self.assertIn("50 images, 32 x 32, RGB", over_tls.text())
        self.assert_same_state(over_tls, plain)


class ParquetDocsTest(data_docs_test.Examples):
    def test_the_example_runs(self):
        (self.folder / "recipes").symlink_to(harness.SOURCE / "recipes")
        server = file_server.FileServer(
            {path.name: path.read_bytes() for path in HUB.glob("data/*")})
        self.addCleanup(server.close)
        examples = self.examples(EXTRA / "parquet.md")
        self.assertEqual(len(examples), 1)
        self.run_example(examples[0], server)


if __name__ == "__main__":
    harness.main()
