# SPDX-License-Identifier: Apache-2.0
"""The tensorboard package reads what common/event_writer wrote.

tensorboard_test.py PATH_OF_write_events
"""
import subprocess
import sys
import tempfile

from tensorboard.backend.event_processing import event_accumulator


def start(folder, first, last):
    process = subprocess.Popen(
        [sys.argv[1], folder, str(first), str(last)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "written\n"
    return process


def steps(events):
    return [event.step for event in events]


with tempfile.TemporaryDirectory() as folder:
    first = start(folder, 0, 5)
    reader = event_accumulator.EventAccumulator(
        folder, size_guidance={"scalars": 0, "images": 0})
    reader.Reload()  # while the writer still runs
    loss = reader.Scalars("loss/generator")
    assert steps(loss) == [0, 1, 2, 3, 4, 5], loss
    assert [event.value for event in loss] == [0, 0.5, 1, 1.5, 2, 2.5], loss
    (image,) = reader.Images("samples")
    assert (image.step, image.height, image.width) == (5, 2, 3), image
    assert image.encoded_image_string.startswith(b"\x89PNG"), image
    first.communicate()

    # A run that resumed at step 3: its numbers replace the old ones.
    second = start(folder, 3, 7)
    reader.Reload()
    loss = reader.Scalars("first_step")
    assert steps(loss) == list(range(8)), loss
    assert [event.value for event in loss] == [0] * 3 + [3] * 5, loss
    assert steps(reader.Images("samples")) == [7]
    second.communicate()
    assert first.returncode == 0 and second.returncode == 0
print("tensorboard read all events")
