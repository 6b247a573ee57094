# SPDX-License-Identifier: Apache-2.0
"""The table of faults, the selection for every build, and random faults.

A line is one run: its setup (setups.py), then one fault or several joined by
" + ". A fault is KIND POINT@PROCESS:COUNT: what happens, at which pass of which
point in which process (common/process/failpoint.h).

  kill    SIGKILL. A killed `gandem` is started again.
  stop    SIGSTOP for longer than the heartbeat timeout. `gandem` kills a stopped
          worker. A stopped `gandem` is continued, and no worker counts as dead.
          stop=join and stop=progress last longer than these timeouts, with an
          even longer heartbeat timeout. After stop=join, workers that wait for
          `gandem` leave for a new run epoch.
          stop=grace: the user stops the run meanwhile, and the process is
          stopped for longer than the run waits for its checkpoint. Then the
          same command resumes the run.
  zombie  Like stop, for a worker started by hand: another one takes its place,
          then the zombie is continued and must leave with exit code 75.
  pause   SIGSTOP for less than the timeout: without consequences.
  hang    The thread hangs, but the process still sends heartbeats: `gandem` must
          find the worker that blocks the run.
  cut=... Connections break: between the workers of a role (fleet), between the
          roles (exchange), with `gandem` (control), or all. In tcp setups the
          last two are TCP connections.
  corrupt A bit of a message is wrong, in the middle or at the given thousandth
          of its bytes (corrupt=0 is the first byte). A message of the exchange
          or the control plane is sent again; between workers of a role, the run
          epoch ends. ring.encode_frame:1 and exchange.encode_frame:1 are the
          first message of a connection; collective.write_payload is only the
          payload, which may be in shared memory. The places in messages of the
          control plane are chosen so that every bit matters.

  These faults come from outside, while the process is stopped at the point:

  duplicate    The command of this worker is started a second time.
  disk=full    The run folder's disk is full until a checkpoint has failed.
  disk=readonly  The disk is mounted read-only until a checkpoint has failed.
  disk=death   The disk is full when the worker dies, until the next run epoch
          has failed to begin or has begun.
  disk=slow    Each fsync takes a third of a second.
  clock=S      The wall clock of all processes steps by S seconds.
  memory=...   The worker gets no more memory: by a cgroup, or by its own limit.
  wire=N       The N-th byte that the process sends into sockets from now on has
          a wrong bit, perhaps in HTTP/2 or gRPC framing. The progress timeout
          is short.
  partition=P:S  The process and P do not reach each other for S seconds. P is a
          worker or gandem.
  unread=...   Nobody reads the pipe or pty that `gandem` prints to.
  hosts=equal  All hosts have the same name, and none reaches the others' sockets.
"""

import collections
import random
import re

from chaos.setups import Setup

