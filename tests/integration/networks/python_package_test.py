# SPDX-License-Identifier: Apache-2.0
"""The parts of the Python package (docs/python.md) that start no run: recipes from
dicts, metrics as columns, the search for the program, wheels."""

import importlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import tracemalloc
import types
import unittest
import zipfile
from unittest import mock

import harness

sys.path.insert(0, str(harness.SOURCE / "python"))
os.environ["GANDEM_BIN"] = str(harness.BIN)
import gandem  # noqa: E402
from gandem import _metrics, _program, _recipe, _text_proto  # noqa: E402


def no_enum(path, text):
    del path, text
    return False


class RecipeTest(unittest.TestCase):
    def test_a_dict_is_read_back(self):
        for value in ({"a": 1, "b": {"c": [1.5, -2e-9], "d": True}},
                      {"text": 'q"\\\n\t\x01 ü 猫', "e": _text_proto.Enum("X_1")},
                      {"many": [{"a": 1}, {"a": 2}], "no": False, "big": 2**63},
                      {"up": float("inf"), "down": -float("inf")}):
            text = _text_proto.format_message(value, no_enum)
            self.assertEqual(_text_proto.parse_message(text), value, text)

    def test_what_gandem_writes_is_read(self):
        self.assertEqual(
            _text_proto.parse_message(
                'a: "\\303\\274\\"\\n" "b" # comment\nc < d: 1 > e: [1, 2] f { }'
                .replace("c < d: 1 >", "c { d: -1 }")),
            {"a": 'ü"\nb', "c": {"d": -1}, "e": [1, 2], "f": {}})
        for text in ("a {", "a: ", "a: }", "}", "a: 'b", "1: 2", "a: \x01"):
            with self.assertRaises(gandem.ConfigError, msg=text):
                _text_proto.parse_message(text)

    def test_names_the_field_of_a_value_that_is_none(self):
        for value, text in (({"a": {"b": object()}}, "a.b: a object"),
                            ({"a b": 1}, "'a b'"), ({1: 1}, "1"),
                            ({"a": "\ud800"}, "a: "),
                            ({"a": gandem.Enum("X Y")}, "a: Enum('X Y')")):
            with self.assertRaises(gandem.ConfigError) as caught:
                _text_proto.format_message(value, no_enum)
            self.assertIn(text, caught.exception.message)
            self.assertEqual(caught.exception.exit_code, 2)

    def test_enums_are_known_by_the_program(self):
        self.assertTrue(_recipe.is_enum("loss", "HINGE"))
        self.assertTrue(_recipe.is_enum("loss", "HINGES"))  # gandem reports it
        self.assertTrue(_recipe.is_enum("data.fit", "RESIZE"))
        self.assertFalse(_recipe.is_enum("name", "HINGE"))
        self.assertFalse(_recipe.is_enum("no.such.field", "HINGE"))

    def test_set_flags(self):
        self.assertEqual(
            _recipe.set_flags({"rounds": 5, "schedule": {"lag": 0}, "seed": None,
                               "data.source": "HERE", "loss": "HINGE",
                               "generator.network.mlp.hidden": [1, 2]}),
            ["--set", "rounds=5", "--set", "schedule.lag=0",
             "--set", 'data.source="HERE"', "--set", "loss=HINGE",
             "--set", "generator.network.mlp.hidden=[1, 2]"])

    def test_own_names_file_and_class(self):
        self.assertEqual(
            gandem.own(RecipeTest, noise_dim=8, width=4, norm="batch"),
            {"python": {"module": os.path.abspath(__file__),
                        "name": "RecipeTest", "noise_dim": 8,
                        "arguments": ["width=4", "norm='batch'"]}})
        self.assertEqual(gandem.own("a.py:B")["python"],
                         {"module": os.path.abspath("a.py"), "name": "B"})

        class Inside:
            pass
        main = types.ModuleType("__main__")  # like in a notebook
        exec("class Cell: pass", vars(main))
        for network, text in ((Inside, "at the top of its file"),
                              ("my_gan.py", "'file.py:Name'"), (7, "no file")):
            with self.assertRaises(gandem.ConfigError, msg=text) as caught:
                gandem.own(network)
            self.assertIn(text, caught.exception.message)
        with mock.patch.dict(sys.modules, __main__=main), \
                self.assertRaisesRegex(gandem.ConfigError, "%%writefile"):
            gandem.own(main.Cell)
        with self.assertRaisesRegex(gandem.ConfigError, "argument a=<object"):
            gandem.own(RecipeTest, a=object())


class MetricsTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gandem-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    @staticmethod
    def line(number, epoch, **more):
        return json.dumps({"role": "generator", "rank": 0, "round": number,
                           "run_epoch": epoch, **more}) + "\n"

    def test_of_several_files_and_run_epochs(self):
        for name, lines in (
                ("metrics.10.jsonl", [self.line(0, 1, loss=1.0)]),
                ("metrics.2.jsonl", [self.line(1, 1, loss=2.0),
                                     self.line(2, 1, loss=3.0)]),
                ("metrics.jsonl", [self.line(1, 2, data={"images": 7}),
                                   "{}\n", "torn\n", self.line(9, 2)[:-1]])):
            (self.folder / name).write_text("".join(lines))
        columns = _metrics.columns_of(self.folder, "generator", 0)
        self.assertEqual(columns["round"], [0, 1, 2])
        self.assertEqual(columns["run_epoch"], [1, 2, 1])
        self.assertEqual(columns["loss"], [1.0, None, 3.0])
        self.assertEqual(columns["data.images"], [None, 7, None])
        self.assertEqual(
            _metrics.columns_of(self.folder, "discriminator", None), {})
        with self.assertRaisesRegex(gandem.ConfigError, "'teacher'"):
            _metrics.columns_of(self.folder, "teacher", None)

    def test_rows_of_several_workers_in_order(self):
        lines = [json.dumps({"role": role, "rank": rank, "round": number,
                             "run_epoch": epoch, "loss": loss}) + "\n"
                 for role, rank, number, epoch, loss in (
                     ("generator", 1, 0, 1, 0.0), ("discriminator", 0, 0, 1, 1.0),
                     ("generator", 0, 0, 1, 2.0), ("generator", 0, 2, 1, 3.0),
                     # Repeated rounds; one precedes its older record.
                     ("generator", 0, 1, 2, 4.0), ("generator", 0, 2, 2, 5.0),
                     ("generator", 0, 1, 1, 6.0))]
        (self.folder / "metrics.jsonl").write_text("".join(lines))
        columns = _metrics.columns_of(self.folder)
        self.assertEqual(columns["loss"], [1.0, 2.0, 0.0, 4.0, 5.0])
        self.assertEqual(columns["rank"], [0, 0, 1, 0, 0])
        self.assertEqual(columns["role"], ["discriminator"] + 4 * ["generator"])
        self.assertEqual(columns["loss"][-1], 5.0)
        self.assertEqual(columns["loss"][1:3], [2.0, 0.0])
        self.assertEqual(repr(columns["rank"]), "[0, 0, 1, 0, 0]")

    def test_a_selection_of_rounds_and_fields(self):
        (self.folder / "metrics.jsonl").write_text("".join(
            self.line(i, 1, loss=i / 4, data={"images": i, "share": 0.5},
                      big=2 ** 70 if i == 4 else i, mixed=i if i < 6 else 0.5)
            for i in range(10)))

        def columns(**selection):
            return _metrics.columns_of(self.folder, **selection)
        self.assertEqual(columns(since=7)["round"], [7, 8, 9])
        self.assertEqual(columns(since=3, every=3)["round"], [3, 6, 9])
        chosen = columns(every=5, fields=["data", "loss"])
        self.assertEqual(chosen, {"loss": [0.0, 1.25], "data.images": [0, 5],
                                  "data.share": [0.5, 0.5]})
        self.assertEqual(columns(fields=["big"])["big"][3:6], [3, 2 ** 70, 5])
        self.assertEqual(columns(fields=["mixed"])["mixed"][5:7], [5, 0.5])
        for text, selection in (("no record has 'los'", {"fields": ["los"]}),
                                ("every=0", {"every": 0}),
                                ("list of names", {"fields": "loss"})):
            with self.assertRaisesRegex(gandem.ConfigError, text):
                columns(**selection)

    def test_a_number_of_a_column_takes_nine_bytes(self):
        (self.folder / "metrics.jsonl").write_text("".join(
            self.line(i, 1, loss=i / 7, noise=[], grid="", **{
                f"wait_{part}": i / 3 for part in range(20)})
            for i in range(5000)))
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        columns = _metrics.columns_of(self.folder)
        taken, peak = tracemalloc.get_traced_memory()
        self.assertEqual(len(columns), 27)
        self.assertLess(taken, 5000 * 27 * 10)
        self.assertLess(peak, 5000 * 27 * 13)

    def test_the_tail_begins_now_and_follows_another_file(self):
        file = self.folder / "metrics.jsonl"
        file.write_text(self.line(0, 1))
        tail = _metrics.Tail(self.folder)
        with open(file, "a") as out:
            out.write(self.line(1, 1) + self.line(2, 1)[:-1])
        self.assertEqual([r["round"] for r in tail.read()], [1])
        with open(file, "a") as out:
            out.write("\n")
        self.assertEqual([r["round"] for r in tail.read()], [2])
        file.rename(self.folder / "metrics.1.jsonl")
        self.assertEqual(tail.read(), [])
        file.write_text(self.line(3, 1))
        self.assertEqual([r["round"] for r in tail.read()], [3])


