# SPDX-License-Identifier: Apache-2.0
"""Plants violations of each rule in rules.py, which must find them."""
import pathlib
import tempfile
import unittest

import rules

LICENSE = "// SPDX-License-Identifier: Apache-2.0\n"


class Tree(unittest.TestCase):
    """A tree of a few files. `faults` returns the faults of one rule."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def faults(self, rule, *arguments):
        return list(rule(self.root, *arguments))

    def expect_fault(self, rule, *words):
        faults = self.faults(rule)
        self.assertEqual(len(faults), 1, faults)
        for word in words:
            self.assertIn(word, faults[0])


class IncludesTest(Tree):
    def included(self, name, line):
        self.write(name, f"{LICENSE}\n{line}\n")
        return self.faults(rules.includes)

    def test_drawn_arrows_pass(self):
        for name, header in [("exchange/a.cc", "common/status.h"),
                             ("exchange/b.cc", "exchange/a.h"),
                             ("training/a.cc", "models/network.h"),
                             ("generator_worker/main.cc", "training/loop.h"),
                             ("scaling_manager/a.cc", "proto/config.pb.h"),
                             ("tests/exchange/a_test.cc", "exchange/a.h"),
                             ("tests/training/a_test.cc", "torch/torch.h"),
                             ("models/a.h", "ATen/core/Tensor.h"),
                             ("exchange/c.cc", "absl/status/status.h"),
                             ("exchange/rpc/exchange_server.cc",
                              "grpcpp/grpcpp.h"),
                             ("common/process/log.cc", "spdlog/spdlog.h"),
                             ("exchange/rpc/a.cc", "exchange/a.h"),
                             ("training/roles/a.cc", "training/state/ema.h"),
                             ("common/config/a.h", "common/config/b.h"),
                             ("extras/a/b.cc", "extras/a/b.h"),
                             ("extras/a/c.cc", "training/loop.h"),
                             ("extras/a/tests/b_test.cc", "extras/a/b.h"),
                             ("extras/a/tests/c_test.cc",
                              "tests/testing/temp_dir.h")]:
            self.assertEqual(self.included(name, f'#include "{header}"'), [])

    def test_rooms_above_and_beside(self):
        for name, header in [("exchange/a.cc", "exchange/rpc/a.h"),
                             ("training/state/a.cc", "training/roles/b.h"),
                             ("common/trace/a.cc", "common/rpc/channel.h"),
                             ("common/a.h", "common/attic/a.h"),
                             ("evaluation/attic/a.h", "evaluation/images/a.h")]:
            faults = self.included(name, f'#include "{header}"')
            self.assertEqual(faults, [f"{name}:3: {header} is in a room above; "
                                      "see ROOMS"])
            (self.root / name).unlink()

    def test_arrow_that_is_not_drawn(self):
        for name, header in [("common/a.cc", "exchange/exchange.h"),
                             ("proto/a.cc", "common/status.h"),
                             ("exchange/a.cc", "pipeline/dataset.h"),
                             ("models/a.h", "training/objective/losses.h"),
                             ("scaling_manager/a.cc", "collective/collective.h"),
                             ("scaling_manager/b.cc", "training/loop.h"),
                             ("generator_worker/main.cc",
                              "discriminator_worker/wiring.h"),
                             ("training/a.cc", "evaluation/frechet.h"),
                             ("common/b.cc", "tests/testing/temp_dir.h")]:
            folder, other = name.split("/")[0], header.split("/")[0]
            faults = self.included(name, f"  #  include <{header}>")
            self.assertEqual(faults, [f"{name}:3: {folder}/ may not include "
                                      f"{other}/"])
            (self.root / name).unlink()

    def test_extras_are_included_by_themselves_only(self):
        for name, header in [("common/a.cc", "extras/a/b.h"),
                             ("tests/common/a_test.cc", "extras/a/b.h"),
                             ("benchmarks/a.cc", "extras/a/b.h"),
                             ("extras/b/a.cc", "extras/a/b.h"),
                             ("extras/b/tests/a_test.cc", "extras/a/b.h"),
                             ("extras/b/c.cc", "tests/testing/temp_dir.h")]:
            faults = self.included(name, f'#include "{header}"')
            part, other = rules.part_of(name), rules.part_of(header)
            self.assertEqual(
                faults, [f"{name}:3: {part}/ may not include {other}/"])
            (self.root / name).unlink()

    def test_torch_in_a_torch_free_folder(self):
        for name in ["exchange/a.h", "common/rpc/a.cc", "pipeline/a.cc",
                     "scaling_manager/a.cc", "tests/exchange/a_test.cc",
                     "tests/testing/a.h", "extras/report_page/a.cc",
                     "extras/report_page/tests/a_test.cc"]:
            faults = self.included(name, "#include <ATen/core/Tensor.h>")
            self.assertEqual(len(faults), 1, name)
            self.assertIn("without Torch", faults[0])
            (self.root / name).unlink()

    def test_places(self):
        for name, line, what in [
                ("exchange/cache.cc", "#include <grpcpp/grpcpp.h>", "gRPC"),
                ("training/a.cc", '#include "proto/control.grpc.pb.h"', "gRPC"),
                ("training/b.cc", "grpc::Status Run();", "gRPC"),
                ("collective/ring.cc", "#include <nccl.h>", "NCCL"),
                ("training/c.cc", "void F() { ncclAllReduce(); }", "NCCL"),
                ("training/d.cc", "#include <spdlog/spdlog.h>", "spdlog"),
                ("common/a.h", '#include "absl/log/check.h"', "glog")]:
            faults = self.included(name, line)
            self.assertEqual(len(faults), 1, (line, faults))
            self.assertIn(what, faults[0])
            (self.root / name).unlink()

    def test_comments_do_not_count(self):
        self.assertEqual(
            self.included("training/a.cc", "// not grpc::Status\nint a;"), [])

    def test_path_from_the_root(self):
        self.assertEqual(len(self.included("common/a.cc", '#include "b.h"')), 1)

    def test_new_folder(self):
        self.assertEqual(len(self.included("misc/a.cc", "int a;")), 1)


class TextTest(Tree):
    def test_missing_license_line(self):
        self.write("common/a.cc", LICENSE)
        self.write("scripts/a.sh", "#!/bin/bash\n# SPDX-License-Identifier: "
                                   "Apache-2.0\n")
        self.assertEqual(self.faults(rules.licenses), [])
        self.write("proto/a.proto", "syntax = \"proto3\";\n")
        self.expect_fault(rules.licenses, "proto/a.proto")

    def test_format(self):
        self.write(".clang-format", "BasedOnStyle: Google\n")
        self.write("common/a.cc", "int a;\n")
        self.assertEqual(self.faults(rules.formatting), [])
        self.write("common/b.cc", "int  b ;\n")
        self.assertTrue(self.faults(rules.formatting))

    def test_recipe_that_no_document_names(self):
        self.write("recipes/shoes.textproto", "")
        self.write("docs/a.md", "`recipes/shoes.textproto`")
        self.assertEqual(self.faults(rules.documents), [])
        self.write("recipes/shoe.textproto", "")
        self.expect_fault(rules.documents, "recipes/shoe.textproto")

    def test_link_that_leads_nowhere(self):
        self.write("docs/a.md", "# `A` [part](a.md)\n[b](b.md) [a](a.md#a-part) "
                                "[c](https://c.org/#c) `[&](x)`")
        self.expect_fault(rules.documents, "docs/a.md", "b.md")

    def test_link_to_no_heading(self):
        self.write("docs/a.md", "# One\n```\n# two\n```\n[b](#one) [c](a.md#two)")
        self.expect_fault(rules.documents, "docs/a.md", "a.md#two")

    def test_link_into_an_extra(self):
        self.write("docs/a.md", "[b](../extras/a/b.md)")
        self.assertEqual(self.faults(rules.documents), [])  # it was deleted
        self.write("extras/a/README.md", "line\n" * 5)
        self.expect_fault(rules.documents, "docs/a.md", "b.md")


class FilesTest(Tree):
    def test_folder_without_rooms(self):
        for i in range(rules.MOST_FILES):
            self.write(f"common/{i}.h", "")
        self.write("common/files/a.h", "")
        self.write("common/README.md", "")
        self.assertEqual(self.faults(rules.folder_sizes), [])
        self.write("common/one_more.h", "")
        self.expect_fault(rules.folder_sizes, "common/", "make rooms")

    def test_folder_without_a_sign(self):
        self.write("common/README.md", "line\n" * 5)
        self.write("build/a.o", "")
        self.assertEqual(self.faults(rules.signs), [])
        self.write("exchange/README.md", "line\n" * 16)
        self.expect_fault(rules.signs, "exchange/README.md", "16 lines")
        (self.root / "exchange/README.md").unlink()
        self.write("exchange/a.h", LICENSE)
        self.expect_fault(rules.signs, "exchange/README.md", "0 lines")
        self.write("exchange/README.md", "line\n" * 5)
        self.write("extras/README.md", "line\n" * 5)
        self.write("extras/a/b.h", LICENSE)
        self.expect_fault(rules.signs, "extras/a/README.md", "0 lines")


class PlainEnglishTest(Tree):
    def test_openings_without_a_subject(self):
        for name, line in [("a.h", "  // Of the parts of either role."),
                           ("a.h", "  int done;  // Those that fit."),
                           ("a.cc", 'Add("--splits", "Of the score");'),
                           ("a_test.cc", "TEST(A, WhoKnowsNobodyIsRefused) {"),
                           ("a.py", '    """What is left."""'),
                           ("CMakeLists.txt", "# Where it lies.")]:
            self.write(name, f"{line}\n")
            self.expect_fault(rules.plain_english, f"{name}:1", line.strip())
            (self.root / name).unlink()

    def test_sentences(self):
        self.write("a.h", "// Extracts the parts, whatever they are.\n"
                          "// The images that fit are those of the file\n"
                          "// Of Mice and Men.\n")
        self.write("a.cc", 'Add("Waits; "\n    "Of course");\n'
                           'TEST(A, WhateverFitsIsTaken) {\n')
        self.assertEqual(self.faults(rules.plain_english), [])


class CitationsTest(Tree):
    def setUp(self):
        super().setUp()
        self.write("docs/design.md", "## 4. Schedule\n### 4.1 Lag\n| 7 | a |\n")
        self.write("exchange/schedule.h", LICENSE)

    def test_what_is_there(self):
        self.write("exchange/cache.h", "// design.md sections 4 and 7,\n"
                                       "// docs/design.md\n// 4.1, schedule.h, "
                                       "torch/torch.h, a_test.cc\nint a;")
        self.write("scripts/a.py", "# exchange/schedule.h\nb = 'gone.h'\n")
        self.write("README.md", "[design](docs/design.md), `schedule.h`")
        self.assertEqual(self.faults(rules.citations), [])

    def test_file_that_is_not_there(self):
        for name, text in [("exchange/cache.h", "int a;  // in exchange/gone.h"),
                           ("docs/page.md", "see `gone.h`"),
                           ("scripts/a.py", '# See gone.h.'),
                           ("proto/a.proto", "// schedule/gone.h")]:
            path = self.write(name, text)
            self.expect_fault(rules.citations, name, "gone.h: no such file")
            path.unlink()

    def test_file_of_an_extra(self):
        self.write("docs/page.md", "see `extras/a/gone.h`")
        self.assertEqual(self.faults(rules.citations), [])  # it was deleted
        self.write("extras/a/b.h", LICENSE)
        self.expect_fault(rules.citations, "docs/page.md", "gone.h")

    def test_section_that_is_not_there(self):
        self.write("exchange/cache.h", "// (design.md sections 4\n// and 8)")
        self.expect_fault(rules.citations, "exchange/cache.h", "no section 8")
        self.write("exchange/cache.h", "// design.md T4")
        self.expect_fault(rules.citations, "exchange/cache.h", "no section T4")


class FuzzedTest(Tree):
    def setUp(self):
        super().setUp()
        for name in {*rules.NOT_FUZZED, *rules.SINGLE_READERS}:
            self.write(name, LICENSE)
        self.write("tests/fuzz/all_fuzzer.cc", "".join(
            f'#include "{name}"\n' for name in rules.SINGLE_READERS))

    def test_single_reader_without_target(self):
        self.write("tests/fuzz/all_fuzzer.cc", "".join(
            f'#include "{name}"\n' for name in rules.SINGLE_READERS
            if name != "exchange/wire_codec.h"))
        self.expect_fault(rules.fuzzed, "exchange/wire_codec.h",
                          "no fuzz target")

    def test_single_reader_that_is_gone(self):
        (self.root / "exchange/wire_codec.h").unlink()
        self.expect_fault(rules.fuzzed, "there is no", "wire_codec.h")

    def test_reader_without_target(self):
        self.write("pipeline/formats/a.h", LICENSE)
        self.expect_fault(rules.fuzzed, "pipeline/formats/a.h", "no fuzz target")
        # An include in another file does not count as a target.
        include = '#include "pipeline/formats/a.h"\n'
        self.write("tests/fuzz/a.h", include)
        self.expect_fault(rules.fuzzed, "pipeline/formats/a.h")
        self.write("tests/fuzz/a_fuzzer.cc", include)
        self.assertEqual(self.faults(rules.fuzzed), [])

    def test_target_of_an_extra(self):
        self.write("pipeline/formats/a.h", LICENSE)
        self.write("extras/a/tests/a_fuzzer.cc",
                   '#include "pipeline/formats/a.h"\n')
        self.assertEqual(self.faults(rules.fuzzed), [])

    def test_exception_that_is_gone(self):
        (self.root / "pipeline/formats/zip_format.h").unlink()
        self.expect_fault(rules.fuzzed, "there is no", "zip_format.h")


class TestsTest(Tree):
    def ctest(self, program, **properties):
        return {"name": program, "command": [f"/b/tests/{program}"],
                "properties": [{"name": k, "value": v}
                               for k, v in properties.items()]}

    def unknown(self, tests, sources=""):
        return list(rules.unknown_tests(self.root, tests, sources))

    def test_orphans(self):
        path = self.write("tests/common/a_test.cc", LICENSE)
        known = [self.ctest("a_test")]
        line = f"a_test {path}\n"
        self.assertEqual(self.unknown(known, line), [])
        self.assertEqual(len(self.unknown(known)), 1)
        self.assertEqual(len(self.unknown([], line)), 1)

    def test_orphans_of_an_extra(self):
        self.write("extras/a/tests/a_test.cc", LICENSE)
        self.write("extras/a/tests/b_fuzzer.cc", LICENSE)
        self.write("extras/a/tests/CMakeLists.txt", "")
        self.assertEqual(len(self.unknown([])), 2)

    def test_python_orphan(self):
        path = self.write("tests/common/a_test.py", "")
        self.assertEqual(len(self.unknown([])), 1)
        self.assertEqual(
            self.unknown([{"name": "a", "command": ["python3", str(path)]}]), [])

    def test_fuzz_orphan(self):
        self.write("tests/fuzz/a_fuzzer.cc", LICENSE)
        self.write("tests/fuzz/CMakeLists.txt", "")
        self.assertEqual(len(self.unknown([])), 1)

    def test_skips(self):
        skip = {"SKIP_REGULAR_EXPRESSION": ["SKIPPED"]}
        self.assertEqual(len(list(rules.skipping_tests(
            [self.ctest("a", **skip)]))), 1)
        self.assertEqual(list(rules.skipping_tests(
            [self.ctest("a", LABELS=["gpu"], **skip),
             self.ctest("b", LABELS=["integration", "optional"], **skip),
             self.ctest("c")])), [])


class ProtobufTest(unittest.TestCase):
    ONE = "\tlibprotobuf.so.32 => /usr/lib/libprotobuf.so.32 (0x1)\n"

    def test_exactly_one(self):
        self.assertEqual(list(rules.protobuf_faults("a", self.ONE)), [])
        two = self.ONE + "\tlibprotobuf.so.23 => /torch/libprotobuf.so.23 (0x2)"
        self.assertEqual(len(list(rules.protobuf_faults("a", two))), 1)
        self.assertEqual(len(list(rules.protobuf_faults("a", ""))), 1)
        worker = "bin/data_worker"
        self.assertEqual(list(rules.protobuf_faults(worker, "")), [])
        self.assertEqual(len(list(rules.protobuf_faults(worker, self.ONE))), 1)

    def test_missing_library(self):
        listing = self.ONE + "\tlibc10.so => not found\n"
        self.assertEqual(list(rules.protobuf_faults("a", listing)),
                         ["a does not find libc10.so"])


if __name__ == "__main__":
    unittest.main()