FAULTS = """
snapshot-1 kill ring.before_open@generator-1:1
snapshot-1 kill ring.admitted@discriminator-0:1
snapshot-1 kill ring.accepted@discriminator-1:1
snapshot-1 kill ring.before_send@generator-0:13
snapshot-1 kill ring.before_send@discriminator-1:31
snapshot-1 kill ring.received@generator-1:16
snapshot-1 kill ring.received@discriminator-0:43
snapshot-1 kill collective.half_way@generator-0:17
snapshot-1 kill collective.half_way@discriminator-1:20
snapshot-1 stop ring.before_open@discriminator-0:1
snapshot-1 stop ring.before_send@generator-1:15
snapshot-1 stop ring.received@discriminator-1:27
snapshot-1 stop collective.half_way@discriminator-0:11
snapshot-1 zombie ring.before_send@generator-0:14
snapshot-1 zombie ring.received@discriminator-0:35
snapshot-1 zombie collective.half_way@discriminator-1:9
snapshot-1 pause ring.before_send@discriminator-0:20
snapshot-1 pause collective.half_way@generator-0:12
snapshot-1 cut=fleet ring.before_open@generator-0:1
snapshot-1 cut=fleet ring.admitted@generator-1:1
snapshot-1 cut=fleet ring.accepted@discriminator-0:1
snapshot-1 cut=fleet ring.before_send@generator-1:17
snapshot-1 cut=fleet ring.received@discriminator-0:35
snapshot-1 cut=fleet collective.half_way@generator-0:18
snapshot-1 cut=fleet collective.half_way@discriminator-1:10
snapshot-1 cut ring.before_send@discriminator-1:30
snapshot-1 corrupt ring.encode_frame@generator-1:17
snapshot-1 corrupt ring.encode_frame@discriminator-0:31
snapshot-1 corrupt=0 ring.encode_frame@discriminator-0:1
snapshot-1 corrupt=999 ring.encode_frame@generator-0:1
snapshot-1 corrupt=500 collective.write_payload@discriminator-1:21
gradient-1 corrupt=999 collective.write_payload@generator-1:9
1+3/snapshot-1 corrupt=500 ring.encode_frame@discriminator-2:33
1+3/snapshot-1 corrupt=200 collective.write_payload@discriminator-0:25
1+3/gradient-1 corrupt=700 ring.encode_frame@discriminator-1:1
1+3/bounded-2 corrupt=0 collective.write_payload@discriminator-1:60
bounded-2 corrupt=400 ring.encode_frame@generator-1:70
bounded-2 corrupt=999 collective.write_payload@discriminator-0:80
gradient-1 kill collective.half_way@generator-1:14
gradient-1 cut=fleet ring.received@generator-0:12

snapshot-1 kill exchange.greeted@generator-0:2
snapshot-1 kill exchange.send_images@generator-1:9
snapshot-1 kill exchange.images_received@discriminator-0:10
snapshot-1 kill exchange.images_acknowledged@generator-0:11
snapshot-1 kill exchange.before_publish@discriminator-1:8
snapshot-1 kill exchange.send_critic@discriminator-0:9
snapshot-1 kill exchange.critic_received@generator-1:12
snapshot-1 kill exchange.critic_acknowledged@discriminator-1:14
snapshot-1 kill exchange.send_finish@generator-0:1
snapshot-1 kill exchange.finish_answered@generator-1:1
snapshot-1 stop exchange.greeted@generator-1:1
snapshot-1 stop exchange.images_received@discriminator-1:9
snapshot-1 stop exchange.critic_received@generator-0:15
snapshot-1 zombie exchange.send_images@generator-1:10
snapshot-1 zombie exchange.send_critic@discriminator-0:12
snapshot-1 pause exchange.images_received@discriminator-1:16
snapshot-1 cut=exchange exchange.greeted@generator-0:1
snapshot-1 cut=exchange exchange.send_images@generator-1:19
snapshot-1 cut=exchange exchange.images_received@discriminator-1:14
snapshot-1 cut=exchange exchange.images_acknowledged@generator-1:7
snapshot-1 cut=exchange exchange.after_publish@discriminator-0:10
snapshot-1 cut=exchange exchange.send_critic@discriminator-0:8
snapshot-1 cut=exchange exchange.critic_received@generator-0:13
snapshot-1 cut=exchange exchange.critic_acknowledged@discriminator-0:10
snapshot-1 cut=exchange exchange.send_finish@generator-0:1
snapshot-1 cut=exchange exchange.finish_answered@generator-0:2
snapshot-1 cut exchange.send_images@generator-0:14
snapshot-1 corrupt exchange.encode_frame@generator-0:19
snapshot-1 corrupt exchange.encode_frame@discriminator-1:12
snapshot-1 corrupt=0 exchange.encode_frame@generator-1:13
snapshot-1 corrupt=999 exchange.encode_frame@discriminator-0:14
gradient-1 corrupt=700 exchange.encode_frame@generator-0:16
1+1/snapshot-1 corrupt=0 exchange.encode_frame@generator-0:1
1+1/snapshot-1 corrupt=600 exchange.encode_frame@discriminator-0:11
1+1/gradient-1 corrupt=999 exchange.encode_frame@generator-0:12
1+1/bounded-2 corrupt=300 exchange.encode_frame@generator-0:30
1+1/bounded-2 corrupt=900 exchange.encode_frame@discriminator-0:30
1+3/snapshot-1 corrupt=500 exchange.encode_frame@generator-0:25
1+3/gradient-1 corrupt=950 exchange.encode_frame@discriminator-2:9
1+3/bounded-2 corrupt=100 exchange.encode_frame@generator-0:50
bounded-2 corrupt=800 exchange.encode_frame@discriminator-1:40
tcp-1 corrupt=450 exchange.encode_frame@generator-1:12
tcp-1 cut=tcp exchange.send_critic@discriminator-0:9
tcp-1 cut=tcp exchange.critic_received@generator-1:12
gradient-1 kill exchange.before_answer@discriminator-0:9
gradient-1 kill exchange.after_answer@discriminator-1:12
gradient-1 kill exchange.feedback_received@generator-1:11
gradient-1 kill exchange.answer_acknowledged@discriminator-1:8
gradient-1 stop exchange.send_answer@discriminator-1:12
gradient-1 zombie exchange.feedback_received@generator-1:14
gradient-1 corrupt exchange.encode_frame@discriminator-0:15
gradient-1 corrupt ring.encode_frame@generator-0:12
gradient-1 cut=exchange exchange.send_answer@discriminator-0:11
gradient-1 cut=exchange exchange.feedback_received@generator-0:10
gradient-1 cut=exchange exchange.answer_acknowledged@discriminator-1:13

snapshot-0 kill generator.before_update@generator-1:9
snapshot-0 stop discriminator.before_update@discriminator-1:10
snapshot-0 cut=exchange exchange.images_received@discriminator-0:9
snapshot-1 kill discriminator.after_take@discriminator-1:15
snapshot-1 kill generator.after_take_critic@generator-0:10
snapshot-1 kill discriminator.before_data@discriminator-0:1
bounded-2 stop discriminator.before_data@discriminator-1:1
snapshot-1 kill discriminator.before_publish@discriminator-0:12
snapshot-1 stop generator.after_update@generator-0:14
gradient-1 kill discriminator.before_answer@discriminator-1:14
gradient-1 kill generator.after_take_feedback@generator-0:13
fused-1 kill discriminator.before_answer@discriminator-1:14
fused-1 kill generator.after_take_feedback@generator-0:13
fused-1 stop exchange.send_answer@discriminator-1:12
fused-1 cut=exchange exchange.answer_acknowledged@discriminator-1:13
fused-1 cut=exchange exchange.images_received@discriminator-0:9
1+1/fused-1 kill exchange.after_answer@discriminator-0:12
1+3/fused-1 kill discriminator.before_update@discriminator-2:9
gradient-2 kill discriminator.after_update@discriminator-0:13
gradient-2 kill generator.before_send@generator-1:11
gradient-2 zombie generator.after_send@generator-0:10
gradient-2 cut=exchange exchange.send_answer@discriminator-1:9

snapshot-1 kill checkpoint.before_shard@generator-0:2
snapshot-1 kill checkpoint.after_shard@discriminator-0:3
snapshot-1 kill checkpoint.before_manifest@gandem:2
snapshot-1 kill checkpoint.before_rename@gandem:3
snapshot-1 kill checkpoint.after_rename@gandem:4
snapshot-1 kill checkpoint.prune@gandem:1
snapshot-1 stop checkpoint.before_shard@discriminator-0:2
snapshot-1 stop checkpoint.before_rename@gandem:2
snapshot-1 zombie checkpoint.before_shard@generator-0:2
snapshot-1 cut=control checkpoint.after_shard@generator-0:2
snapshot-1 cut=control checkpoint.before_rename@gandem:2

snapshot-1 kill control.before_register@generator-1:1
snapshot-1 kill control.joined@discriminator-0:1
snapshot-1 kill control.shard_reported@generator-0:3
snapshot-1 kill control.heartbeat_answered@discriminator-1:1
snapshot-1 kill coordinator.after_epoch@gandem:1
snapshot-1 kill coordinator.after_register@gandem:3
snapshot-1 kill coordinator.after_shard@gandem:3
snapshot-1 stop control.registered@generator-0:1
snapshot-1 stop coordinator.after_join@gandem:1
snapshot-1 zombie control.before_join@discriminator-1:1
snapshot-1 cut=control control.registered@discriminator-0:1
snapshot-1 cut=control control.joined@discriminator-1:1
snapshot-1 cut=control control.before_heartbeat@generator-0:1
snapshot-1 cut=control control.before_shard_report@generator-0:2
snapshot-1 cut=control coordinator.after_register@gandem:4
snapshot-1 corrupt=500 control.encode_request@generator-1:1
snapshot-1 corrupt=999 control.encode_request@discriminator-0:2
snapshot-1 corrupt=150 control.encode_request@generator-0:9
snapshot-1 corrupt=700 control.encode_reply@gandem:2
snapshot-1 corrupt=0 control.encode_reply@gandem:11
1+1/snapshot-1 corrupt=50 control.encode_reply@gandem:1
1+1/gradient-1 corrupt=100 control.encode_request@discriminator-0:5
1+1/bounded-2 corrupt=200 control.encode_request@generator-0:7
1+3/snapshot-1 corrupt=300 control.encode_reply@gandem:9
1+3/bounded-2 corrupt=400 control.encode_request@discriminator-1:12
bounded-2 corrupt=100 control.encode_reply@gandem:30
tcp-1 corrupt=250 control.encode_request@discriminator-0:3

snapshot-1 kill collective.half_way@discriminator-1:20 + kill ring.before_open@discriminator-0:2
snapshot-1 kill collective.half_way@generator-0:11 + kill ring.admitted@generator-1:2
snapshot-1 kill generator.before_update@generator-0:9 + kill control.before_join@generator-0:1
snapshot-1 kill discriminator.before_update@discriminator-0:9 + kill control.joined@discriminator-1:2
snapshot-1 kill generator.after_update@generator-1:13 + kill coordinator.after_register@gandem:5
snapshot-1 kill exchange.images_received@discriminator-1:9 + stop ring.accepted@discriminator-0:2
snapshot-1 kill checkpoint.before_rename@gandem:2 + kill coordinator.after_epoch@gandem:1
snapshot-1 kill checkpoint.after_rename@gandem:2 + kill control.registered@generator-0:2
gradient-1 kill discriminator.before_answer@discriminator-1:8 + kill exchange.greeted@generator-0:2
gradient-1 cut=fleet ring.received@generator-0:12 + kill ring.before_open@generator-1:2
1+1/snapshot-1 kill generator.after_take_critic@generator-0:10 + kill exchange.greeted@generator-0:1
1+1/snapshot-1 kill discriminator.before_publish@discriminator-0:9 + kill control.joined@generator-0:2
1+3/gradient-1 kill discriminator.after_update@discriminator-2:9 + kill ring.accepted@discriminator-0:2
1+3/snapshot-1 kill generator.after_update@generator-0:11 + stop control.joined@discriminator-1:2
bounded-2 kill discriminator.after_update@discriminator-1:30 + kill ring.before_open@discriminator-0:2
bounded-2 kill generator.after_update@generator-0:25 + kill ring.before_open@generator-1:2
bounded-2 kill ring.before_send@discriminator-1:1 + corrupt ring.encode_frame@discriminator-0:8
bounded-2 kill collective.half_way@generator-1:40 + kill control.before_join@generator-1:1
bounded-2 kill ring.received@discriminator-0:50 + kill checkpoint.before_rename@gandem:1
1+3/bounded-2 kill discriminator.after_update@discriminator-0:20 + kill ring.admitted@discriminator-1:2

1+1/snapshot-1 stop generator.before_update@generator-0:8
1+1/snapshot-1 stop discriminator.after_take@discriminator-0:12
1+1/snapshot-1 stop coordinator.after_shard@gandem:2
1+3/snapshot-1 stop generator.after_send@generator-0:9
1+3/snapshot-1 stop collective.half_way@discriminator-2:9
1+3/gradient-1 stop coordinator.after_join@gandem:1
1+3/gradient-1 zombie collective.half_way@discriminator-2:7
bounded-2 stop generator.after_update@generator-1:20
bounded-2 stop discriminator.after_update@discriminator-0:20
bounded-2 stop checkpoint.before_manifest@gandem:2
1+3/bounded-2 stop discriminator.after_update@discriminator-1:15

snapshot-1 hang generator.before_update@generator-0:9
snapshot-1 hang discriminator.after_take@discriminator-1:12
gradient-1 hang discriminator.before_answer@discriminator-1:8
1+1/gradient-1 hang generator.after_take_feedback@generator-0:9
1+1/snapshot-1 hang discriminator.before_update@discriminator-0:8
1+3/snapshot-1 hang discriminator.before_update@discriminator-2:8
bounded-2 hang discriminator.before_update@discriminator-1:20

snapshot-1 duplicate generator.after_update@generator-1:9
snapshot-1 duplicate discriminator.before_update@discriminator-0:10
tcp-1 duplicate generator.before_update@generator-0:8
tcp-1 duplicate discriminator.before_update@discriminator-1:9
tcp-1 duplicate exchange.send_critic@discriminator-0:7
1+1/gradient-1 duplicate generator.after_send@generator-0:7

snapshot-1 disk=full checkpoint.before_shard@generator-0:2
snapshot-1 disk=full checkpoint.before_manifest@gandem:2
1+1/snapshot-1 disk=full checkpoint.before_shard@discriminator-0:3
1+3/gradient-1 disk=full checkpoint.before_shard@discriminator-0:1
bounded-2 disk=full checkpoint.before_shard@discriminator-0:2
snapshot-1 disk=readonly checkpoint.before_shard@discriminator-0:2
1+1/snapshot-1 disk=readonly checkpoint.before_shard@generator-0:2
snapshot-1 disk=death generator.before_update@generator-0:10
1+1/gradient-1 disk=death discriminator.after_update@discriminator-0:9
bounded-2 disk=death discriminator.before_update@discriminator-1:60
snapshot-1 disk=slow checkpoint.before_shard@generator-0:1
1+1/gradient-1 disk=slow checkpoint.before_shard@discriminator-0:1
bounded-2 disk=slow checkpoint.before_shard@generator-0:1

snapshot-1 clock=86400 generator.before_update@generator-1:9
snapshot-1 clock=-86400 discriminator.before_update@discriminator-0:9
1+1/snapshot-1 clock=3600 coordinator.after_register@gandem:2
1+1/gradient-1 clock=-3600 checkpoint.before_rename@gandem:1
1+3/snapshot-1 clock=-3600 collective.half_way@discriminator-1:9
bounded-2 clock=86400 checkpoint.before_manifest@gandem:1

snapshot-1 memory=cgroup generator.before_update@generator-0:9
snapshot-1 memory=cgroup discriminator.after_take@discriminator-1:9
1+1/snapshot-1 memory=cgroup discriminator.before_update@discriminator-0:9
bounded-2 memory=cgroup generator.after_update@generator-1:20
snapshot-1 memory=limit control.joined@discriminator-0:1
1+1/snapshot-1 memory=limit control.joined@generator-0:1

1+1/snapshot-1 wire=1 exchange.send_images@generator-0:9
1+1/snapshot-1 wire=6 exchange.send_critic@discriminator-0:8
1+1/snapshot-1 wire=30 control.registered@discriminator-0:1
1+1/snapshot-1 wire=300 control.registered@discriminator-0:1
1+1/snapshot-1 wire=20 coordinator.after_shard@gandem:2
1+1/gradient-1 wire=350 control.joined@generator-0:1
1+3/snapshot-1 wire=9 exchange.send_critic@discriminator-0:8
snapshot-1 wire=30 ring.before_open@generator-1:1
snapshot-1 wire=450 ring.before_open@discriminator-0:1
snapshot-1 wire=12 ring.received@generator-1:16
bounded-2 wire=5 ring.before_send@discriminator-1:30
tcp-1 kill control.joined@discriminator-0:1
tcp-1 kill control.before_join@discriminator-1:1
1+1/tcp-1 kill control.registered@generator-0:1
tcp-1 kill discriminator.after_update@discriminator-1:9
tcp-1 corrupt ring.encode_frame@generator-1:17
tcp-1 corrupt=999 collective.write_payload@discriminator-0:21
tcp-1 wire=6 exchange.send_images@generator-1:9
tcp-1 wire=40 exchange.send_critic@discriminator-0:8
tcp-1 wire=120 control.before_register@discriminator-1:1
tcp-1 wire=3 ring.before_send@discriminator-0:12

net-1 partition=generator-1:2 ring.before_send@generator-0:14
net-1 partition=discriminator-1:2 ring.received@discriminator-0:31
net-1 partition=discriminator-0:2 exchange.send_images@generator-1:9
net-1 partition=generator-1:2 exchange.send_critic@discriminator-0:8
net-1 partition=gandem:2 generator.before_update@generator-0:9
net-1 partition=gandem:2 checkpoint.before_shard@discriminator-0:2
net-1 partition=discriminator-1:8 exchange.send_images@generator-0:9
net-1 hosts=equal generator.before_update@generator-0:2
1+1/net-1 hosts=equal generator.before_update@generator-0:2
1+3/net-1 partition=discriminator-2:2 collective.half_way@discriminator-1:9

snapshot-1 stop=progress generator.before_update@generator-0:9
snapshot-1 stop=progress collective.half_way@discriminator-1:14
1+1/gradient-1 stop=progress exchange.send_answer@discriminator-0:9
1+3/bounded-2 stop=progress discriminator.after_update@discriminator-2:15
1+1/snapshot-1 stop=progress coordinator.after_shard@gandem:2
snapshot-1 stop=progress checkpoint.before_manifest@gandem:2
snapshot-1 stop=join control.registered@generator-0:1
1+1/snapshot-1 stop=join control.before_register@discriminator-0:1
bounded-2 stop=join control.before_join@discriminator-1:1
1+1/snapshot-1 stop=join coordinator.after_register@gandem:2
snapshot-1 stop=join coordinator.after_join@gandem:1
snapshot-1 stop=grace generator.before_update@generator-0:9
snapshot-1 stop=grace collective.half_way@discriminator-1:14
1+1/gradient-1 stop=grace discriminator.after_update@discriminator-0:9
1+1/snapshot-1 stop=grace checkpoint.before_shard@generator-0:2
1+3/bounded-2 stop=grace discriminator.after_update@discriminator-2:15
1+1/snapshot-1 stop=grace coordinator.after_shard@gandem:2
snapshot-1 stop=grace checkpoint.before_manifest@gandem:2

snapshot-1 unread=pipe generator.before_update@generator-0:2
snapshot-1 unread=pty generator.before_update@generator-0:2
1+1/gradient-1 unread=pipe discriminator.before_update@discriminator-0:2
bounded-2 unread=pty discriminator.before_update@discriminator-0:2
snapshot-1 unread=pipe checkpoint.before_rename@gandem:2
"""

