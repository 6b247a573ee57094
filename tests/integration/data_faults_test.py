# SPDX-License-Identifier: Apache-2.0
"""Malicious sources of images, and sources that change during a run: messages and
outcomes."""

import os
import random
import signal
import struct
import subprocess
import zipfile
import zlib

import harness
from remote_data_test import chunk, png, tar_of

IMAGES = 40
# Memory limit for images whose headers claim gigabytes.
MOST_BYTES = 400 << 20


def huge_png(side):
    """A small PNG file whose header claims side x side pixels."""
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(
        b"IDAT", zlib.compress(bytes(1 << 20))) + chunk(b"IEND", b""))


class DataFaultsTest(harness.RunTest):
    SETS = ["samples.every_rounds=0"]

    def setUp(self):
        super().setUp()
        draw = random.Random(1)
        self.images = {f"i{i:04}.png": png(draw) for i in range(IMAGES)}

    def write_folder(self):
        folder = self.folder / "images"
        folder.mkdir()
        for name, data in self.images.items():
            (folder / name).write_bytes(data)
        return folder

    def dataset(self, *arguments):
        """The exit code, the output and the peak memory of `gandem dataset`."""
        output = self.folder / "output"
        with open(output, "wb") as out:
            process = subprocess.Popen(
                [harness.BIN / "gandem", "dataset", *arguments],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        return (process.returncode, output.read_text(),
                usage.ru_maxrss * 1024)

    def assert_ends_and_goes_on(self, source, lose, put_back, *said, sets=()):
        """A run whose source is lost ends, and later resumes with the same bits."""
        flags = ["--data", str(source)]
        sets = [*self.SETS, "data.memory_bytes=1048576", *sets]
        run = self.start("lost", flags=flags, sets=[*sets, "rounds=1000000"])
        harness.wait_for(lambda: run.rounds() >= 1, "a round")
        lose(run)
        self.assertEqual(run.wait(), 2, run.text()[-4000:])
        for part in said:
            self.assertIn(part, run.text())
        put_back()
        sets.append(f"rounds={run.rounds() + 10}")
        self.assert_same_state(self.train("lost", sets=sets, flags=flags),
                               self.train("whole", sets=sets, flags=flags))

    def test_a_folder_that_is_lost_while_it_trains(self):
        folder, away = self.write_folder(), self.folder / "away"
        self.assert_ends_and_goes_on(
            folder, lambda _: folder.rename(away),
            lambda: away.rename(folder), f"cannot open '{folder}/i00",
            "the budget of 1 restarts is used up",
            sets=["control.restart_budget=1"])

    def test_a_folder_that_comes_back_while_it_trains(self):
        folder, away = self.write_folder(), self.folder / "away"
        flags = ["--data", str(folder)]
        run = self.start("lost", flags=flags, sets=[
            *self.SETS, "data.memory_bytes=1048576", "rounds=1000000"])
        harness.wait_for(lambda: run.rounds() >= 1, "a round")
        folder.rename(away)
        # One worker dies while it reads, and two die before they begin.
        harness.wait_for(lambda: run.text().count("new run epoch") >= 3,
                         "three deaths")
        away.rename(folder)
        rounds = run.rounds()
        harness.wait_for(lambda: run.rounds() > rounds, "another round")
        run.process.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(), 75, run.text()[-4000:])

    def test_a_shard_that_is_cut_off_while_it_trains(self):
        shard = self.folder / "images.tar"
        data = tar_of(self.images.items())
        shard.write_bytes(data)
        self.assert_ends_and_goes_on(
            shard, lambda _: os.truncate(shard, len(data) // 2),
            lambda: shard.write_bytes(data), f"'{shard}' is cut off")

    def test_an_image_more_when_a_worker_starts_again(self):
        folder = self.write_folder()
        more = folder / "i9999.png"

        def add(run):
            more.write_bytes(self.images["i0000.png"])
            os.kill(run.worker("discriminator_worker"), signal.SIGKILL)

        self.assert_ends_and_goes_on(
            folder, add, more.unlink,
            f"it holds {IMAGES + 1} images now, and they are not those")

    def test_a_name_that_is_not_utf_8(self):
        folder = self.write_folder()
        (folder / os.fsdecode(b"caf\xe9.png")).write_bytes(
            next(iter(self.images.values())))
        (folder / os.fsdecode(b"th\xe9.png")).write_bytes(b"")
        total = IMAGES + 2
        code, text, _ = self.dataset("verify", folder)
        self.assertEqual(code, 2, text)
        self.assertEqual(text.splitlines(), [
            f"{folder}/th\\xe9.png: it has no bytes",
            f"1 of {total} images cannot be read"])
        bad = self.folder / "bad.txt"
        self.assertEqual(
            self.dataset("verify", folder, "--exclude", bad)[0], 0)
        run = self.train("named", flags=["--data", str(folder)], sets=[
            *self.SETS, f"data.exclude={bad}", "data.max_excluded=0.1"])
        self.assertIn(f"{total - 1} images (1 left out)", run.text())

    def test_a_tar_whose_names_climb_out(self):
        source = self.folder / "a" / "images.tar"
        packed = self.folder / "a" / "packed"
        source.parent.mkdir()
        climbing = {f"../../{name}": data
                    for name, data in self.images.items()}
        before = set(self.folder.parent.glob("*.png"))
        for members in climbing, {**climbing, **self.images}:
            source.write_bytes(tar_of(members.items()))
            for command in (("verify", source),
                            ("pack", source, "-o", packed)):
                code, text, _ = self.dataset(*command)
                self.assertEqual(code, 2, text)
                self.assertIn(f"{source}: the member '../../i0000.png' leads "
                              "out of the archive", text)
            self.assertEqual(set(self.folder.parent.glob("*.png")), before)
            self.assertFalse(packed.exists())

    def test_a_zip_bomb(self):
        bomb = self.folder / "bomb.zip"
        lies = {"some.png": 900 << 20, "too_many.png": 3 << 30}
        with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in lies:
                archive.writestr(name, bytes(1 << 20))
            archive.writestr("wide.png", huge_png(60_000))
        data = bytearray(bomb.read_bytes())
        with zipfile.ZipFile(bomb) as archive:
            at = archive.start_dir
        for name, size in lies.items():  # in the table of contents
            struct.pack_into("<I", data, at + 24, size)
            at += 46 + len(name)
        bomb.write_bytes(data)
        code, text, most = self.dataset("verify", bomb)
        self.assertEqual(code, 2, text)
        for name, said in (
                ("some.png", "it cannot have as many bytes as it says"),
                ("too_many.png", f"it has {3 << 30} bytes, more than"),
                ("wide.png", "a PNG of 60000 x 60000 pixels, more than")):
            self.assertRegex(text, f"{bomb}:{name}: .*{said}")
        self.assertIn("3 of 3 images cannot be read", text)
        self.assertLess(most, MOST_BYTES)


if __name__ == "__main__":
    harness.main()
