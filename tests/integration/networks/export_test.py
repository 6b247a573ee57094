# SPDX-License-Identifier: Apache-2.0
"""Exports networks of a run for PyTorch and loads them in another run."""

import json
import pathlib
import shutil
import subprocess
import tempfile

import harness


def gandem(*arguments):
    return subprocess.run(
        [str(part) for part in [harness.BIN / "gandem", *arguments]],
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=harness.DEADLINE)


def tensors_of(path):
    """Bytes of a safetensors file's tensors by name."""
    content = pathlib.Path(path).read_bytes()
    begin = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:begin])
    header.pop("__metadata__", None)
    return {name: content[begin + tensor["data_offsets"][0]:
                          begin + tensor["data_offsets"][1]]
            for name, tensor in header.items()}


class ExportTest(harness.RunTest):
    @classmethod
    def setUpClass(cls):
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="gandem-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        run = harness.Run(cls.shared / "run")
        assert run.wait() == 0, run.text()[-4000:]
        cls.run_dir = run.dir
        cls.state = cls.shared / "generator.safetensors"
        done = gandem("export", cls.run_dir, "-o", cls.state)
        assert done.returncode == 0, done.stderr
        cls.printed = done.stdout

    def flags(self):
        return ["--init_generator", self.state]

    def test_the_files(self):
        self.assertIn("state dict: ", self.printed)
        self.assertIn("](generator.png)",
                      (self.shared / "README.md").read_text())
        self.assertTrue((self.shared / "generator.png").exists())
        out = self.folder / "generator.pt"
        done = gandem("export", self.run_dir, "-o", out, "--raw")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("forward(noise): ", done.stdout)
        self.assertTrue(out.exists())

    def test_what_cannot_be_exported(self):
        for output, part in [("/proc/generator.pt", "/proc/generator.pt"),
                             (self.folder / "g.onnx", "torch.onnx"),
                             (self.folder / "g.bin", "neither with .pt")]:
            done = gandem("export", self.run_dir, "-o", output)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(part, done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_run_begins_with_a_state_dict(self):
        drawn = self.train("drawn")
        given = self.train("given", flags=self.flags())
        self.assertNotEqual(drawn.final_state()[1], given.final_state()[1])
        # In one process or in two.
        self.assert_same_state(
            given, self.train("colocated",
                              flags=[*self.flags(), "--colocated"]))
        self.assertEqual(len(list((given.dir / "init").iterdir())), 1)

    def test_a_resume_needs_the_file_no_more(self):
        whole = self.train("whole", sets=["rounds=30"], flags=self.flags())
        self.train("parts", sets=["rounds=15"], flags=self.flags())
        self.assert_same_state(whole, self.train("parts", sets=["rounds=30"]))
        other = self.folder / "other.safetensors"
        done = gandem("export", whole.dir, "-o", other)
        self.assertEqual(done.returncode, 0, done.stderr)
        refused = self.train("parts", code=2, sets=["rounds=31"],
                             flags=["--init_generator", other])
        self.assertIn("began with other values", refused.text())

    def test_a_fleet_begins_with_it(self):
        sets = ["generator.workers=2",
                "generator.sync.divergence_check_interval=1"]
        self.train("fleet", sets=sets, flags=self.flags())

    def test_frozen_layers_stay_what_they_were(self):
        begun = tensors_of(self.state)
        # 15 rounds, and 15 more after a resume.
        for rounds in (15, 30):
            run = self.train("frozen", flags=self.flags() if rounds == 15
                             else [], sets=[f"rounds={rounds}",
                                            'generator.freeze=["main.0.*"]'])
        for flags in ([], ["--raw"]):
            out = self.folder / f"ended{len(flags)}.safetensors"
            done = gandem("export", run.dir, "-o", out, *flags)
            self.assertEqual(done.returncode, 0, done.stderr)
            ended = tensors_of(out)
            self.assertEqual(ended.keys(), begun.keys())
            changed = {name for name in begun if ended[name] != begun[name]}
            self.assertEqual(changed, {name for name in begun
                                       if not name.startswith("main.0.")})
        self.assertIn("main.0.weight", begun)

    def test_a_frozen_name_that_is_not_there(self):
        run = self.train("refused", code=2,
                         sets=['generator.freeze=["mian.0.*"]'])
        self.assertIn("mian.0.*", run.text())

    def test_another_architecture_is_refused(self):
        run = self.train("refused", code=2, flags=self.flags(),
                         sets=["generator.network.mlp.noise_dim=17"])
        self.assertIn("main.0.weight has shape", run.text())
        run = self.train("none", code=2,
                         flags=["--init_discriminator", "/nonexistent"])
        self.assertIn("/nonexistent", run.text())


if __name__ == "__main__":
    harness.main()
