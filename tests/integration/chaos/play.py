# SPDX-License-Identifier: Apache-2.0
"""Plays one run with its faults."""

import contextlib
import itertools
import os
import pathlib
import signal

import harness
from chaos import checks, sandbox
from chaos.accidents import accident_of
from chaos.checks import check
from chaos.setups import GRACE, LATENESS, PATIENCE, RECIPE, SILENCE

BOUND = harness.DEADLINE  # for a run that takes some five seconds
PAUSE = 0.5  # seconds, less than SILENCE
_SUPERSEDED = 75  # exit code of a worker that another one has replaced
# After these exit codes a restart resumes.
_RESUMABLE = (74, 75, -signal.SIGKILL)
_USAGE = 2  # also the exit code of a worker that cannot listen


class Happening:
    """A fault in a run."""

    def __init__(self, fault, number, folder):
        self.fault = fault
        self.marker = folder / f"happened-{number}"
        self.accident = accident_of(fault, folder)
        self.was_asked_to_stop = False  # the run was, for stop=grace
        self.is_over = False

        in_process = fault.family in ("kill", "hang", "cut", "corrupt")
        self.kind = fault.kind if in_process else "stop"

    def armed(self):
        """The value of GANDEM_FAILPOINT."""
        return (f"{self.kind} {self.fault.point}@{self.fault.process}:"
                f"{self.fault.count}:{self.marker}")

    def has_happened(self):
        # A complete marker ends with a newline.
        if not (self.marker.exists()
                and self.marker.read_text().endswith("\n")):
            return False
        # The marker is written before the process stops. A SIGCONT in between
        # would be lost, and the process would be stopped forever.
        return self.kind != "stop" or not harness.is_running(self.pid())

    def pid(self):
        return int(self.marker.read_text())


