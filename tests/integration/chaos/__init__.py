# SPDX-License-Identifier: Apache-2.0
"""Faults in whole runs. After any fault of a process, a connection, a disk or a
clock, the run ends in time with exit code 0. It has the bits of an undisturbed
run (EXACT) or all its rounds (BOUNDED), all its checkpoints are readable, and no
process, socket or shared memory is left.

table.py lists the faults; play.py plays one run with faults, stage.py many runs;
accidents.py has the faults from outside the processes; recovery.py measures the
recovery time. scripts/chaos.sh plays all faults, chaos_test.py eight or thirty.
"""
