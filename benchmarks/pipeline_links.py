#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what reading images over a bad link is like, for `gandem simulate
pipeline`: pipeline_links.py KIND -o FILE.trace [--seconds 45] [--emulator PROGRAM]

Two network namespaces are joined by an emulated link. A server in one answers
range reads; 24 connections in the other fetch images of some 40 KB as fast as
they come, and each fetch is written down. Needs root. Everything that it makes
goes when it ends.

The delay is the kernel's netem; where the kernel has none, PROGRAM joins the
namespaces: PROGRAM NS_A ADDRESS_A/LEN NS_B ADDRESS_B/LEN DELAY_MS JITTER_MS
LOSS_PERCENT RATE_MBIT QUEUE_KB, which says "ready" and ends on SIGTERM.
"""
import argparse
import http.client
import http.server
import os
import random
import subprocess
import sys
import threading
import time

# delay ms, jitter ms, loss %, Mbit/s, queue KB; and what happens meanwhile.
KINDS = {
    "loss": (15, 5, 1.0, 40, 256),
    "unplugged": (25, 5, 0, 30, 512),
    "neighbors": (10, 3, 0, 30, 256),
}
CONNECTIONS = 24
IMAGE_BYTES = 40_000
ADDRESS, CLIENT, PORT = "10.83.0.2", "10.83.0.1", 8080
JOB = (f"job batch=16 sample_bytes=49152 stored_bytes={IMAGE_BYTES} "
       "work_seconds=0.003 cores=4 trainer_cores=2")


class Ranges(http.server.BaseHTTPRequestHandler):
    """Answers any range with that many bytes."""
    protocol_version = "HTTP/1.1"
    content = os.urandom(1 << 20)

    def do_GET(self):
        first, last = (int(x) for x in
                       self.headers["Range"].removeprefix("bytes=").split("-"))
        self.send_response(206)
        self.send_header("Content-Length", str(last - first + 1))
        self.end_headers()
        left = last - first + 1
        while left > 0:
            self.wfile.write(self.content[:left])
            left -= len(self.content[:left])

    def log_message(self, *_):
        pass


def serve():
    server = http.server.ThreadingHTTPServer((ADDRESS, PORT), Ranges)
    server.daemon_threads = True
    print("ready", flush=True)
    server.serve_forever()


def fetch(connection, size):
    connection.request("GET", "/", headers={"Range": f"bytes=0-{size - 1}"})
    return len(connection.getresponse().read())


def record(seconds, lines):
    """In the client's namespace."""
    begin = time.monotonic()

    def fetch_all(number):
        draws = random.Random(number)
        connection = http.client.HTTPConnection(ADDRESS, PORT, timeout=20)
        while time.monotonic() - begin < seconds:
            start = time.monotonic()
            try:
                size = fetch(connection, int(IMAGE_BYTES * (.5 + draws.random())))
            except OSError:
                connection.close()
                continue
            lines.append((start - begin, time.monotonic() - start, size))

    threads = [threading.Thread(target=fetch_all, args=(i,))
               for i in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + 60)


def bulk(seconds):
    """A neighbor's download: large ranges on six connections."""
    end = time.monotonic() + seconds

    def load():
        connection = http.client.HTTPConnection(ADDRESS, PORT, timeout=60)
        while time.monotonic() < end:
            try:
                fetch(connection, 1 << 20)
            except OSError:
                connection.close()

    threads = [threading.Thread(target=load) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + 60)


def run(*command):
    subprocess.run(command, check=True)


class Link:
    """`link`: as in KINDS."""

    def __init__(self, link, emulator):
        name = f"pl{os.getpid()}"
        self.client, self.server = name + "a", name + "b"
        self.processes = []
        for namespace in (self.client, self.server):
            run("ip", "netns", "add", namespace)
            run("ip", "-n", namespace, "link", "set", "lo", "up")
        delay, jitter, loss, rate, queue = link
        if emulator:
            # Without offload, so that a lost packet is one packet.
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

    def start(self, command, namespace=None, env=None, wait=True):
        if namespace:
            command = ["ip", "netns", "exec", namespace, *command]
        process = subprocess.Popen([str(x) for x in command], env=env,
                                   stdout=subprocess.PIPE, text=True)
        self.processes.append(process)
        if wait and "ready" not in process.stdout.readline():
            raise RuntimeError(f"{command[0]} did not start")
        return process

    def close(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait(10)
        for namespace in (self.client, self.server):
            subprocess.run(["ip", "netns", "del", namespace])


def disturb(kind, link, begin, seconds):
    """What happens to the link; the times are fixed."""
    script = [sys.executable, os.path.abspath(__file__)]
    if kind == "unplugged":
        cuts = [(9, 1.2), (17, 3.5), (31, 0.6), (38, 2.4)]
        for at, length in cuts:
            if at > seconds:
                return
            time.sleep(max(0, begin + at - time.monotonic()))
            run("ip", "-n", link.client, "link", "set", "wan0", "down")
            time.sleep(length)
            run("ip", "-n", link.client, "link", "set", "wan0", "up")
    if kind == "neighbors":
        for at, length in [(8, 7), (24, 12)]:
            time.sleep(max(0, begin + at - time.monotonic()))
            link.start([*script, "--bulk", length], link.client, wait=False)


def write(path, kind, seconds, lines):
    bytes_per_second = sum(size for _, _, size in lines) / seconds
    with open(path, "w") as out:
        print("gandem_pipeline_trace 1", file=out)
        print(f"# benchmarks/pipeline_links.py {kind}: recorded, "
              f"{CONNECTIONS} connections; delay ms, jitter ms, loss %, "
              f"Mbit/s, queue KB: {KINDS[kind]}", file=out)
        print(JOB, file=out)
        # A trainer that wants half of what came, then nearly all, then half.
        for part, share in enumerate((.5, .85, .5)):
            batch_seconds = 16 * IMAGE_BYTES / (share * bytes_per_second)
            print(f"demand {part * seconds / 3:g} {batch_seconds:.4f}", file=out)
        for at, length, size in sorted(lines):
            if at + length <= seconds:
                print(f"fetch {at:.3f} {length:.3f} {size}", file=out)
        print(f"end {seconds:g}", file=out)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", nargs="?", choices=KINDS)
    parser.add_argument("-o", "--output")
    parser.add_argument("--seconds", type=float, default=45)
    parser.add_argument("--emulator")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--bulk", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--record", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve()
    if options.bulk:
        return bulk(options.bulk)
    if options.record:
        lines = []
        print("ready", flush=True)
        record(options.seconds, lines)
        return write(options.record, options.kind, options.seconds, lines)
    if options.kind is None or options.output is None:
        parser.error("KIND and -o are missing")
    link = Link(KINDS[options.kind], options.emulator)
    try:
        script = [sys.executable, os.path.abspath(__file__)]
        link.start([*script, "--serve"], link.server)
        recorder = link.start(
            [*script, options.kind, "--record", options.output, "--seconds",
             options.seconds], link.client)
        disturb(options.kind, link, time.monotonic(), options.seconds)
        recorder.wait(options.seconds + 120)
    finally:
        link.close()


if __name__ == "__main__":
    main()