# Faults that lose no state: no log may report the death of a worker.
HARMLESS = ("pause", "cut=exchange", "cut=control", "cut=tcp", "disk", "clock",
            "unread", "hosts")

# Cases for the tests of every build, with all kinds, places and shapes.
THIRTY = """
snapshot-1 kill collective.half_way@discriminator-1:20
snapshot-1 cut=fleet ring.received@discriminator-0:35
snapshot-1 zombie ring.before_send@generator-0:14
snapshot-1 kill exchange.send_images@generator-1:9
snapshot-1 cut=exchange exchange.send_critic@discriminator-0:8
tcp-1 cut=tcp exchange.critic_received@generator-1:12
gradient-1 stop exchange.send_answer@discriminator-1:12
1+1/bounded-2 corrupt=900 exchange.encode_frame@discriminator-0:30
snapshot-1 pause collective.half_way@generator-0:12
snapshot-1 kill checkpoint.before_rename@gandem:3
snapshot-1 cut=control control.joined@discriminator-1:1
snapshot-1 kill collective.half_way@discriminator-1:20 + kill ring.before_open@discriminator-0:2
1+1/snapshot-1 kill discriminator.before_publish@discriminator-0:9 + kill control.joined@generator-0:2
1+3/gradient-1 kill discriminator.after_update@discriminator-2:9 + kill ring.accepted@discriminator-0:2
bounded-2 kill generator.after_update@generator-0:25 + kill ring.before_open@generator-1:2
1+3/bounded-2 stop discriminator.after_update@discriminator-1:15
snapshot-1 duplicate generator.after_update@generator-1:9
tcp-1 duplicate discriminator.before_update@discriminator-1:9
snapshot-1 disk=full checkpoint.before_shard@generator-0:2
1+1/snapshot-1 disk=readonly checkpoint.before_shard@generator-0:2
1+1/gradient-1 disk=slow checkpoint.before_shard@discriminator-0:1
1+1/snapshot-1 clock=3600 coordinator.after_register@gandem:2
1+1/gradient-1 clock=-3600 checkpoint.before_rename@gandem:1
1+1/snapshot-1 memory=cgroup discriminator.before_update@discriminator-0:9
net-1 partition=discriminator-1:2 ring.received@discriminator-0:31
1+1/net-1 hosts=equal generator.before_update@generator-0:2
1+1/gradient-1 unread=pipe discriminator.before_update@discriminator-0:2
1+3/snapshot-1 stop generator.after_send@generator-0:9
1+1/snapshot-1 hang discriminator.before_update@discriminator-0:8
1+1/snapshot-1 wire=300 control.registered@discriminator-0:1
"""

