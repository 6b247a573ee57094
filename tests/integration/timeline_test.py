# SPDX-License-Identifier: Apache-2.0
"""The time of real processes in metrics, timelines and a report."""

import collections
import json
import subprocess

import harness

ROUNDS = 60
WORKERS = [(role, rank) for role in ("generator", "discriminator")
           for rank in range(2)]
FLEETS = ["generator.workers=2", "discriminator.workers=2"]
SETS = FLEETS + [f"rounds={ROUNDS}", "checkpoint.every_rounds=20",
                 "samples.every_rounds=30",
                 "generator.sync.divergence_check_interval=10",
                 "discriminator.sync.divergence_check_interval=10"]
MICROSECOND = 1e-6

COMPUTE = {
    "generator": {"forward", "load critic", "judge", "backward", "update",
                  "average", "checkpoint capture", "wait for cache", "wait for feedback",
                  "wait for sync"},
    "discriminator": {"forward real", "forward generated", "backward",
                      "update", "copy critic", "checkpoint capture",
                      "wait for data",
                      "wait for images", "wait for feedback",
                      "wait for sync"}}


def report(*arguments, code=0):
    """Output or error messages of `gandem report`."""
    done = subprocess.run([harness.BIN / "gandem", "report", *arguments],
                          capture_output=True, text=True,
                          timeout=harness.DEADLINE)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


class Timeline:
    """A worker's trace. `end` is the closing bracket that a crash leaves out."""

    def __init__(self, path, end=""):
        self.events = json.loads(path.read_text() + end)
        self.threads = {e["tid"]: e["args"]["name"]
                        for e in self.of("M", "thread_name")}
        self.lanes = collections.defaultdict(list)
        for span in self.of("X"):
            self.lanes[self.threads[span["tid"]]].append(span)

    def of(self, kind, name=None):
        return [e for e in self.events
                if e["ph"] == kind and name in (None, e["name"])]


def end_of(span):
    return span["ts"] + span["dur"]


