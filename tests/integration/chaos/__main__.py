# SPDX-License-Identifier: Apache-2.0
"""The program behind scripts/chaos.sh."""

import argparse
import pathlib
import shutil
import signal
import sys
import tempfile
import time

import harness
from chaos import recovery, sandbox, stage, table

DRAWN_RUNS = 108  # over 300 faults together with those of the table
MOST_FAULTS = 3


def parse_options():
    parser = argparse.ArgumentParser(
        prog="chaos.sh", description="Injects faults in runs. Without arguments: "
        "plays the whole table and the random runs of seed 1, then measures the "
        "recovery time after a death.")
    parser.add_argument(
        "pattern", nargs="*",
        help="play only lines of the table that contain one of these")
    parser.add_argument("--play", metavar="LINE", action="append", default=[],
                        help="play this line (tests/integration/chaos/table.py)")
    parser.add_argument("--seed", type=int,
                        help="play only random runs from this seed")
    parser.add_argument("--runs", type=int, default=DRAWN_RUNS,
                        help="number of random runs (default: %(default)s)")
    parser.add_argument("--faults", type=int, default=MOST_FAULTS,
                        help="maximum number of faults in a random run "
                        "(default: %(default)s)")
    parser.add_argument("--recovery", action="store_true",
                        help="measure only the recovery time")
    parser.add_argument("--list", action="store_true",
                        help="print the lines without playing them")
    parser.add_argument("--jobs", type=int, default=2,
                        help="number of parallel runs (default: 2)")
    parser.add_argument("--markdown", metavar="FILE",
                        help="also write the results to this file")
    return parser.parse_args()


def chosen_cases(options):
    if options.recovery:
        return []
    if options.play or options.seed is not None:
        try:
            return [table.parse_case(line) for line in options.play] + (
                [] if options.seed is None else
                table.draw(options.seed, options.runs, options.faults))
        except ValueError as error:
            sys.exit(f"error: {error}")
    cases = table.parse(table.FAULTS)
    if options.pattern:
        return [case for case in cases
                if any(part in str(case) for part in options.pattern)]
    return cases + table.draw(1, options.runs, options.faults)


def play(cases, folder, jobs):
    """Returns the results and the seconds."""
    def report(result):
        print(f"{result.word:7} {result.seconds:5.1f} s  {result.case}",
              flush=True)
        for text in (result.problem, result.skipped):
            if text:
                print("  | " + text.replace("\n", "\n  | "), flush=True)
    start = time.monotonic()
    results = stage.Stage(folder, jobs).play(cases, report)
    return results, time.monotonic() - start


def play_all(options, cases, folder):
    """Plays, prints the results and returns the exit code."""
    texts, failed = [], []
    if cases:
        results, seconds = play(cases, folder, options.jobs)
        failed = [result for result in results if result.problem]
        texts.append(stage.summary(results, seconds))
    is_all = not (options.pattern or options.play or options.seed is not None)
    if options.recovery or is_all:
        texts.append(recovery.table(recovery.measure_all(folder)))
    text = "\n\n".join(texts)
    print(f"\n{text}")
    if options.markdown:
        pathlib.Path(options.markdown).write_text(text + "\n")
    for result in failed:
        print(f"failed: {result.case}")
    if failed:
        print(f"their runs are in {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


def main():
    options = parse_options()
    if not (harness.BIN / "gandem").exists():
        sys.exit(f"no programs in {harness.BIN}: run scripts/build.sh")
    cases = chosen_cases(options)
    if options.list:
        print("\n".join(map(str, cases)))
        return 0
    sandbox.enter()
    sandbox.set_up()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # like Ctrl-C
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gandem-chaos-"))
    try:
        return play_all(options, cases, folder)
    except KeyboardInterrupt:
        shutil.rmtree(folder, ignore_errors=True)
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main())