# Kinds of random faults: several of them may happen in one run.
DRAWN = ("kill", "stop", "pause", "cut=fleet", "cut=exchange", "cut=control",
         "cut", "corrupt")
DRAWN_SETUPS = ("1+1/snapshot-1", "1+3/snapshot-1", "snapshot-1",
                "1+1/gradient-1", "1+3/gradient-1", "gradient-1",
                "1+1/bounded-2", "bounded-2", "1+3/bounded-2")
# Points that a process passes once in a run epoch.
ONCE = ("ring.before_open", "ring.admitted", "ring.accepted",
        "exchange.greeted", "control.before_register", "control.registered",
        "control.before_join", "control.joined", "discriminator.before_data",
        "coordinator.after_epoch",
        "coordinator.after_join")
# Points that a process may not pass if others die.
NOT_DRAWN = ("exchange.send_finish", "exchange.finish_answered",
             "checkpoint.prune", "exchange.encode_frame")
MOST_PASSES = 6  # limit for random faults: a late run epoch has this many


class Fault(collections.namedtuple("Fault", "kind point process count")):
    def __str__(self):
        return f"{self.kind} {self.point}@{self.process}:{self.count}"

    @property
    def family(self):
        """The kind for summaries: "cut" for "cut=fleet"."""
        return self.kind.split("=")[0]

    @property
    def value(self):
        return self.kind.partition("=")[2]

    @property
    def is_harmless(self):
        if self.kind == "disk=death":
            return False
        return (self.kind in HARMLESS or self.family in HARMLESS
                or (self.family == "corrupt" and self.point.startswith(
                    ("exchange.", "control.")))
                or (self.kind in ("stop", "stop=progress")
                    and self.process == "gandem"))

    @property
    def place(self):
        """Place of the fault, for summaries."""
        return {"ring": "ring", "collective": "ring", "exchange": "exchange",
                "generator": "update", "discriminator": "update",
                "checkpoint": "checkpoint"}.get(self.point.split(".")[0],
                                                "join and control")


