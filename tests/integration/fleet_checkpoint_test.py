# SPDX-License-Identifier: Apache-2.0
"""Checkpoints that several worker processes write together, and fleets of other
sizes that resume from them."""

import array
import json
import re
import signal
import struct
import subprocess

import harness

SETS = ["checkpoint.every_rounds=10", "samples.every_rounds=0",
        "exchange.image_encoding=FLOAT64", "exchange.feedback_encoding=FLOAT64",
        "generator.precision=FLOAT64", "discriminator.precision=FLOAT64"]


def workers(generators, discriminators):
    return [f"generator.workers={generators}",
            f"discriminator.workers={discriminators}"]


def tensors_of(file):
    """Bytes of a safetensors file's tensors by name."""
    content = file.read_bytes()
    size, = struct.unpack("<Q", content[:8])
    found = {}
    for name, entry in json.loads(content[8:8 + size]).items():
        if name == "__metadata__":
            continue
        first, end = entry["data_offsets"]
        found[name] = (entry["dtype"], content[8 + size + first:8 + size + end])
    return found


def newest(run):
    return max((run.dir / "checkpoints").glob("step-*"))


def shard_names(generators, discriminators):
    return sorted(
        [f"generator-{rank}.safetensors" for rank in range(generators)]
        + [f"discriminator-{rank}.safetensors"
           for rank in range(discriminators)])


class FleetCheckpointTest(harness.RunTest):
    def state(self, run, role):
        """A role's state, combined from its files."""
        state = {}
        for file in newest(run).glob(f"{role}-*.safetensors"):
            for name, tensor in tensors_of(file).items():
                self.assertNotIn(name, state)
                state[name] = tensor
        return state

    def assert_close(self, run, other):
        for role in ("generator", "discriminator"):
            state, expected = self.state(run, role), self.state(other, role)
            self.assertEqual(sorted(state), sorted(expected))
            for name, (dtype, content) in state.items():
                if dtype != "F64":
                    self.assertEqual(content, expected[name][1], name)
                    continue
                here = array.array("d", content)
                there = array.array("d", expected[name][1])
                distance = sum((x - y) ** 2 for x, y in zip(here, there))
                length = sum(y * y for y in there)
                self.assertLessEqual(distance, 1e-16 * length, name)

    def assert_balanced(self, run, role):
        sizes = [[len(content) for _, content in tensors_of(file).values()]
                 for file in newest(run).glob(f"{role}-*.safetensors")]
        largest = max(max(parts) for parts in sizes)
        total = sum(sum(parts) for parts in sizes)
        for parts in sizes:
            self.assertLessEqual(sum(parts), total / len(sizes) + largest)

    def test_fleets_of_other_sizes_go_on(self):
        expected = self.train("unchanged",
                              sets=SETS + workers(2, 2) + ["rounds=30"])
        before = None
        for shape, rounds in (((2, 2), 20), ((1, 3), 26), ((1, 1), 30)):
            run = self.train("changed", sets=SETS + workers(*shape)
                             + [f"rounds={rounds}"])
            self.assertEqual(newest(run).name, f"step-{rounds:09}")
            self.assertEqual(sorted(run.final_state()[1]), shard_names(*shape))
            manifest = (newest(run) / "manifest.textproto").read_text()
            self.assertEqual(
                sorted(re.findall(r'"(.*\.safetensors)"', manifest)),
                shard_names(*shape))
            for role in ("generator", "discriminator"):
                self.assert_balanced(run, role)
            if before:
                notice = (
                    f"resuming a run of {before[0]} generator and {before[1]} "
                    f"discriminator workers with {shape[0]} and {shape[1]}: "
                    "bits differ")
                log = (run.dir / "logs" / "gandem.log").read_text()
                self.assertIn(notice, run.text())
                self.assertIn(notice, log)
            before = shape
        self.assert_close(run, expected)
        self.check_damage(expected)

    def check_damage(self, run):
        """If any shard is damaged, gandem uses the previous checkpoint and prints
        the reason."""
        last = newest(run)
        before = last.with_name("step-000000020")
        shard = last / "discriminator-1.safetensors"
        content = shard.read_bytes()
        shard.write_bytes(content[:-4] + b"\0\1\2\3")
        sample = subprocess.run(
            [harness.BIN / "gandem", "sample", run.dir, "-n", "1", "-o",
             self.folder / "grid.png"],
            capture_output=True, text=True, timeout=harness.DEADLINE)
        self.assertEqual(sample.returncode, 0, sample.stderr)
        self.assertIn("discriminator-1.safetensors",
                      sample.stdout + sample.stderr)
        self.assertTrue((self.folder / "grid.png").exists())
        sets = SETS + workers(2, 2) + ["rounds=30"]
        again = self.train("unchanged", sets=sets)
        self.assertIn(f"{shard}' does not have the manifest's CRC32C",
                      again.text())
        self.assertIn("resuming after round 20", again.text())
        self.assertEqual(shard.read_bytes(), content)  # the same bits again
        (last / "generator-1.safetensors").unlink()
        again = self.train("unchanged", sets=sets)
        self.assertIn("generator-1.safetensors' is missing", again.text())
        for rank in range(2):
            (before / f"generator-{rank}.safetensors").unlink()
            (last / f"generator-{rank}.safetensors").unlink()
        again = self.train("unchanged", code=2, sets=sets)
        self.assertIn("none of the checkpoints", again.text())

    def test_workers_of_another_shape_do_not_come_back(self):
        sets = SETS + ["rounds=100000"]
        first = self.start("run", sets=sets + workers(2, 1),
                           flags=["--external"])
        stays = [first.start_worker("generator"),
                 first.start_worker("discriminator")]
        leaves = first.start_worker("generator", rank=1)
        harness.wait_for(lambda: (first.dir / "checkpoints").exists()
                         and list(first.dir.glob("checkpoints/step-*[0-9]")),
                         "a checkpoint")
        first.process.kill()
        first.process.wait()
        second = self.start("run", sets=sets + workers(1, 1),
                            flags=["--external"])
        self.assertEqual(leaves.wait(), 2, leaves.text())
        self.assertIn("this run has no generator 1", leaves.text())
        # Both runs write to the same file.
        harness.wait_for(
            lambda: second.text().count("all workers are ready") == 2,
            "the new epoch")
        second.process.send_signal(signal.SIGTERM)
        self.assertEqual(second.wait(), 75, second.text())
        for worker in stays:
            self.assertEqual(worker.wait(), 75, worker.text())


if __name__ == "__main__":
    harness.main()
