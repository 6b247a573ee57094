#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Images/s and bytes of a generator and a discriminator on two hosts.

    benchmarks/links.py --bin build/bin --python VENV/bin/python \\
        [--emulator PROGRAM]

Each host is a network namespace with one thread, joined by an emulated link of
1 Gbit/s and 20 ms (a round trip of 40), and once by one that costs nothing.
sngan_64 with a discriminator of 20 million parameters: SNAPSHOT, IMAGE_GRADIENT
and FUSED, and PyTorch with both networks data-parallel. Needs root.

The delay is the kernel's netem; where the kernel has none, PROGRAM joins the
namespaces: PROGRAM NS_A ADDRESS_A/LEN NS_B ADDRESS_B/LEN DELAY_MS JITTER_MS
LOSS_PERCENT RATE_MBIT QUEUE_KB, which says "ready" and ends on SIGTERM.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import throughput

# delay ms, Mbit/s
LINKS = {"no link": (0, 0), "1 Gbit/s, 20 ms": (20, 1000)}
HOSTS = ("10.87.0.1", "10.87.0.2")
BATCH = 16
ROUNDS = 6
NETWORK = ["--network", "sngan", "--size", 64, "--width", 16,
           "--discriminator_width", 66, "--thick", "--noise_dim", 128,
           "--loss", "HINGE"]
SETS = ["schedule.discriminator_steps_per_round=1",
        "schedule.image_source=REUSED", f"generator.batch_size={BATCH}",
        f"discriminator.batch_size={BATCH}",
        "discriminator.network.sngan.thin=false",
        "discriminator.network.sngan.width=66",
        "generator.network.sngan.width=16", "checkpoint.every_rounds=0",
        "samples.every_rounds=0",
        f"rounds={throughput.WARM_UP + ROUNDS}"]


def mode(feedback, lag):
    return [f"schedule.feedback={feedback}", f"schedule.lag={lag}"]


MODES = {f"{feedback}, lag {lag}": mode(feedback, lag)
         for feedback, lags in (("SNAPSHOT", (1, 2, 3)),
                                ("IMAGE_GRADIENT", (1, 2, 3)), ("FUSED", (1,)))
         for lag in lags}


class TwoHosts:
    """Ends all that was started in it, and removes itself."""

    def __init__(self, delay, rate, emulator):
        self.names = [f"gl{os.getpid()}{letter}" for letter in "ab"]
        self.started = []
        for name in self.names:
            self.ip("netns", "add", name)
            self.ip("-n", name, "link", "set", "lo", "up")
        a, b = self.names
        if delay and emulator:
            process = self.spawn(
                [emulator, a, HOSTS[0] + "/24", b, HOSTS[1] + "/24", delay, 0,
                 0, rate, 4096], env={**os.environ, "WAN_DEV": "wan0"})
            while "ready" not in process.stdout.readline():
                if process.poll() is not None:
                    raise RuntimeError(f"{emulator} ended")
            return
        self.ip("-n", a, "link", "add", "wan0", "type", "veth", "peer", "name",
                "wan0", "netns", b)
        for name, address in zip(self.names, HOSTS):
            self.ip("-n", name, "addr", "add", address + "/24", "dev", "wan0")
            self.ip("-n", name, "link", "set", "wan0", "up")
            if delay:
                subprocess.run(
                    ["tc", "-n", name, "qdisc", "add", "dev", "wan0", "root",
                     "netem", "delay", f"{delay}ms", "rate", f"{rate}mbit",
                     "limit", "10000"], check=True)

    @staticmethod
    def ip(*words):
        subprocess.run(["ip", *words], check=True)

    def spawn(self, command, **more):
        process = subprocess.Popen([str(part) for part in command],
                                   stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, text=True, **more)
        self.started.append(process)
        return process

    def on(self, host, *command):
        return self.spawn(["ip", "netns", "exec", self.names[host],
                           "taskset", "-c", host, *command])

    def bytes_sent(self):
        text = subprocess.run(
            ["ip", "netns", "exec", self.names[0], "cat", "/proc/net/dev"],
            check=True, capture_output=True, text=True).stdout
        for line in text.splitlines():
            if line.strip().startswith("wan0:"):
                fields = line.split(":")[1].split()
                return int(fields[0]) + int(fields[8])
        raise RuntimeError("no wan0")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.started):
            if process.poll() is None:
                process.terminate()
                process.wait(30)
        for name in self.names:
            self.ip("netns", "del", name)