class Case(collections.namedtuple("Case", "setup faults")):
    """One run: a Setup and at least one Fault."""

    def __str__(self):
        return f"{self.setup} {' + '.join(map(str, self.faults))}"


# A play would silently ignore any other kind.
_KINDS = re.compile(
    r"kill|zombie|pause|hang|duplicate|stop(=(join|progress|grace))?|"
    r"cut(=(fleet|exchange|control|tcp))?|corrupt(=\d+)?|"
    r"disk=(full|readonly|death|slow)|clock=-?\d+|memory=(cgroup|limit)|"
    r"wire=\d+|partition=[\w-]+:\d+|unread=(pipe|pty)|hosts=equal")


def parse_case(line):
    setup, _, faults = line.partition(" ")
    found = []
    for text in faults.split(" + "):
        match = re.fullmatch(r"(\S+) ([\w.]+)@([\w-]+):(\d+)", text)
        if not match:
            raise ValueError(f"'{text}' is not KIND POINT@PROCESS:COUNT")
        if not _KINDS.fullmatch(match[1]):
            raise ValueError(f"'{match[1]}' is not a kind of fault")
        found.append(Fault(*match.groups()))
    return Case(Setup.parse(setup), tuple(found))


def parse(text):
    return [parse_case(line) for line in text.strip().splitlines() if line]


