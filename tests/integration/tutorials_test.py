# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/tutorials, in the order of each page and word for word.
Only the recipes are smaller: fewer images, narrow networks, small batches."""

import os
import random
import re
import signal
import subprocess
import unittest

import harness
from remote_data_test import png

PAGES = harness.SOURCE / "docs" / "tutorials"
PYTHON = os.environ.get("GANDEM_OWN_PYTHON", "")
# Replacements in every recipe.
SMALLER = [(r"\nrounds: \d+", "\nrounds: 4"), (r"batch_size: \d+", "batch_size: 4"),
           (r"\bwidth: \d+", "width: 4"), (r"threads: \d+", "threads: 1"),
           (r"data {", "data { max_images: 64")]
# They build gandem or install packages.
BUILDING = ("export PATH=", "pip install ", "scripts/")


def blocks(page, language=""):
    """The code blocks of a page in a language, without the fences."""
    text = (PAGES / page).read_text()
    return [body for name, body in re.findall(r"```(\w*)\n(.*?)```", text, re.S)
            if name == language]


def commands(page):
    """The commands of a page, without output that it shows."""
    starts = ("gandem ", "python ", "alpha$", "beta$", *BUILDING)
    lines = [line for block in blocks(page)
             for line in block.replace("\\\n", " ").splitlines()]
    return [line for line in lines if line.startswith(starts)]


class TutorialsTest(harness.RunTest):
    def setUp(self):
        super().setUp()
        (self.folder / "recipes").mkdir()
        for recipe in (harness.SOURCE / "recipes").glob("*.textproto"):
            text = recipe.read_text()
            for old, new in SMALLER:
                if "max_images" not in text or "max_images" not in new:
                    text = re.sub(old, new, text)
            (self.folder / "recipes" / recipe.name).write_text(text)
        self.env = {**os.environ, "PATH": f"{harness.BIN}:{os.environ['PATH']}",
                    "PYTHONPATH": str(harness.SOURCE / "python"),
                    "GANDEM_BIN": str(harness.BIN)}

    def start_line(self, line):
        process = subprocess.Popen(
            ["bash", "-c", f"exec {line}"], cwd=self.folder, env=self.env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def finish(self, process):
        """Waits for the end and returns the output."""
        said, _ = process.communicate(timeout=harness.BESIDE)
        self.assertEqual(process.returncode, 0,
                         f"{process.args[-1]}\n{said[-4000:]}")
        return said

    def run_line(self, line):
        return self.finish(self.start_line(line))

    def run_page(self, page, count):
        lines = [line for line in commands(page)
                 if not line.startswith(BUILDING)]
        self.assertEqual(len(lines), count, lines)
        for line in lines:
            with self.subTest(line):
                # Ends soon, although no worker is killed.
                self.run_line(line.replace("rounds=20000", "rounds=200"))

    def test_first_run(self):
        self.run_page("first_run.md", 8)
        grids = list((self.folder / "runs/first/samples").iterdir())
        self.assertTrue(grids)
        for file in ("grid.png", "samples.npz", "generator.pt"):
            self.assertTrue((self.folder / file).stat().st_size > 0, file)
        if not PYTHON:
            return
        (self.folder / "use.py").write_text(blocks("first_run.md", "python")[0])
        self.run_line(f"{PYTHON} use.py")

    def test_your_images(self):
        draw = random.Random(1)
        for folder in ("photos", "classes/a", "classes/b"):
            (self.folder / folder).mkdir(parents=True)
            for i in range(32):
                (self.folder / folder / f"{i}.png").write_bytes(png(draw))
        self.run_page("your_images.md", 7)
        page = (self.folder / "report.html").read_text()
        self.assertIn("runs/photos", page)
        self.assertIn("runs/wide", page)

    def test_several_workers(self):
        self.run_page("several_workers.md", 4)

    @unittest.skipUnless(PYTHON, "GANDEM_OWN_PYTHON names no interpreter")
    def test_own_network(self):
        file, = blocks("own_network.md", "python")
        (self.folder / "my_gan.py").write_text(file)
        line, = [line for line in commands("own_network.md")
                 if line.startswith("python ")]
        said = self.run_line(line.replace("python", PYTHON, 1))
        self.assertRegex(said, r"\(4, 1, 8, 8\)")

    def test_cluster(self):
        """Both hosts are this one."""
        text = "\n".join(commands("cluster.md"))
        for place in sorted(set(re.findall(r"(?:alpha|beta):\d+", text))):
            text = text.replace(place, f"127.0.0.1:{harness.free_port()}")
        shared = self.folder / "shared"
        shared.mkdir()
        lines = [re.sub(r"^(alpha|beta)\$ +", "", line).replace(
            "/mnt/", f"{shared}/") for line in text.splitlines()]
        self.assertEqual(len(lines), 5, lines)
        doctor, check, coordinator, *workers = lines
        listening = self.start_line(doctor)
        self.assertTrue(any("listening at" in line
                            for line in listening.stdout))
        self.assertNotIn("FAULT", self.run_line(check))
        listening.send_signal(signal.SIGINT)
        self.finish(listening)
        started = [self.start_line(coordinator)]
        harness.wait_for((shared / "a/state/control.addr").exists,
                         "the coordinator")
        started += [self.start_line(worker) for worker in workers]
        for process in started:
            self.finish(process)


if __name__ == "__main__":
    harness.main()
