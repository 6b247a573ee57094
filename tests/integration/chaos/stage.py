# SPDX-License-Identifier: Apache-2.0
"""Plays cases in parallel and summarizes the results."""

import collections
import concurrent.futures
import contextlib
import pathlib
import shutil
import time
import traceback

from chaos.checks import check
from chaos.play import Play
from chaos.sandbox import Unavailable
from chaos.setups import FEEDBACK


class Result(collections.namedtuple(
        "Result", "case seconds happened problem skipped")):
    """Result of a case. `problem` is empty on success, `skipped` if the machine
    could play the case."""

    @property
    def word(self):
        return "FAILED" if self.problem else \
            "skipped" if self.skipped else "ok"


class Stage:
    """Plays cases; the undisturbed run of each setup is made only once."""

    def __init__(self, folder, jobs=2):
        self.folder = pathlib.Path(folder)
        self.jobs = jobs
        self.is_interrupted = False
        self.plays = set()  # running plays

    def play(self, cases, report):
        """Calls report(result) in any order; returns the results in the order
        of `cases`. An exception (Ctrl-C) ends all runs at once."""
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            try:
                return self._play(pool, cases, report)
            except BaseException:
                self.is_interrupted = True
                pool.shutdown(wait=False, cancel_futures=True)
                for play in list(self.plays):
                    play.close()
                raise

    def _play(self, pool, cases, report):
        undisturbed = {
            case.setup._replace(mode=_bits_of(case.setup)): None
            for case in cases if case.setup.is_exact}
        undisturbed = dict(zip(undisturbed,
                               pool.map(self._undisturbed, undisturbed)))
        playing = [
            pool.submit(self._one, number, case, undisturbed.get(
                case.setup._replace(mode=_bits_of(case.setup))))
            for number, case in enumerate(cases)]
        for done in concurrent.futures.as_completed(playing):
            report(done.result())
        return [done.result() for done in playing]

    @contextlib.contextmanager
    def _on(self, *arguments):
        """A Play in self.plays while it runs."""
        play = Play(*arguments)
        self.plays.add(play)
        try:
            if self.is_interrupted:
                raise AssertionError("interrupted")
            yield play
        finally:
            self.plays.discard(play)
            play.close()

    def _undisturbed(self, setup):
        with self._on(self.folder / str(setup).replace("/", "-"),
                      setup) as play:
            return play.run().final_state()

    def _one(self, number, case, expected):
        start = time.monotonic()
        folder = self.folder / str(number)
        problem, skipped, happened = "", "", []
        try:
            with self._on(folder, case.setup, case.faults) as play:
                try:
                    run = play.run()
                    if expected is not None:
                        check(run.final_state() == expected, "other bits", run)
                finally:
                    happened = play.happened()
        except Unavailable as reason:
            skipped = str(reason)
        except AssertionError as error:
            problem = str(error) or "an assertion failed"
        except Exception:  # a bug in the test is a failure, too
            problem = traceback.format_exc()
        if not problem:
            shutil.rmtree(folder)
        return Result(case, time.monotonic() - start, happened, problem,
                      skipped)


def _bits_of(setup):
    """The setup's class of equal bits; the transport changes no bit."""
    return setup.mode if setup.mode in FEEDBACK else "snapshot"


def _table(results, row_of, column_of):
    """A table in Markdown: successful faults of all faults that happened;
    skipped runs do not count."""
    counts = {}
    for result in results:
        for fault in result.happened if not result.skipped else ():
            key = row_of(result.case, fault), column_of(result.case, fault)
            good, all_of_it = counts.get(key, (0, 0))
            counts[key] = (good + (not result.problem), all_of_it + 1)
    rows = list(dict.fromkeys(row for row, _ in counts))
    columns = list(dict.fromkeys(column for _, column in counts))
    lines = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1)
             + "|"]
    for row in rows:
        cells = ["{} of {}".format(*counts[row, column])
                 if (row, column) in counts else "" for column in columns]
        lines.append(f"| {row} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def summary(results, seconds):
    played = [result for result in results if not result.skipped]
    failed = [result for result in played if result.problem]
    happened = sum(len(result.happened) for result in played)
    text = (f"{happened} faults in {len(played)} runs in {seconds:.0f} s; "
            f"{len(failed)} runs failed")
    skipped = collections.Counter(
        result.skipped for result in results if result.skipped)
    for reason, number in skipped.items():
        text += f"; {number} skipped: {reason}"
    kinds = _table(results, lambda _, fault: fault.family,
                   lambda case, _: case.setup.shape)
    places = _table(results, lambda _, fault: fault.family,
                    lambda _, fault: fault.place)
    return f"{text}.\n\n{kinds}\n\n{places}"
