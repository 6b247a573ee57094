#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how long a trainer waits for images over a bad link.

    benchmarks/stalls.py --source photos/ [--emulator wanlink] [--s3]

Packs the images into tar shards, serves them in one network namespace and reads
them in another (stall_benchmark) over an emulated link of 100 Mbit/s and 20 ms
+- 15 ms, in four cases:

    jitter   the link without further faults
    outages  no connection for 2 s every 30 s
    drops    a tenth of the rate for 10 s every 60 s
    pause    the trainer stops for --pause seconds, and reading must stop

Each case runs with the controller, then with static settings whose memory equals
the controller's mean memory. Prints a table and compares the results with limits:
the controller stalls at most a quarter as long as the best static setting, and
uses at most 1.1 times data.memory_bytes. Needs root. --s3 serves the shards with
the protocol of S3, including signatures.

Where the kernel has no netem, pass --emulator PROGRAM (see benchmarks/links.py).
"""
import argparse
import hashlib
import http.server
import json
import os
import pathlib
import socketserver
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "integration"))
import file_server  # noqa: E402

ADDRESS, CLIENT, PORT = "10.83.0.2", "10.83.0.1", 8080
# Delay and jitter in ms, loss in %, Mbit/s, queue in KB.
LINK = (20, 15, 0, 100, 1024)
CASES = ("jitter", "outages", "drops", "pause")
FETCHES = (4, 16, 64)


def run(*command):
    subprocess.run(command, check=True)


class Link:
    """Two network namespaces, connected by a link with the properties LINK."""

    def __init__(self, emulator):
        name = f"st{os.getpid()}"
        self.client, self.server = name + "a", name + "b"
        self.processes = []
        for namespace in (self.client, self.server):
            run("ip", "netns", "add", namespace)
            run("ip", "-n", namespace, "link", "set", "lo", "up")
        delay, jitter, loss, rate, queue = LINK
        if emulator:
            # MTU_ONLY turns offload off, so that each loss is one packet.
            self.start([emulator, self.client, CLIENT + "/24", self.server,
                        ADDRESS + "/24", delay, jitter, loss, rate, queue],
                       env={**os.environ, "WAN_DEV": "wan0", "MTU_ONLY": "1"})
        else:
            run("ip", "-n", self.client, "link", "add", "wan0", "type", "veth",
                "peer", "name", "wan0", "netns", self.server)
            for namespace, address in ((self.client, CLIENT),
                                       (self.server, ADDRESS)):
                run("ip", "-n", namespace, "addr", "add", address + "/24",
                    "dev", "wan0")
                run("ip", "-n", namespace, "link", "set", "wan0", "up")
                run("tc", "-n", namespace, "qdisc", "add", "dev", "wan0",
                    "root", "netem", "delay", f"{delay}ms", f"{jitter}ms",
                    "loss", f"{loss}%", "rate", f"{rate}mbit", "limit",
                    str(max(1, queue // 2)))

    def start(self, command, namespace=None, env=None):
        if namespace:
            command = ["ip", "netns", "exec", namespace, *command]
        process = subprocess.Popen([str(x) for x in command], env=env,
                                   stdout=subprocess.PIPE, text=True)
        self.processes.append(process)
        if "ready" not in process.stdout.readline():
            raise RuntimeError(f"{command[0]} did not start")

    def close(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait(10)
        for namespace in (self.client, self.server):
            subprocess.run(["ip", "netns", "del", namespace])


class Handler(file_server.Handler):
    """A file server that hashes each shard only once."""

    def file(self, name):
        body = self.server.files.get(name)
        if body is None:
            return self.answer(404)
        etag = self.server.etags[name]
        if self.headers.get("If-Match", etag) != etag:
            return self.answer(412)
        first, last = (int(x) for x in self.headers["Range"]
                       .removeprefix("bytes=").split("-"))
        last = min(last, len(body) - 1)
        return self.answer(206, body[first:last + 1], ETag=etag,
                           Content_Range=f"bytes {first}-{last}/{len(body)}")


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, folder):
        super().__init__((ADDRESS, PORT), Handler)
        self.files = {path.name: path.read_bytes()
                      for path in pathlib.Path(folder).glob("*.tar")}
        self.etags = {name: f'"{hashlib.md5(body).hexdigest()}"'
                      for name, body in self.files.items()}
        self.page, self.requests, self.busy = 1000, [], 0
        self.lock, self.stopped = threading.Lock(), threading.Event()

    def handle_error(self, request, client_address):
        pass  # the emulated link ends connections


def serve(folder):
    server = Server(folder)
    print("ready", flush=True)
    server.serve_forever()


def disturb(case, link, stop, warm_up):
    """Disturbs the link from the end of the warm-up until `stop` is set, and then
    restores it."""
    def wait(seconds):
        return stop.wait(seconds)

    wait(warm_up)
    while case == "outages" and not wait(28):
        run("ip", "-n", link.client, "link", "set", "wan0", "down")
        wait(2)
        run("ip", "-n", link.client, "link", "set", "wan0", "up")
    queue = ("qdisc", "add", "dev", "wan0", "root", "tbf", "rate", "10mbit",
             "burst", "64kb", "latency", "400ms")
    while case == "drops" and not wait(20):
        run("tc", "-n", link.server, *queue)
        wait(10)
        run("tc", "-n", link.server, "qdisc", "del", "dev", "wan0",
                  "root")
        wait(30)


def measure(options, case, link, url, hold=""):
    command = ["ip", "netns", "exec", link.client,
               options.bin / "stall_benchmark", "--source", url,
               "--size", options.size, "--batch", options.batch,
               "--batch_seconds", options.batch_seconds,
               "--seconds", options.seconds, "--warm_up", options.warm_up,
               "--workers", options.workers,
               "--memory_bytes", options.memory_bytes]
    if hold:
        command += ["--hold", hold]
    if case == "pause":
        command += ["--pause", options.pause]
    environment = {**os.environ, "no_proxy": "*",
                   "AWS_ENDPOINT_URL_S3":
                       f"http://{ADDRESS}:{PORT}",
                   "AWS_REGION": file_server.REGION,
                   "AWS_ACCESS_KEY_ID": file_server.KEY,
                   "AWS_SECRET_ACCESS_KEY": file_server.SECRET}
    stop = threading.Event()
    disturber = threading.Thread(
        target=disturb, args=(case, link, stop, options.warm_up))
    disturber.start()
    try:
        done = subprocess.run(
            [str(x) for x in command], env=environment, check=True,
            stdout=subprocess.PIPE, text=True,
            timeout=options.seconds + options.warm_up + options.pause + 600)
    finally:
        stop.set()
        disturber.join()
    return json.loads(done.stdout.splitlines()[-1])


def show(result):
    print(f"  {result['setting']:16} {result['waited_share']:8.2%} "
          f"{result['waited_seconds']:8.2f} s {result['stalled_seconds']:8.3f} s "
          f"{result['longest_wait_seconds']:7.2f} s "
          f"{result['mean_memory_bytes'] / 1e6:8.1f} "
          f"{result['most_memory_bytes'] / 1e6:8.1f} "
          f"{result['cpu_seconds']:7.1f} s {result['remote_bytes'] / 1e6:8.1f} "
          f"{result['retries']:5}", flush=True)


def verdicts(options, case, found):
    """Returns name -> value, limit and whether the limit holds."""
    ours = found["controller"]
    out = {"memory over data.memory_bytes": (
        ours["most_memory_bytes"] / options.memory_bytes, 1.1)}
    if case == "pause":
        pause = ours["pause"]
        out["cores taken in the pause"] = (
            pause["cpu_seconds"] / pause["seconds"], 0.02)
        out["MB read in the pause"] = (pause["remote_bytes"] / 1e6, 0.1)
    elif found["static"]:
        # The time for taking a ready batch is no stall. A best stall of less than a
        # second counts as a second, so that tiny stalls make no large ratio.
        best = min(r["stalled_seconds"] for r in found["static"])
        out["stall over that of the best static setting"] = (
            ours["stalled_seconds"] / max(best, 1.0), 0.25)
    return {name: {"value": value, "limit": limit, "holds": value <= limit}
            for name, (value, limit) in out.items()}


def measure_case(options, case, link, url):
    print(f"{case}:")
    ours = measure(options, case, link, url)
    show(ours)
    found = {"controller": ours, "static": []}
    if case != "pause":
        # The static settings may read as many samples ahead as fit into the mean
        # memory of the controller, but at least a batch.
        sample = 4 * 3 * options.size ** 2
        ahead = max(options.batch, ours["mean_memory_bytes"] // sample)
        for fetches in FETCHES:
            hold = f"{fetches},{options.workers},{ahead}"
            found["static"].append(measure(options, case, link, url, hold))
            show(found["static"][-1])
    found["verdicts"] = verdicts(options, case, found)
    for name, verdict in found["verdicts"].items():
        print(f"  {name}: {verdict['value']:.2f}, at most {verdict['limit']}: "
              + ("holds" if verdict["holds"] else "DOES NOT HOLD"))
    return found


def shards_of(options, folder):
    """Packs the images and returns the URL of the shards."""
    subprocess.run([str(options.bin / "gandem"), "dataset", "pack",
                    str(options.source), "-o", str(folder),
                    "--shard_bytes", str(options.shard_bytes)],
                   check=True, stdout=subprocess.DEVNULL)
    shards = list(folder.glob("*.tar"))
    last = len(shards) - 1
    total = sum(path.stat().st_size for path in shards)
    if total < 2 * options.memory_bytes:
        raise SystemExit(f"the images have {total} bytes in all, and would stay "
                         "in memory: take twice --memory_bytes or more of them, "
                         "or less memory")
    name = f"shard-{{000000..{last:06}}}.tar" if last else "shard-000000.tar"
    return (f"s3://bucket/{name}" if options.s3
            else f"http://{ADDRESS}:{PORT}/{name}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path,
                        help="folder of images (make_jpegs.py makes some)")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    parser.add_argument("--emulator", metavar="PROGRAM",
                        help="link emulator in place of netem")
    parser.add_argument("--s3", action="store_true",
                        help="serve the shards with the protocol of S3")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--seconds", type=float, default=120)
    # The first images come from anywhere in the shuffle window, so the trainer
    # waits until the whole window is read.
    parser.add_argument("--warm_up", type=float, default=30)
    parser.add_argument("--pause", type=float, default=60)
    parser.add_argument("--size", type=int, default=64,
                        help="height and width of images in pixels")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--batch_seconds", type=float, default=0.3)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--memory_bytes", type=int, default=64 << 20)
    parser.add_argument("--shard_bytes", type=int, default=4 << 20)
    parser.add_argument("--json", default="stalls.json")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.serve)
    if options.source is None:
        parser.error("--source is missing")
    result = {"link": LINK, "server": "s3" if options.s3 else "http",
              "batch_seconds": options.batch_seconds, "cases": {}}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        url = shards_of(options, folder / "shards")
        print("  setting            waited              stalled    longest  MB, "
              "mean MB, most     CPU    MB read retry")
        for case in options.cases.split(","):
            link = Link(options.emulator)
            try:
                link.start([sys.executable, os.path.abspath(__file__),
                            "--serve", folder / "shards"], link.server)
                result["cases"][case] = measure_case(options, case, link, url)
            finally:
                link.close()
    pathlib.Path(options.json).write_text(json.dumps(result, indent=1) + "\n")
    print(f"written: {options.json}")


if __name__ == "__main__":
    main()
