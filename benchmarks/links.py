#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures images/s and traffic of a generator and a discriminator on two hosts.

    benchmarks/links.py --bin build/bin --python VENV/bin/python \\
        [--emulator PROGRAM]

Each host is a network namespace with one thread. Measures with an emulated link
of 1 Gbit/s and 20 ms one-way delay, and without delay and limit. Trains sngan_64
with a discriminator of 20 million parameters, with feedback SNAPSHOT,
IMAGE_GRADIENT and FUSED, and in PyTorch with data parallelism. Needs root.

With --plan [--recipe NAME] [--profile FILE], measures SNAPSHOT with lag 0, 1 and
3 and the best candidate of `gandem plan` for the link. If this candidate is one
process on one host, also measures the best candidate of two hosts. Compares each
run with the prediction of `gandem plan`.

The kernel's netem emulates the link. Where the kernel has no netem, pass
--emulator PROGRAM, which connects the namespaces, prints "ready" and ends on
SIGTERM: PROGRAM NS_A ADDRESS_A/LEN NS_B ADDRESS_B/LEN DELAY_MS JITTER_MS
LOSS_PERCENT RATE_MBIT QUEUE_KB.
"""

import json
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

import plan_accuracy
import throughput

# Name -> (delay in ms, Mbit/s); 0: neither delay nor limit.
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
        "generator.network.sngan.width=16",
        f"rounds={throughput.WARM_UP + ROUNDS}"]


def mode(feedback, lag):
    return [f"schedule.feedback={feedback}", f"schedule.lag={lag}"]


MODES = {f"{feedback}, lag {lag}": mode(feedback, lag)
         for feedback, lags in (("SNAPSHOT", (1, 2, 3)),
                                ("IMAGE_GRADIENT", (1, 2, 3)), ("FUSED", (1,)))
         for lag in lags}


class TwoHosts:
    """Two network namespaces. On exit, ends their processes and removes them."""

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


# Workers as (role, rank, host).
ONE_EACH = [("generator", 0, 0), ("discriminator", 0, 1)]


def run_gandem(hosts, binaries, what, sets, workers=tuple(ONE_EACH)):
    """Returns images/s, bytes per round on the link, and the waiting shares.

    `what` is the name of a recipe, or the arguments that select a plan."""
    with tempfile.TemporaryDirectory(prefix="gandem-bench-") as folder:
        run_dir = pathlib.Path(folder, "run")
        flags = ["--external", "--listen", f"{HOSTS[0]}:7300",
                 "--insecure_network"] if workers else []
        command = throughput.train_command(
            binaries, what if isinstance(what, str) else "", run_dir, sets, flags)
        if not isinstance(what, str):  # in place of the recipe
            command[2:3] = what
        before = hosts.bytes_sent()
        coordinator = hosts.on(0, *command)
        deadline = time.monotonic() + 300
        while not (run_dir / "state" / "token").exists():
            if coordinator.poll() is not None:
                finish(coordinator)
            if time.monotonic() > deadline:
                raise RuntimeError("gandem train did not start")
            time.sleep(0.1)
        started = []
        for role, rank, host in workers:
            listen = ["--fleet_listen", f"{HOSTS[host]}:0"]
            if role == "discriminator":
                listen += ["--listen", f"{HOSTS[host]}:0"]
            started.append(hosts.on(
                host, binaries / f"{role}_worker", "--control",
                f"{HOSTS[0]}:7300", "--rank", rank, "--insecure_network",
                "--run_dir", run_dir, *listen))
        finish(coordinator)
        for worker in started:
            finish(worker)
        rounds_per_second, waits = throughput.speed_and_waits(
            throughput.records_of(run_dir))
        batch = int(re.search(r"^generator \{.*?^  batch_size: (\d+)",
                              (run_dir / "config.textproto").read_text(),
                              flags=re.M | re.S)[1])
    rounds = throughput.WARM_UP + ROUNDS
    return (batch * rounds_per_second,
            (hosts.bytes_sent() - before) / rounds,
            [sum(waits[role].values())
             for role in ("generator", "discriminator")])


def placement(candidate):
    """Returns a candidate's workers as (role, rank, host); empty: one process."""
    workers = []
    for block in re.findall(r"^    workers \{(.*?)^    \}", candidate,
                            flags=re.M | re.S):
        fields = dict(re.findall(r"(\w+): \"?(\w+)", block))
        if fields["role"] == "COLOCATED":
            return []
        workers.append((fields["role"].lower(), int(fields.get("rank", 0)),
                        "ab".index(fields["host"])))
    return workers


