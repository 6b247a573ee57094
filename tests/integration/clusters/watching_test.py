# SPDX-License-Identifier: Apache-2.0
"""Debian's Prometheus reads a real run, an alert fires when a worker stops, and
promtool accepts the rules."""

import http.client
import json
import os
import re
import signal
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import harness

DEPLOY = harness.SOURCE / "deploy" / "prometheus"
SETS = ["rounds=1000000", "samples.every_rounds=0", "checkpoint.every_rounds=20"]


def read(url):
    """Body of the response, or None if no server answers yet."""
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.read().decode()
    except (urllib.error.URLError, http.client.HTTPException, OSError):
        return None


def promtool(*arguments, text=None):
    return subprocess.run(["promtool", *map(str, arguments)], input=text,
                          capture_output=True, text=True, timeout=120)


class WatchingTest(harness.RunTest):
    def watch(self, name, **options):
        """Starts a run. Returns it and the address of its metrics."""
        run = self.start(name, flags=["--metrics_listen", "127.0.0.1:0"],
                         sets=SETS, **options)
        found = harness.wait_for(
            lambda: re.search(r"http://(\S+)/metrics", run.text()),
            "the address of the metrics")
        run.control_address()  # is available later
        return run, found[1]

    def start_prometheus(self, target):
        """Starts Prometheus with the committed rules, shorter times and one run."""
        rules = (DEPLOY / "rules.yml").read_text()
        rules = re.sub(r"for: \d+[sm]", "for: 1s", rules)
        rules = rules.replace("gandem_worker_silent_seconds > 15",
                              "gandem_worker_silent_seconds > 2")
        (self.folder / "rules.yml").write_text(rules)
        config = (DEPLOY / "prometheus.yml").read_text()
        config = config.replace("127.0.0.1:9400", target) \
            .replace("_interval: 5s", "_interval: 1s")
        (self.folder / "prometheus.yml").write_text(config)
        address = f"127.0.0.1:{harness.free_port()}"
        with open(self.folder / "prometheus.out", "ab") as out:
            process = subprocess.Popen(
                ["prometheus", f"--config.file={self.folder}/prometheus.yml",
                 f"--storage.tsdb.path={self.folder}/tsdb",
                 f"--web.listen-address={address}"],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return address

    def query(self, prometheus, expression):
        """The values by labels."""
        text = read(f"http://{prometheus}/api/v1/query?query="
                    + urllib.parse.quote(expression))
        if text is None:
            return []
        return [(sample["metric"], float(sample["value"][1]))
                for sample in json.loads(text)["data"]["result"]]

    def firing(self, prometheus, alert):
        text = read(f"http://{prometheus}/api/v1/alerts")
        alerts = json.loads(text)["data"]["alerts"] if text else []
        return [found for found in alerts if found["state"] == "firing"
                and found["labels"]["alertname"] == alert]

    def test_promtool_accepts_rules_config_and_metrics(self):
        for arguments in (["check", "rules", DEPLOY / "rules.yml"],
                          ["check", "config", DEPLOY / "prometheus.yml"],
                          ["test", "rules", harness.SOURCE / "tests"
                           / "control_plane" / "monitoring" / "alerts.yml"]):
            done = promtool(*arguments)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        _, address = self.watch("metrics")
        text = harness.wait_for(lambda: read(f"http://{address}/metrics"),
                                "an answer")
        done = promtool("check", "metrics", text=text)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr + text)
        self.assertEqual(done.stdout + done.stderr, "")

    def test_an_alert_fires_when_a_worker_stops(self):
        run, target = self.watch("stopped")
        prometheus = self.start_prometheus(target)
        harness.wait_for(
            lambda: any(value > 0 for _, value in self.query(
                prometheus, 'rate(gandem_rounds_total[10s])')),
            "Prometheus to see rounds")
        for metric in ("gandem_loss", "gandem_worker_resident_bytes > 0"):
            harness.wait_for(
                lambda: {labels["role"]
                         for labels, _ in self.query(prometheus, metric)}
                == {"generator", "discriminator"}, metric)
        stopped = run.worker("generator_worker")
        os.kill(stopped, signal.SIGSTOP)
        # On a busy machine other workers may also be silent for a moment.
        harness.wait_for(
            lambda: any("generator 0 is silent" in alert["annotations"]["summary"]
                        for alert in self.firing(prometheus,
                                                 "GandemWorkerSilent")),
            "the alert")
        os.kill(stopped, signal.SIGCONT)
        harness.wait_for(
            lambda: not self.firing(prometheus, "GandemWorkerSilent"),
            "the alert to end")
        run.process.send_signal(signal.SIGTERM)
        self.assertEqual(run.wait(), 75, run.text()[-4000:])
        harness.wait_for(lambda: self.firing(prometheus, "GandemUnreachable"),
                         "the alert for the end of the run")

    def test_workers_by_hand_are_told_the_form_of_the_logs(self):
        run = self.start("by_hand",
                         flags=["--external", "--log_format", "json"])
        harness.wait_for(
            lambda: re.search(r"discriminator_worker --control .* --rank 0 .*"
                              r"--log_format json", run.text()),
            "the commands of the workers")
        run.process.send_signal(signal.SIGTERM)
        self.assertEqual(run.wait(), 75, run.text()[-4000:])

    def test_status_says_where_and_an_address_in_use_is_refused(self):
        run, address = self.watch("first")
        status = subprocess.run(
            [harness.BIN / "gandem", "status", run.dir], capture_output=True,
            text=True, timeout=harness.DEADLINE)
        self.assertIn(f"metrics: http://{address}/metrics", status.stdout)
        second = self.start("second", flags=["--metrics_listen", address])
        self.assertEqual(second.wait(), 2, second.text())
        self.assertIn("--metrics_listen", second.text())
        self.assertIn(address, second.text())


if __name__ == "__main__":
    harness.main()