class TimelineTest(harness.RunTest):
    def check_nesting(self, spans):
        """Any two spans are disjoint or nested."""
        stack = []
        for span in sorted(spans, key=lambda s: (s["ts"], -s["dur"])):
            while stack and end_of(stack[-1]) <= span["ts"]:
                stack.pop()
            if stack:
                self.assertLessEqual(end_of(span), end_of(stack[-1]),
                                     (stack[-1], span))
            stack.append(span)

    def check_timeline(self, timeline, role, rank, records):
        lanes = timeline.lanes
        names = {span["name"] for span in lanes["compute"]}
        self.assertEqual(COMPUTE[role] - names, set())
        self.assertEqual("sample grid" in names,
                         role == "generator" and rank == 0)
        self.assertEqual({span["name"] for span in lanes["collective"]},
                         {"all-reduce", "all-gather"})
        if role == "discriminator":
            self.assertEqual(len(timeline.of("C", "images in the cache")),
                             ROUNDS)
            self.assertIn("decode", lanes)
        self.assertIn("checkpoint", lanes)
        for spans in lanes.values():
            self.check_nesting(spans)
        self.check_sums(lanes, records, f"{role} rounds")

    def check_sums(self, lanes, records, rounds):
        self.assertEqual([span["args"]["round"] for span in lanes[rounds]],
                         list(range(ROUNDS)))
        last = end_of(lanes[rounds][-1])
        sums = collections.Counter()
        spans = lanes["compute"] + lanes[rounds]
        for span in spans:
            if end_of(span) <= last:
                sums[span["name"]] += span["dur"] * MICROSECOND
        rounding = 2 * MICROSECOND * len(spans)
        for name, field in (("round", "round_seconds"),
                            ("wait for images", "wait_images_seconds"),
                            ("wait for feedback", "wait_feedback_seconds"),
                            ("wait for data", "wait_data_seconds"),
                            ("wait for cache", "wait_cache_seconds"),
                            ("wait for sync", "wait_sync_seconds")):
            self.assertAlmostEqual(
                sums[name], sum(r[field] for r in records), delta=rounding,
                msg=name)
        # Hidden time is that of the collective's thread or of waiting for it,
        # and the bytes of the two halves of a sum add up to the whole.
        busy = MICROSECOND * sum(s["dur"] for s in lanes["collective"])
        hidden = sum(r["hidden_sync_seconds"] for r in records)
        exposed = sum(r["wait_sync_seconds"] for r in records)
        self.assertGreater(hidden, 0)
        self.assertGreaterEqual(hidden + exposed, busy - rounding)
        share = {"all-reduce": 1, "all-gather": 0.5}
        self.assertEqual(
            sum(r["sync_bytes"] for r in records),
            sum(share[s["name"]] * s["args"]["bytes"]
                for s in lanes["collective"]))

    def check_report(self, run, records):
        result = json.loads(report(run.dir, "--json"))["runs"][0]
        self.assertEqual(result["nodes"], 1)
        self.assertEqual(result["warm_up_rounds"], 10)
        for role in result["roles"]:
            self.assertEqual(role["workers"], 2)
            self.assertEqual(role["global_batch"], 16)
            self.assertEqual(role["batch_per_worker"], 8)
            self.assertEqual([r["rank"] for r in role["ranks"]], [0, 1])
            for row in [role, *role["ranks"]]:
                parts = [row[f"{part}_percent"] for part in
                         ("compute", "communication", "wait_images",
                          "wait_feedback", "wait_data", "wait_cache")]
                self.assertAlmostEqual(sum(parts), 100)
                self.assertGreater(min(parts), -1e-9)
                self.assertGreater(row["compute_percent"], 1)
                self.assertGreater(row["overlap_percent"], 0)
                self.assertLess(row["overlap_percent"], 100)
            self.assertAlmostEqual(role["images_per_second"] / sum(
                8 * (ROUNDS - 10) / sum(
                    r["round_seconds"]
                    for r in records[role["role"], worker][10:])
                for worker in range(2)), 1)
        # The recipe takes 2048 images.
        discriminator = result["roles"][1]
        self.assertAlmostEqual(
            discriminator["epoch_seconds"] *
            discriminator["images_per_second"], 2048, places=3)
        text = report(run.dir)
        self.assertIn("rounds 10 to 59", text)
        self.assertEqual(text.count("\n  rank "), 4)

    def test_every_worker_says_where_its_time_goes(self):
        run = self.train("run", sets=SETS, flags=["--trace"])
        records = collections.defaultdict(list)
        for line in (run.dir / "metrics.jsonl").read_text().splitlines():
            record = json.loads(line)
            self.assertEqual(record["workers"], 2)
            records[record["role"], record["rank"]].append(record)
        self.assertEqual(sorted(path.name for path in
                                (run.dir / "trace").iterdir()),
                         sorted(f"{role}-{rank}.json"
                                for role, rank in WORKERS))
        processes = set()
        for role, rank in WORKERS:
            with self.subTest(role=role, rank=rank):
                timeline = Timeline(run.dir / "trace" / f"{role}-{rank}.json")
                self.check_timeline(timeline, role, rank, records[role, rank])
                processes.update(e["pid"] for e in timeline.events)
        self.assertEqual(len(processes), 4)
        self.check_report(run, records)
        # The command of docs/fleets.md combines them in one file.
        merged = self.folder / "all.json"
        subprocess.run(
            f"sed -e '/^]/d' -e 's/^\\[/,/' {run.dir}/trace/*.json"
            f" | sed '1s/,/[/' > {merged}", shell=True, check=True)
        self.assertEqual({e["pid"] for e in Timeline(merged, "]").events},
                         processes)

        # Fleets of one worker have nothing to communicate.
        alone = self.train("alone", sets=[f"rounds={ROUNDS}"])
        self.assertFalse((alone.dir / "trace").exists())
        for line in (alone.dir / "metrics.jsonl").read_text().splitlines():
            record = json.loads(line)
            self.assertEqual(record["workers"], 1)
            for field in ("wait_sync_seconds", "hidden_sync_seconds",
                          "sync_bytes"):
                self.assertEqual(record[field], 0)
        both = json.loads(report(alone.dir, run.dir, "--json"))["runs"]
        self.assertEqual([r["scaling"] for r in both], ["-", "S"])
        table = report(alone.dir, run.dir).splitlines()
        self.assertIn("1+1", table[1])
        self.assertIn("2+2", table[2])

    def test_a_killed_worker_leaves_its_timeline(self):
        marker = self.folder / "killed"
        run = self.train("killed-run", sets=SETS, flags=["--trace"], env={
            "GANDEM_FAILPOINT": f"generator.after_update:30:{marker}"})
        self.assertTrue(marker.exists(), "the point was not passed")
        before = list((run.dir / "trace").glob("generator-*.1.json"))
        self.assertEqual(len(before), 1)
        first = before[0]
        again = first.with_name(first.name.replace(".1.", "."))
        self.assertNotIn("\n]", first.read_text())
        Timeline(first, "]")
        epochs = [e["args"]["epoch"]
                  for e in Timeline(again).of("i", "run epoch")]
        self.assertEqual(epochs, [2])
        # The surviving worker has both epochs in one file.
        survivor = Timeline(run.dir / "trace" / "discriminator-0.json")
        self.assertEqual([e["args"]["epoch"]
                          for e in survivor.of("i", "run epoch")], [1, 2])

    def test_workers_started_by_hand_are_told_the_folder(self):
        run = self.start("by-hand", flags=["--external", "--trace"])
        harness.wait_for(lambda: "discriminator_worker" in run.text(),
                         "the commands")
        for role in ("generator", "discriminator"):
            run.start_worker(role, flags=["--trace", self.folder / role])
            self.assertIn(f"--trace {run.dir}/trace", run.text())
        self.assertEqual(run.wait(), 0, run.text()[-4000:])
        for worker in run.by_hand:
            self.assertEqual(worker.wait(), 0, worker.text())
        for role in ("generator", "discriminator"):
            Timeline(self.folder / role / f"{role}-0.json")

    def test_what_cannot_be_reported_is_said(self):
        self.assertIn("holds no run", report(self.folder / "none", code=2))
        run = self.start("no-metrics", flags=["--external"])
        run.control_address()
        self.assertIn("no round is done", report(run.dir, code=2))


if __name__ == "__main__":
    harness.main()
