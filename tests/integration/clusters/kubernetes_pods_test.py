# SPDX-License-Identifier: Apache-2.0
"""Runs the commands in the manifests of `gandem launch kubernetes`, word for word
except for addresses and folders. Starts and ends them like a kubelet."""

import json
import os
import re
import shutil
import signal
import subprocess
import unittest
import urllib.request

from harness import BIN, SMOKE, SOURCE, RunTest, Worker, free_port, wait_for

NAME = "smoke"
METRICS_PORT = 9400
STOPPED = 75


def commands(folder):
    """Command of each Job by name. The arguments are in double quotes, like in
    JSON; another test reads the whole manifests with PyYAML."""
    found = {}
    for path in folder.glob("*.yaml"):
        for text in path.read_text().split("\n---\n"):
            if "kind: Job\n" not in text:
                continue
            name = re.search(r"^  name: (.*)$", text, flags=re.M)[1]
            start = re.search(r"^ +command: (.*)$", text, flags=re.M)[1]
            block = re.search(r"^ +args:\n((?: +- \".*\n)+)", text, flags=re.M)
            words = [line.strip()[2:] for line in block[1].splitlines()]
            found[name] = [*json.loads(start), *map(json.loads, words)]
    return found


class KubernetesPodsTest(RunTest):
    def setUp(self):
        super().setUp()
        self.pods = []
        self.addCleanup(self.end_pods)
        self.volume = self.folder / "volume"
        self.programs = self.folder / "programs"
        for folder in (self.volume, self.programs):
            folder.mkdir()
        shutil.copy(SOURCE / "deploy/container/gandem_pod.sh",
                    self.programs / "gandem_pod")
        self.port = free_port()
        self.metrics = f"127.0.0.1:{free_port()}"
        self.coordinator = "127.0.0.1"
        self.under = []  # command that starts a pod's command

    def end_pods(self):
        for pod in self.pods:
            pod.process.kill()
            pod.process.wait()

    def render(self, *sets, flags=()):
        command = [BIN / "gandem", "launch", "kubernetes", SMOKE, "--name", NAME,
                   "--image", "gandem:test", "--pvc", "shared", "--dry_run",
                   "-o", self.folder / "manifests", *flags]
        for assignment in sets:
            command += ["--set", assignment]
        subprocess.run([str(part) for part in command], check=True,
                       stdout=subprocess.DEVNULL, timeout=60)
        self.commands = commands(self.folder / "manifests")

    def here(self, word):
        """Adapts a word of a command to this machine: all pods share an address,
        so the system chooses the ports."""
        word = word.replace(f"{NAME}-coordinator:7000",
                            f"{self.coordinator}:{self.port}")
        word = word.replace(f"{NAME}-coordinator:{METRICS_PORT}", self.metrics)
        word = re.sub(r"^\$\(POD_IP\):\d+$", "127.0.0.1:0", word)
        word = word.replace("/recipe/recipe.textproto", str(SMOKE))
        return re.sub("^/gandem/", f"{self.volume}/", word)

    def start_pod(self, name, **env):
        command = [self.here(word) for word in self.commands[name]]
        pod = Worker([*self.under, *command],
                     self.folder / f"{name}.log",
                     {"PATH": f"{self.programs}:{BIN}:{os.environ['PATH']}",
                      **env})
        self.pods.append(pod)
        return pod

    def start_all(self):
        return {name: self.start_pod(name) for name in sorted(self.commands)}

    @property
    def run_dir(self):
        return self.volume / "runs" / NAME

    def rounds(self):
        path = self.run_dir / "metrics.jsonl"
        lines = path.read_text().splitlines(True) if path.exists() else []
        return max((int(json.loads(line).get("round", 0)) for line in lines
                    if line.endswith("\n")), default=0)

    def wait_for_rounds(self, rounds):
        wait_for(lambda: self.rounds() >= rounds, f"round {rounds}")

    def newest_checkpoint(self):
        return max((self.run_dir / "checkpoints").glob("step-*[0-9]"))

    def test_a_run_ends_with_all_its_pods_and_the_usual_bits(self):
        self.render("rounds=20", "discriminator.workers=2")
        self.assertEqual(sorted(self.commands), [
            f"{NAME}-coordinator", f"{NAME}-discriminator-0",
            f"{NAME}-discriminator-1", f"{NAME}-generator-0"])
        # Workers start first and wait.
        pods = [self.start_pod(name)
                for name in sorted(self.commands, reverse=True)]
        for pod in pods:
            self.assertEqual(pod.wait(), 0, pod.text()[-4000:])
        usual = self.train("usual", sets=["rounds=20",
                                          "discriminator.workers=2"])
        step, files = usual.final_state()
        self.assertEqual(self.newest_checkpoint().name, step)
        for name, content in files.items():
            self.assertEqual((self.newest_checkpoint() / name).read_bytes(),
                             content, name)

    def test_a_run_is_watched_as_its_launch_says(self):
        self.render("rounds=1000000", flags=[
            "--metrics_port", METRICS_PORT, "--log_format", "json"])
        pods = self.start_all()
        self.wait_for_rounds(20)
        with urllib.request.urlopen(f"http://{self.metrics}/metrics",
                                    timeout=30) as answer:
            self.assertIn("gandem_rounds_total{role=\"generator\"}",
                          answer.read().decode())
        pods[f"{NAME}-coordinator"].process.send_signal(signal.SIGTERM)
        self.assertEqual(pods[f"{NAME}-coordinator"].wait(), STOPPED)
        for log in (self.run_dir / "logs" / "gandem.log",
                    pods[f"{NAME}-generator-0"].output):
            said = [json.loads(line) for line in log.read_text().splitlines()
                    if not line.startswith("gandem_pod: ")]
            self.assertTrue(said, log)

    # kubectl delete pod: the Job starts a new pod during the old one's grace
    # period after SIGTERM.
    def test_a_deleted_worker_is_replaced_and_the_run_goes_on(self):
        self.render("rounds=1000000")
        pods = self.start_all()
        self.wait_for_rounds(20)
        for name in (f"{NAME}-generator-0", f"{NAME}-discriminator-0"):
            pods[name].process.send_signal(signal.SIGTERM)
            before = self.rounds()
            replacement = self.start_pod(name)
            self.assertEqual(pods[name].wait(), STOPPED, pods[name].text())
            # Resumes from the newest checkpoint, at most ten rounds back.
            self.wait_for_rounds(before + 20)
            pods[name] = replacement
        self.assertIsNone(pods[f"{NAME}-coordinator"].process.poll())

    # The coordinator's new pod has another address, but the same name.
    def test_workers_find_a_coordinator_that_has_moved(self):
        hosts = self.folder / "hosts"
        self.under = ["unshare", "--user", "--map-root-user", "--mount", "sh",
                      "-ec", f"mount --bind {hosts} /etc/hosts; exec \"$@\"",
                      "sh"]
        hosts.write_text("127.0.0.1 localhost\n")
        if subprocess.run([*self.under, "true"], check=False,
                          capture_output=True).returncode != 0:
            self.skipTest("no file can be put in the place of /etc/hosts")
        self.coordinator = f"{NAME}-coordinator"
        hosts.write_text(f"127.0.0.1 localhost {self.coordinator}\n")
        self.render("rounds=1000000")
        pods = self.start_all()
        self.wait_for_rounds(20)
        first = pods.pop(f"{NAME}-coordinator")
        first.process.kill()
        first.wait()
        hosts.write_text(f"127.0.0.1 localhost\n127.0.0.2 {self.coordinator}\n")
        before = self.rounds()
        self.start_pod(f"{NAME}-coordinator")
        # More rounds than were in flight.
        self.wait_for_rounds(before + 200)
        for name, pod in pods.items():
            self.assertIsNone(pod.process.poll(), name)

    # kubectl delete -k sends SIGTERM to all pods.
    def test_deleting_all_leaves_a_checkpoint(self):
        self.render("rounds=1000000", "checkpoint.every_rounds=1000000")
        pods = self.start_all()
        self.wait_for_rounds(20)
        for name in sorted(pods, reverse=True):
            pods[name].process.send_signal(signal.SIGTERM)
        for pod in pods.values():
            self.assertEqual(pod.wait(), STOPPED, pod.text()[-4000:])
        step = int(self.newest_checkpoint().name.removeprefix("step-"))
        self.assertGreaterEqual(step, 20)
        # Applied again, the run resumes in new pods.
        self.start_all()
        self.wait_for_rounds(step + 20)

    def test_without_a_coordinator_a_worker_is_done(self):
        self.render("rounds=20")
        worker = self.start_pod(f"{NAME}-generator-0", GANDEM_WAIT_SECONDS="1")
        self.assertEqual(worker.wait(), 0)
        self.assertIn("the run is over", worker.text())

    # With a claim that is not ReadWriteMany, each node has a separate folder.
    def test_a_run_folder_that_is_not_shared_is_named(self):
        self.render("rounds=20")
        self.start_pod(f"{NAME}-coordinator")
        self.volume = self.folder / "of_another_node"
        worker = self.start_pod(f"{NAME}-generator-0",
                                GANDEM_SHARED_SECONDS="1")
        self.assertEqual(worker.wait(), 2, worker.text())
        self.assertIn(f"127.0.0.1:{self.port} answers", worker.text())
        self.assertIn(f"{self.run_dir}/state on this node", worker.text())
        self.assertIn("ReadWriteMany", worker.text())

    def test_a_deleted_worker_that_waits_leaves_at_once(self):
        self.render("rounds=20")
        worker = self.start_pod(f"{NAME}-generator-0")
        wait_for(lambda: "waiting for a coordinator" in worker.text(),
                 "the wait")
        worker.process.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(), STOPPED)

    def test_an_unknown_kind_is_a_usage_error(self):
        pod = Worker([self.programs / "gandem_pod", "pause"],
                     self.folder / "pod.log", {})
        self.pods.append(pod)
        self.assertEqual(pod.wait(), 2)
        self.assertIn("'pause'", pod.text())


if __name__ == "__main__":
    unittest.main()