def finish(process, seconds=900):
    output, _ = process.communicate(timeout=seconds)
    if process.returncode:
        raise RuntimeError(f"exit code {process.returncode}: {output[-2000:]}")
    return output


def run_gandem(hosts, binaries, sets):
    """Images/s, bytes of a round over the link, waits."""
    with tempfile.TemporaryDirectory(prefix="gandem-bench-") as folder:
        run_dir = pathlib.Path(folder, "run")
        command = [binaries / "gandem", "train",
                   throughput.SOURCE / "recipes" / "sngan_64.textproto",
                   "--run_dir", run_dir, "--external", "--listen",
                   f"{HOSTS[0]}:7300", "--insecure_network"]
        for assignment in [*SETS, *sets]:
            command += ["--set", assignment]
        before = hosts.bytes_sent()
        coordinator = hosts.on(0, *command)
        deadline = time.monotonic() + 60
        while not (run_dir / "state" / "token").exists():
            if time.monotonic() > deadline or coordinator.poll() is not None:
                raise RuntimeError("gandem train did not start")
            time.sleep(0.1)
        shared = ["--control", f"{HOSTS[0]}:7300", "--rank", 0,
                  "--insecure_network", "--run_dir", run_dir]
        workers = [
            hosts.on(0, binaries / "generator_worker", *shared),
            hosts.on(1, binaries / "discriminator_worker", *shared, "--listen",
                     f"{HOSTS[1]}:7301")]
        finish(coordinator)
        for worker in workers:
            finish(worker)
        lines = (run_dir / "metrics.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    rounds_per_second, waits = throughput.speed_and_waits(records)
    rounds = throughput.WARM_UP + ROUNDS
    return (BATCH * rounds_per_second,
            (hosts.bytes_sent() - before) / rounds,
            [sum(waits[role].values())
             for role in ("generator", "discriminator")])


def run_pytorch(hosts, python):
    before = hosts.bytes_sent()
    command = [python, throughput.SOURCE / "benchmarks" / "pytorch_ddp.py",
               "--batch", BATCH, "--rounds", ROUNDS, "--warm_up",
               throughput.WARM_UP, "--master", f"{HOSTS[0]}:7302", *NETWORK]
    ranks = [hosts.on(rank, "env", "GLOO_SOCKET_IFNAME=wan0", *command,
                      "--rank", rank) for rank in range(2)]
    speed = float(finish(ranks[0]).split()[-1])
    finish(ranks[1])
    rounds = throughput.WARM_UP + ROUNDS
    return speed, (hosts.bytes_sent() - before) / rounds, None


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path,
                        default=throughput.SOURCE / "build" / "bin")
    parser.add_argument("--python", help="a Python that has torch")
    parser.add_argument("--emulator")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", default="links.json")
    args = parser.parse_args()
    runs = {name: (lambda hosts, sets=sets: run_gandem(hosts, args.bin, sets))
            for name, sets in MODES.items()}
    if args.python:
        runs["PyTorch DDP"] = lambda hosts: run_pytorch(hosts, args.python)
    results = {}
    for _ in range(args.repetitions):
        for name, run in runs.items():
            for link, (delay, rate) in LINKS.items():
                with TwoHosts(delay, rate, args.emulator) as hosts:
                    results.setdefault(name, {}).setdefault(link, []).append(
                        run(hosts))
                print(f"{name}, {link}: {results[name][link][-1]}", flush=True)
    print("\n| trainer | images/s without a link | with it | / without "
          "| MB a round | G waits | D waits |\n" + "|---" * 7 + "|")
    for name, by_link in results.items():
        bare, far = (statistics.median(r[0] for r in by_link[link])
                     for link in LINKS)
        _, size, waits = by_link[list(LINKS)[1]][-1]
        print(f"| {name} | {bare:.2f} | {far:.2f} | {far / bare:.2f} "
              f"| {size / 1e6:.1f} | "
              + " | ".join(f"{wait:.0%}" for wait in waits or ())
              + (" |" if waits else " | |"))
    pathlib.Path(args.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
