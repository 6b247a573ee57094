# SPDX-License-Identifier: Apache-2.0
"""Opens the page of `gandem report --html` in a headless browser, and checks
the charts, the slider, and that the browser logs no complaint."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import harness

BROWSER = shutil.which("chromium")
SECTIONS = ("overview", "samples", "quality", "losses", "shares", "lag",
            "pipeline", "restarts", "recipe")
# A hostile name: if a page does not escape it, it sets the title to 1.
FOREIGN = "<img src=x onerror=document.title=1><script>"


def card(step, value):
    return (f'metrics {{ name: "FD(net)" value: {value} sd: 0.5 }}\n'
            f"images {{ generator {{ step: {step} }} }}\n"
            'features { network: "net" }\n')


@unittest.skipUnless(BROWSER, "no chromium: install Debian's package chromium")
class ReportPageTest(harness.RunTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = pathlib.Path(tempfile.mkdtemp(prefix="gandem-test-"))
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.run_dirs = []
        for name, noise in (("one", 8), (FOREIGN, 12)):
            run = harness.Run(
                folder / f"run{noise}",
                sets=["samples.every_rounds=10",
                      f"generator.network.mlp.noise_dim={noise}"])
            assert run.wait() == 0, run.text()[-4000:]
            config = run.dir / "config.textproto"
            config.write_text(config.read_text().replace("mlp_smoke", name))
            cards = run.dir / "evaluation"
            cards.mkdir()
            for step, value in ((10, 9.0), (20, 4.0), (40, 6.0)):
                (cards / f"step-{step}.textproto").write_text(card(step, value))
            cls.run_dirs.append(run.dir)

    def page(self, *runs):
        path = self.folder / "report.html"
        subprocess.run([harness.BIN / "gandem", "report", *runs, "--html", path],
                       check=True, timeout=harness.DEADLINE,
                       stdout=subprocess.DEVNULL)
        return path

    def drawn(self, path, state=""):
        """The page's DOM after its script has run."""
        done = subprocess.run(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu",
             f"--user-data-dir={self.folder / 'profile'}",
             "--enable-logging=stderr", "--dump-dom", f"file://{path}{state}"],
            capture_output=True, text=True, timeout=harness.DEADLINE)
        self.assertEqual(done.returncode, 0, done.stderr[-4000:])
        self.assertNotIn("CONSOLE", done.stderr)
        return done.stdout

    def section(self, dom, name):
        return dom.split(f'<section id="{name}">', 1)[1].split("</section>")[0]

    def test_one_run(self):
        dom = self.drawn(self.page(self.run_dirs[0]))
        self.assertIn('data-drawn="rounds"', dom)
        for name in SECTIONS:
            self.assertIn(f'<section id="{name}">', dom)
        self.assertEqual(dom.count('<figure class="chart">'), 11)
        quality = self.section(dom, "quality")
        self.assertEqual(quality.count('class="dot"'), 3)
        self.assertEqual(quality.count('class="best"'), 1)
        self.assertIn("best: 4", quality)
        # Every line in the chart of the losses has more than 10 segments.
        for path in re.findall(r'class="line[^"]*" d="([^"]*)"',
                               self.section(dom, "losses")):
            self.assertGreater(path.count("L"), 10)
        self.assertNotIn("NaN", dom.split("<main", 1)[1].split("</main>")[0])

    def test_the_address_says_what_is_shown(self):
        path = self.page(self.run_dirs[0])
        last = self.section(self.drawn(path), "samples")
        first = self.section(self.drawn(path, "#x=images&samples=10"), "samples")
        self.assertIn("round 10,", first)
        self.assertNotEqual(
            *(re.search(r'src="(data:image/png;base64,[^"]+)"', text)[1]
              for text in (first, last)))
        self.assertIn('data-drawn="images that the discriminator has seen"',
                      self.drawn(path, "#x=images&samples=10"))

    def test_two_runs_side_by_side_and_names_are_text(self):
        dom = self.drawn(self.page(*self.run_dirs))
        self.assertEqual(self.section(dom, "samples").count("<img "), 2)
        self.assertEqual(self.section(dom, "quality").count('class="best"'), 2)
        self.assertIn("generator.network.mlp.noise_dim", self.section(dom, "recipe"))
        self.assertIn("&lt;img src=x", dom)
        self.assertNotIn("<img src=x", dom.split("<main", 1)[1].split("</main>")[0])
        self.assertNotIn("<title>1<", dom)


if __name__ == "__main__":
    harness.main()