class ProgramTest(unittest.TestCase):
    def test_where_it_is(self):
        with mock.patch.dict(os.environ, GANDEM_BIN="/no/such"):
            with self.assertRaisesRegex(gandem.ConfigError, "GANDEM_BIN"):
                _program.find_program()
        self.assertEqual(_program.find_program(),
                         str((harness.BIN / "gandem").resolve()))
        with mock.patch.dict(os.environ, GANDEM_BIN="", PATH="/no/such"), \
                mock.patch.object(_program, "build_folders", lambda: []):
            with self.assertRaisesRegex(gandem.ConfigError, "scripts/build.sh"):
                _program.find_program()
            os.environ["PATH"] = str(harness.BIN)
            self.assertEqual(_program.find_program(),
                             str(harness.BIN / "gandem"))

    def test_a_command_that_takes_too_long_is_ended(self):
        with self.assertRaisesRegex(gandem.GandemError, "more than 1e-06 s"):
            _program.call("explain", timeout=1e-6)

    def test_what_a_failure_says(self):
        for errors, printed, text in (
                ("gandem: bad\n", "so far\n", "bad"),
                ("", "round 1\nfailed: why\n | log\n", "failed: why\n | log"),
                ("a warning\n", "1\nfailed: why\n", "a warning\nfailed: why"),
                ("", "1\n2\n", "1\n2"), ("", "", "gandem failed without a word")):
            self.assertEqual(_program.failure(errors, printed), text)

    def test_a_wheel_finds_the_build_that_it_is_of(self):
        wheel = importlib.import_module("wheel_of_build")
        with tempfile.TemporaryDirectory(prefix="gandem-test-") as folder, \
                mock.patch.dict(os.environ,
                                GANDEM_BUILD_DIR=str(harness.BIN.parent)), \
                mock.patch.object(wheel, "extension_of", lambda build: None):
            name = wheel.build_wheel(folder)
            with zipfile.ZipFile(pathlib.Path(folder, name)) as content:
                content.extractall(folder)
            found = subprocess.run(
                [sys.executable, "-c", "from gandem import _program\n"
                 "print(_program.__file__)\nprint(_program.find_program())"],
                env={**os.environ, "PYTHONPATH": folder, "GANDEM_BIN": ""},
                capture_output=True, text=True, timeout=harness.DEADLINE)
            self.assertEqual(found.stdout.split(),
                             [f"{folder}/gandem/_program.py",
                              str(harness.BIN.resolve() / "gandem")],
                             found.stderr)
        with mock.patch.dict(os.environ, GANDEM_BUILD_DIR="/no/such"):
            with self.assertRaisesRegex(SystemExit, "scripts/build.sh"):
                wheel.build_wheel("/no/such")


if __name__ == "__main__":
    harness.main()
