# SPDX-License-Identifier: Apache-2.0
"""`lpips` and `ppl` have the same values for any number of evaluation workers,
and refuse unsuitable input."""

import json
import subprocess

import evaluate_test
import harness

GOLDENS = harness.SOURCE / "extras" / "lpips" / "tests" / "goldens"


def golden_part(path, golden, prefix):
    """Writes the tensors of a golden whose names have the prefix."""
    data = (GOLDENS / golden).read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    part, tensors = {}, b""
    for name, entry in header.items():
        if not name.startswith(prefix):
            continue
        begin, end = entry["data_offsets"]
        bytes_of_it = data[8 + size + begin:8 + size + end]
        part[name[len(prefix):]] = {
            **entry, "data_offsets": [len(tensors),
                                      len(tensors) + len(bytes_of_it)]}
        tensors += bytes_of_it
    text = json.dumps(part).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + tensors)


class LpipsRunTest(evaluate_test.Evaluations):
    def test_how_much_images_differ(self):
        weights = self.folder / "lpips.safetensors"
        golden_part(weights, "lpips_weights.safetensors", "vgg.")
        net = ["--features", f"lpips:{weights}"]
        run = harness.Run(self.folder / "run", sets=["data.image_size=16"])
        self.assertEqual(run.wait(), 0, run.text()[-4000:])
        for metric, name, images in (("lpips", "LPIPS(vgg)", 600),
                                     ("ppl", "PPL(vgg)", 300)):
            what = [run.dir, "--metric", metric, *net, "--num", 300]
            one = self.judge(*what, "--output", self.folder / "a")
            two = self.judge(*what, "--output", self.folder / "b",
                             "--workers", 2, *evaluate_test.ALONE)
            self.assertEqual(one["metrics"], two["metrics"])
            (figure,) = one["metrics"]
            self.assertEqual(figure["name"], name)
            self.assertEqual(int(figure["num_images"]), images)
            self.assertGreater(figure["value"], 0)
            self.assertGreater(figure["sd"], 0)
        # The same images from files are paired differently.
        files = self.folder / "images.tar"
        done = subprocess.run(
            self.command("sample", run.dir, "-n", 600, "-o", files),
            capture_output=True, text=True, timeout=harness.DEADLINE)
        self.assertEqual(done.returncode, 0, done.stderr)
        (drawn,) = self.judge(files, "--metric", "lpips", *net, "--output",
                              self.folder / "c")["metrics"]
        (made,) = self.judge(run.dir, "--metric", "lpips", *net, "--num", 300,
                             "--output", self.folder / "a")["metrics"]
        self.assertLess(abs(drawn["value"] - made["value"]),
                        6 * (drawn["sd"] + made["sd"]))
        for arguments, said in (
                ([files, "--metric", "ppl", *net], "ppl measures paths between"),
                ([run.dir, "--metric", "ppl"], "--features lpips:FILE"),
                ([run.dir, "--metric", "fid,lpips", *net], "cannot be combined"),
                ([run.dir, *net], "the weights are of LPIPS"),
                ([files, "--metric", "lpips", *net, "--num", 301],
                 "holds 300 pairs; --num 301"),
                ([self.run_dir, "--metric", "lpips", *net],
                 "16 pixels a side or more")):
            with self.subTest(said):
                done = self.evaluate(*arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(said, done.stderr)


if __name__ == "__main__":
    harness.main()
