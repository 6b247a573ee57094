# SPDX-License-Identifier: Apache-2.0
"""Faults in whole runs. Whatever happens to a process, a connection, a disk or a
clock, the run ends in time with exit code 0 and the bits of a run that nothing
has happened to (EXACT) or with all its rounds (BOUNDED), all its checkpoints can
be read, and no process, socket or shared memory of it is left.

table.py has the faults; play.py one run with faults; accidents.py those that come
from outside of its processes; stage.py many runs; recovery.py how long it takes
until a run goes on. scripts/chaos.sh plays all of them, chaos_test.py
eight or thirty.
"""