class Play:
    """One run in its own folder; without faults it is the undisturbed run."""

    _networks = itertools.count()

    def __init__(self, folder, setup, faults=()):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        self.tmp = self.folder / "t"  # socket paths are short
        self.tmp.mkdir()
        self.recipe = self.folder / "recipe.textproto"
        self.recipe.write_text(RECIPE)
        self.setup = setup
        self.sets = setup.sets()
        stops = {fault.value for fault in faults if fault.family == "stop"}
        if (all(fault.is_harmless for fault in faults) or stops - {""}
                or any(fault.family == "duplicate" for fault in faults)):
            self.sets.append(f"control.heartbeat_timeout_seconds={PATIENCE}")
        if "progress" in stops or any(
                fault.family in ("hang", "wire") for fault in faults):
            self.sets.append(f"control.progress_timeout_seconds={SILENCE}")
        if "join" in stops:
            self.sets.append(f"control.join_timeout_seconds={LATENESS}")
        if "grace" in stops:
            self.sets.append(f"control.grace_seconds={GRACE}")
        self.env = {"TMPDIR": str(self.tmp)}
        self.runs = []
        self.hosts = {}
        self.happenings = []
        self.shared_before = checks.shared_memory()
        with contextlib.ExitStack() as half_made:
            half_made.callback(self.close)
            self._prepare(faults)
            half_made.pop_all()

    def _prepare(self, faults):
        for number, fault in enumerate(faults):
            self.happenings.append(Happening(fault, number, self.folder))
            if self.happenings[-1].accident:
                self.env |= self.happenings[-1].accident.env
        if faults:
            self.env["GANDEM_FAILPOINT"] = ";".join(
                happening.armed() for happening in self.happenings)
        if self.setup.mode == "net":
            self._build_hosts(
                is_one_name=any(fault.family == "hosts" for fault in faults))

    def run(self):
        """Plays, checks everything except the bits, and returns the last run."""
        fault = self.happenings[0].fault if self.happenings else None
        if fault is not None and fault.family in ("zombie", "duplicate"):
            run = self._play_by_hand(getattr(self, f"_{fault.family}"))
        elif fault is not None and fault.family == "partition":
            run = self._play_by_hand(self._partition)
        elif self.setup.is_by_hand:
            run = self._play_by_hand(self._nothing_by_hand)
        else:
            run = self._play()
        self._check(run)
        return run

    def close(self):
        """Ends remaining processes; keeps the folder."""
        for run in self.runs:
            run.kill()
            for worker in run.by_hand:
                worker.process.kill()
                worker.process.wait()
        for happening in self.happenings:
            if happening.accident:
                happening.accident.close()
        for host in self.hosts.values():
            host.close()

    # Runs whose workers `gandem` starts.

    def _start(self, flags=()):
        outs = [happening.accident.out for happening in self.happenings
                if happening.accident and happening.accident.out is not None]
        self.runs.append(harness.Run(
            self.folder / "run", recipe=self.recipe, sets=self.sets,
            flags=flags, env=self.env, out=outs[0] if outs else None))
        return self.runs[-1]

    def _play(self):
        self._start()
        self._wait_for_end()
        run = self.runs[-1]
        self._finish(run)
        return run

    def _wait_for_end(self, attend=None):
        try:
            harness.wait_for(attend or self._attend, "the end of the run",
                             BOUND)
        except AssertionError as error:
            check(False, str(error), self.runs[-1])

    def _attend(self):
        """Handles faults that are due; returns whether the run is over."""
        run = self.runs[-1]
        is_over = run.process.poll() is not None
        for happening in self.happenings:
            if happening.is_over or not (happening.was_asked_to_stop
                                         or happening.has_happened()):
                continue
            if happening.fault.kind == "stop=grace":
                if self._outlast_grace(happening, run, is_over):
                    return False
            elif happening.fault.kind == "kill":
                if happening.fault.process != "gandem":
                    happening.is_over = True
                elif is_over and run.process.returncode == -signal.SIGKILL:
                    happening.is_over = True
                    run.wait()
                    self._start()
                    return False
            else:
                happening.is_over = True
                # Another fault may have ended the process.
                with contextlib.suppress(ProcessLookupError):
                    self._on_stop(happening, run)
        return is_over

    def _outlast_grace(self, happening, run, is_over):
        """Returns whether the run has stopped and was resumed."""
        if not happening.was_asked_to_stop:
            happening.was_asked_to_stop = True
            run.process.send_signal(signal.SIGTERM)  # not ignored under nohup
            if happening.fault.process == "gandem":
                harness.stop_for(happening.pid(), GRACE + 0.5)
            return False
        if not is_over:
            return False
        happening.is_over = True
        if happening.fault.process == "gandem" and run.process.returncode == 0:
            return False  # the workers completed all rounds meanwhile
        check(run.wait() == 75, f"exit code {run.process.returncode}", run)
        if happening.fault.process != "gandem":
            check("(control.grace_seconds)" in run.text(),
                  "the run has not ended by its grace", run)
        self._start()
        return True

    def _on_stop(self, happening, run):
        """Called while the process of the fault is stopped at its point."""
        fault = happening.fault
        if fault.kind == "pause":
            harness.stop_for(happening.pid(), PAUSE)
        elif fault.family == "stop" and fault.process == "gandem":
            longest = LATENESS if fault.value == "join" else SILENCE
            harness.stop_for(happening.pid(), longest + 0.5)
        elif happening.accident:
            happening.accident.strike(run, happening.pid())
            os.kill(happening.pid(), signal.SIGCONT)
            happening.accident.mend(run)
        elif fault.family == "hosts":
            os.kill(happening.pid(), signal.SIGCONT)

    def _finish(self, run, workers=None):
        check(run.wait(BOUND) == 0, f"exit code {run.process.returncode}",
              run)
        for name, worker in (workers or {}).items():
            check(worker.wait() == 0, f"{name} left with "
                  f"{worker.process.returncode}:\n{worker.text()}", run)

    # Runs with workers started by hand have one fault each.

    def _build_hosts(self, is_one_name):
        sandbox.need("--net")
        network = f"10.{next(Play._networks) % 250 + 1}"
        self.control = f"{network}.0.1"
        sandbox.run("ip", "address", "add", f"{self.control}/32", "dev", "lo")
        for number, name in enumerate(self.setup.workers(), 1):
            self.hosts[name] = sandbox.Host(
                network, number, "" if is_one_name else f"host-{number}",
                self.tmp)

    def _play_by_hand(self, play):
        flags = {"tcp": ["--listen", "127.0.0.1:0"]}.get(self.setup.mode, [])
        if self.hosts:
            flags = ["--listen", f"{self.control}:0", "--insecure_network"]
        run = self._start(["--external", *flags])
        self.listen = {
            name: self._flags(name) for name in self.setup.workers()}
        workers = {name: self._start_worker(run, name)
                   for name in self.setup.workers()}
        play(run, workers)
        self._finish(run, workers)
        return run

    def _flags(self, name):
        """Flags for the addresses of a worker. Its port is fixed, so that a
        second process with the same command fails."""
        is_discriminator = name.startswith("discriminator")
        if name in self.hosts:
            listen = f"{self.hosts[name].address}:0"
            return (["--fleet_listen", listen, "--insecure_network"]
                    + (["--listen", listen] if is_discriminator else []))
        if self.setup.mode == "tcp" and is_discriminator:
            return ["--listen", f"127.0.0.1:{harness.free_port()}"]
        return []

    def _start_worker(self, run, name):
        role, rank = name.split("-")
        under = self.hosts[name].under if name in self.hosts else ()
        return run.start_worker(role, self.listen[name], under=under,
                                env=self.env, rank=int(rank))

    def _wait_for_stop(self, run):
        happening = self.happenings[0]
        def happened():
            check(run.process.poll() is None, "the point was not passed", run)
            return happening.has_happened()
        harness.wait_for(happened, "the fault")
        return happening.pid()

    def _nothing_by_hand(self, run, workers):
        """Restarts workers that leave, like an operator would."""
        def attend():
            for name, worker in workers.items():
                if (worker.process.poll() in _RESUMABLE
                        and run.process.poll() is None):
                    workers[name] = self._start_worker(run, name)
            return self._attend()
        self._wait_for_end(attend)

    def _zombie(self, run, workers):
        pid = self._wait_for_stop(run)
        name = self.happenings[0].fault.process
        zombie = workers[name]
        check(pid == zombie.process.pid, "another process was stopped", run)
        harness.wait_for(
            lambda: f"{name.replace('-', ' ')} was silent" in run.text(),
            "its death")
        workers[name] = self._start_worker(run, name)
        os.kill(pid, signal.SIGCONT)
        self._has_to_leave(zombie, run)

    def _duplicate(self, run, workers):
        """A worker that listens at a port keeps its place; otherwise the second
        process takes it."""
        pid = self._wait_for_stop(run)
        name = self.happenings[0].fault.process
        first = workers[name]
        second = self._start_worker(run, name)
        if self.listen[name]:
            check(second.wait() == _USAGE, f"the second command left with "
                  f"{second.process.returncode}:\n{second.text()}", run)
            os.kill(pid, signal.SIGCONT)
            return
        workers[name] = second
        # On a busy machine the first may time out before the second starts.
        taken = ("takes the place of", f"{name.replace('-', ' ')} was silent")
        harness.wait_for(lambda: any(text in run.text() for text in taken),
                         "the second command")
        os.kill(pid, signal.SIGCONT)
        self._has_to_leave(first, run)

    def _has_to_leave(self, worker, run):
        check(worker.wait() == _SUPERSEDED, f"the first process left with "
              f"{worker.process.returncode}:\n{worker.text()}", run)

    def _partition(self, run, workers):
        pid = self._wait_for_stop(run)
        fault = self.happenings[0].fault
        peer, seconds = fault.value.split(":")
        host = self.hosts[fault.process]
        pairs = [(host, self.control)] if peer == "gandem" else [
            (host, self.hosts[peer].address), (self.hosts[peer], host.address)]
        for one, other in pairs:
            one.lose(other)
        with contextlib.suppress(ProcessLookupError):  # the pid is the host's
            os.kill(pid, signal.SIGCONT)
        harness.pass_time(float(seconds))
        for one, other in pairs:
            one.find(other)
        del workers

    # Conditions at the end.

    def _check(self, run):
        happened = [happening.marker.exists() for happening in self.happenings]
        # The end of one worker may prevent the other faults.
        check(all(happened) or (len(happened) > 1 and any(happened)),
              "the point was not passed", run)
        for happening in self.happenings:
            if happening.accident and happening.marker.exists():
                happening.accident.check(run)
        checks.all_rounds(run, self.setup)
        if all(happening.fault.is_harmless for happening in self.happenings):
            checks.no_new_epoch(run)
        command = [str(harness.BIN / "gandem"), "train", str(self.recipe)]
        for assignment in self.sets:
            command += ["--set", assignment]
        checks.readable_checkpoints(run, command, self.folder)
        deaths = 0 if self.setup.is_exact else sum(
            happening.fault.process != "gandem"
            for happening in self.happenings)
        checks.nothing_left(run, deaths, self.tmp, self.shared_before)

    def happened(self):
        return [happening.fault for happening in self.happenings
                if happening.marker.exists()]