def draw(seed, runs, most_faults):
    """`runs` random cases of one to `most_faults` faults, with shapes in turn."""
    source = random.Random(seed)
    known = sorted({(fault.kind, fault.point, fault.process.split("-")[0],
                     case.setup.mode)
                    for case in parse(FAULTS) for fault in case.faults
                    if fault.kind in DRAWN and fault.point not in NOT_DRAWN})
    cases = []
    while len(cases) < runs:
        setup = Setup.parse(DRAWN_SETUPS[len(cases) % len(DRAWN_SETUPS)])
        possible = [entry for entry in known if _is_possible(entry, setup)]
        number = 1 + len(cases) // len(DRAWN_SETUPS) % most_faults
        cases.append(Case(setup, tuple(
            _draw_fault(source, setup, entry)
            for entry in source.sample(possible, number))))
    return cases


def _is_possible(entry, setup):
    kind, point, role, mode = entry
    if setup._replace(mode=mode).feedback != setup.feedback:
        return False
    is_of_fleet = point.startswith(("ring.", "collective.")) \
        or kind == "cut=fleet"
    return not is_of_fleet or (role != "gandem" and setup.size(role) > 1)


def _draw_fault(source, setup, entry):
    kind, point, role, _ = entry
    process = role
    if role != "gandem":
        # The pairs of workers in the exchange are not known in advance.
        may_be_any = not point.startswith(("exchange.", "checkpoint."))
        rank = source.randrange(setup.size(role)) if may_be_any else 0
        process = f"{role}-{rank}"
    count = 1 if point in ONCE or role == "gandem" \
        else source.randint(1, MOST_PASSES)
    if point.startswith(("checkpoint.", "control.")):
        count = 1
    return Fault(kind, point, process, str(count))