class Planner:
    """Runs `gandem plan` of a recipe for the two hosts."""

    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.sets = [*(SETS if args.recipe == "sngan_64" else []),
                     *throughput.of_both_roles("threads=1")]
        self.recipe = (throughput.SOURCE / "recipes" /
                       f"{args.recipe}.textproto")
        self.profile = args.profile or folder / "profile.textproto"
        if not args.profile:
            self.gandem("profile", self.sets, "-o", self.profile)

    def gandem(self, command, sets, *flags):
        words = [self.args.bin / "gandem", command, self.recipe, *flags]
        for assignment in sets:
            words += ["--set", assignment]
        subprocess.run([str(word) for word in words], check=True, timeout=1200,
                       stdout=subprocess.DEVNULL)

    def plan(self, link, name, sets, *flags):
        """Returns the text and the path of a plan for the hosts and this link."""
        delay, rate = LINKS[link]
        # Without an emulated link, the bandwidth is practically unlimited.
        speed = rate * 125000 if rate else 10**12
        hosts = self.folder / "hosts.textproto"
        hosts.write_text("".join(
            f'hosts {{ name: "{host}" cores: 1 memory_bytes: {4 << 30} }}\n'
            for host in "ab") + f"link {{ bytes_per_second: {speed} "
            f"latency_seconds: {delay / 1000} }}\n")
        path = self.folder / f"{name}.textproto"
        self.gandem("plan", [*self.sets, *sets], "--profile", self.profile,
                    "--hosts", hosts, "-o", path, *flags)
        return path.read_text(), path

    def predict(self, sets):
        """Returns the predicted images/s of the recipe with `sets`, by link."""
        return {link: images_per_second(
                    self.plan(link, "asked", sets, "--as_it_is")[0])
                for link in LINKS}

    def proposals(self):
        """Returns the candidates to measure for the emulated link: name ->
        (arguments, workers, predicted images/s by link)."""
        link = list(LINKS)[1]
        text, path = self.plan(link, "plan", [])
        candidates = ("\n" + text).split("\ncandidates {")[1:]
        found = {}
        for number, candidate in enumerate(candidates, 1):
            workers = placement(candidate)
            name = "plan of two hosts" if workers else "plan of one process"
            if number == 1 or workers and name not in found:
                found.setdefault(name, (
                    ["--plan", path, "--candidate", number], workers,
                    # The link does not affect a single process.
                    {reached: images_per_second(candidate)
                     for reached in ([link] if workers else LINKS)}))
            if "plan of two hosts" in found:
                break
        return found


def images_per_second(plan):
    return plan_accuracy.prediction_of(plan)["images_per_second"]


def planned_runs(args, folder):
    """Returns name -> run, and name -> predicted images/s by link."""
    planner = Planner(args, folder)
    rounds = [f"rounds={throughput.WARM_UP + ROUNDS}"]
    runs, predicted = {}, {}
    for lag in (0, 1, 3):
        name, sets = f"lag {lag}", [*rounds, *mode("SNAPSHOT", lag)]
        predicted[name] = planner.predict(sets)
        runs[name] = lambda hosts, sets=sets: run_gandem(
            hosts, args.bin, args.recipe, [*planner.sets, *sets])
    for name, (what, workers, speeds) in planner.proposals().items():
        predicted[name] = speeds
        runs[name] = lambda hosts, what=what, workers=workers: run_gandem(
            hosts, args.bin, what, rounds, workers)
    return runs, predicted


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
    parser = throughput.arguments(__doc__, "links.json", 3)
    parser.add_argument("--python", help="Python interpreter with torch")
    parser.add_argument("--emulator", metavar="PROGRAM",
                        help="link emulator in place of netem")
    parser.add_argument("--plan", action="store_true",
                        help="measure the candidates of `gandem plan`")
    parser.add_argument("--recipe", default="sngan_64", help="with --plan")
    parser.add_argument("--profile", help="with --plan: an existing profile")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gandem-links-") as folder:
        measure(args, pathlib.Path(folder))


def measure(args, folder):
    runs, predicted = planned_runs(args, folder) if args.plan else ({
        name: lambda hosts, sets=sets: run_gandem(
            hosts, args.bin, "sngan_64", [*SETS, *sets])
        for name, sets in MODES.items()}, {})
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
    print_rows(results, predicted)
    pathlib.Path(args.json).write_text(json.dumps(
        {**results, "predicted": predicted} if predicted else results,
        indent=1) + "\n")


def predicted_text(predicted, measured):
    if predicted is None:
        return ""
    error = plan_accuracy.relative_error(predicted, measured)
    return f"{predicted:.2f} ({error:+.1%})"


def print_rows(results, predicted):
    headings = ["trainer", "images/s without a link", "with it", "/ without",
                "MB a round", "G waits", "D waits"]
    if predicted:
        headings += ["predicted without (error)", "predicted with it (error)"]
    print(f"\n| {' | '.join(headings)} |\n" + "|---" * len(headings) + "|")
    for name, by_link in results.items():
        speeds = {link: statistics.median(run[0] for run in by_link[link])
                  for link in LINKS}
        bare, far = speeds.values()
        _, size, waits = by_link[list(LINKS)[1]][-1]
        cells = [name, f"{bare:.2f}", f"{far:.2f}", f"{far / bare:.2f}",
                 f"{size / 1e6:.1f}",
                 *([f"{wait:.0%}" for wait in waits] if waits else ["", ""])]
        if predicted:
            cells += [predicted_text(predicted.get(name, {}).get(link), speed)
                      for link, speed in speeds.items()]
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
