# SPDX-License-Identifier: Apache-2.0
"""Rules of the tree that no compiler checks: rules.py RULE ROOT [ARGUMENT...]

Prints all faults and exits with 1 if there is one. Each rule is a function that
takes the tree's root (and the arguments in its docstring) and yields faults.
rules_test.py plants a violation of each rule.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

# The folders that each folder may include (picture in docs/architecture.md).
# Only tests/ and benchmarks/ include tests/ and benchmarks/; no folder includes
# extras/.
BASE = {"common", "proto"}
BELOW_TRAINING = BASE | {"exchange", "collective", "pipeline", "models"}
MAIN = BELOW_TRAINING | {"training"}
LAYERS = {
    "gandem": set(),
    "proto": set(),
    "common": {"proto"},
    "exchange": BASE,
    "collective": BASE,
    "pipeline": BASE,
    "models": BASE | {"gandem"},
    "training": BELOW_TRAINING,
    "evaluation": MAIN,
    "worker": MAIN,
    "generator_worker": MAIN | {"worker"},
    "discriminator_worker": MAIN | {"worker"},
    "colocated_worker": {"worker", "generator_worker", "discriminator_worker"},
    "python_worker": MAIN | {"worker", "generator_worker",
                             "discriminator_worker", "evaluation"},
    "deploy": BASE,
    "scaling_manager": BASE | {"exchange", "pipeline"},
    "control_plane": BASE | {"exchange", "pipeline", "deploy",
                             "scaling_manager"},
    "library": BASE | {"gandem", "models", "worker", "generator_worker",
                       "discriminator_worker", "evaluation"},
    "examples": {"gandem"},
}
CORE = set(LAYERS) - {"examples"}
ANYTHING = set(LAYERS) | {"tests", "benchmarks"}
LAYERS["tests"] = ANYTHING
LAYERS["benchmarks"] = ANYTHING
# Extras do not include each other; their tests may include the same as tests/.
LAYERS["extras"] = CORE

# The subfolders (rooms) of a folder, from the bottom up: each may include the
# tuples before its own. "" stands for the folder's own files.
ROOMS = {
    "common": [("",), ("files",), ("process",),
               ("checkpoint", "config", "security", "stalls"),
               ("trace", "rpc", "results", "programs"), ("control",)],
    "models": [("",), ("layers",), ("families", "own"), ("registry",)],
    "exchange": [("",), ("rpc",)],
    "pipeline": [("control", "memory"), ("",), ("remote",), ("formats",),
                 ("trees",), ("arrays", "tensors"),
                 ("feed", "sources")],
    "training": [("state",), ("compute",), ("objective",), ("inputs",),
                 ("optimizers/rules",), ("optimizers",), ("fleet",),
                 ("plan",), ("roles",)],
    "evaluation": [("metrics",), ("images",), ("kept",), ("networks",),
                   ("features",), ("export", "judging"), ("commands",)],
    "scaling_manager": [("planner/quality",),
                        ("planner/trials", "planner/model"),
                        ("planner/simulation",), ("planner/scaling",),
                        ("planner",), ("planner/search",), ("profiler",),
                        ("planner_commands",)],
    "control_plane": [("coordinator",), ("launch", "views"), ("monitoring",),
                      ("deploy_commands", "doctor", "logs"),
                      ("reports",), ("command_line",), ("commands",)],
}

# A folder with more files needs subfolders.
MOST_FILES = 30

TORCH_FREE = {"proto", "common", "exchange", "collective", "pipeline",
              "deploy", "scaling_manager", "control_plane", "extras/parquet",
              "extras/report_page"}

# Libraries that only some files may use: (name, include, code, files).
PLACES = [
    ("gRPC", r"grpc(pp)?/|.*\.grpc\.pb\.h", r"\bgrpc::",
     r"(common|exchange)/rpc/|.*_(service|client)\.(cc|h)|collective/ring_|tests/"
     r"|benchmarks/"),
    ("NCCL", r"nccl\.h", r"\bnccl[A-Z]\w*\(",
     r"collective/nccl_|tests/collective/nccl_"),
    ("Arrow", r"(arrow|parquet)/", r"\b(arrow|parquet)::",
     r"extras/parquet/data_worker/"),
    ("Python", r"pybind11/|Python\.h|torch/csrc/utils/pybind\.h",
     r"\b(pybind11|py)::", r"python_worker/"),
    ("prometheus-cpp", r"prometheus/", r"\bprometheus::",
     r"(tests/)?control_plane/monitoring/"),
    ("spdlog", r"spdlog/", r"\bspdlog::", r"common/process/log\.(cc|h)"),
    # The macros clash with those of LibTorch.
    ("glog-style logging", r"glog/|absl/log/", r"(?!)", r"(?!)"),
]


def files(root, pattern):
    """Paths below root whose names match, without build folders and the like."""
    for folder, folders, names in os.walk(root):
        at_top = pathlib.Path(folder) == root
        folders[:] = sorted(
            f for f in folders
            if f not in (".git", "__pycache__")
            and not (at_top and re.match(r"build|runs$|shared$|\.cache", f)))
        for name in sorted(names):
            if re.fullmatch(pattern, name):
                yield pathlib.Path(folder, name)


def sources(root):
    return files(root, r".*\.(cc|h)")


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r"//[^\n]*", "", text)


def part_of(name):
    """The top folder of a file, or extras/NAME for a file of an extra."""
    parts = name.split("/")
    return "/".join(parts[:2 if parts[0] == "extras" else 1])


def may_include(name, header):
    """Whether LAYERS lets the file `name` include `header`."""
    part, other = part_of(name), part_of(header)
    top, other_top = part.split("/")[0], other.split("/")[0]
    if part == other or other_top not in LAYERS:
        return True
    if re.match(r"extras/[^/]+/tests/", name):
        return other in ANYTHING
    return other in LAYERS[top]


def is_of_deleted_extra(root, name):
    """Links and lists may name files of a deleted extra, so that deleting one
    needs no other change."""
    part = part_of(name)
    return part.startswith("extras/") and not (root / part).is_dir()


def includes(root):
    """LAYERS and PLACES allow every #include; paths of gandem's headers start at
    the root."""
    for path in sources(root):
        name = path.relative_to(root).as_posix()
        folder = name.split("/")[0]
        if folder not in LAYERS:
            yield f"{name}: no C++ in this folder; see LAYERS in rules.py"
            continue
        tested = name.split("/")[1] if folder == "tests" else part_of(name)
        torch_free = tested in TORCH_FREE or tested == "testing"
        text = path.read_text()
        for match in re.finditer(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', text,
                                 flags=re.M):
            header = match[2]
            where = f"{name}:{text.count(chr(10), 0, match.start(2)) + 1}"
            top = header.split("/")[0]
            if match[1] == '"' and "/" not in header:
                yield f'{where}: "{header}": write the path from the root'
            elif not may_include(name, header):
                yield (f"{where}: {part_of(name)}/ may not include "
                       f"{part_of(header)}/")
            elif not room_order(name, header):
                yield f"{where}: {header} is in a room above; see ROOMS"
            elif torch_free and top in ("torch", "ATen", "c10", "caffe2"):
                yield f"{where}: {tested}/ must do without Torch"
            for what, include, _, allowed in PLACES:
                if re.match(include, header) and not re.match(allowed, name):
                    yield f"{where}: {what} may not be included here"
        code = without_comments(text)
        for what, _, use, allowed in PLACES:
            if re.search(use, code) and not re.match(allowed, name):
                yield f"{name}: {what} may not be used here"


def room_order(name, header):
    """Whether ROOMS lets the file `name` include `header`."""
    top = name.split("/")[0]
    if top not in ROOMS or header.split("/")[0] != top:
        return True
    room, other = (os.path.dirname(x)[len(top) + 1:] for x in (name, header))
    level = {r: i for i, rooms in enumerate(ROOMS[top]) for r in rooms}
    return (room == other
            or (room in level and other in level and level[other] < level[room]))


def folder_sizes(root):
    """No folder holds more than MOST_FILES files, not counting README.md."""
    counts = {}
    for path in files(root, r"(?!README\.md)[^.].*"):
        counts[path.parent] = counts.get(path.parent, 0) + 1
    for folder, count in sorted(counts.items()):
        if count > MOST_FILES:
            yield f"{folder.relative_to(root)}/: {count} files; make rooms"


def signs(root):
    """Every top-level folder and every extra has a README.md of 5 to 15 lines."""
    for folder in [*sorted(root.iterdir()), *sorted(root.glob("extras/*"))]:
        if not folder.is_dir() or not any(files(folder, r"[^.].*")):
            continue
        name = folder.name
        if name.startswith(".") or re.match(r"build|runs$|shared$", name):
            continue
        sign = folder / "README.md"
        lines = len(sign.read_text().splitlines()) if sign.exists() else 0
        if not 5 <= lines <= 15:
            yield (f"{sign.relative_to(root)}: {lines} lines; 5 to 15 say what "
                   "lives here")


def licenses(root):
    """Every source file names the license in its first two lines."""
    for path in files(root, r".*\.(cc|h|proto|py|sh|cmake)|CMakeLists\.txt|run"):
        lines = path.read_text().split("\n")[:2]
        if not any("SPDX-License-Identifier: Apache-2.0" in x for x in lines):
            yield f"{path.relative_to(root)}: no SPDX-License-Identifier line"


def formatting(root):
    """clang-format changes no C++ file."""
    paths = [path.as_posix() for path in sources(root)]
    done = subprocess.run(
        ["clang-format", "--dry-run", "-Werror", "--style=file", *paths],
        capture_output=True, text=True)
    for line in done.stderr.split("\n"):
        if ": error:" in line:
            yield f"{line} (clang-format -i)"
    if done.returncode != 0 and not done.stderr:
        yield f"clang-format ended with {done.returncode}"


def anchors(text):
    """Anchors of a page's headings, as GitHub forms them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.S),
                          re.M)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", heading).lower())
            .strip().replace(" ", "-") for heading in headings}


def documents(root):
    """The README or docs/ names each recipe, and all relative links of documents
    are valid, with their anchors."""
    pages = [*files(root, r".*\.md")]
    prose = "".join(page.read_text() for page in pages
                    if page == root / "README.md"
                    or root / "docs" in page.parents)
    for recipe in files(root / "recipes", r".*\.textproto"):
        if not re.search(rf"\b{recipe.stem}\b", prose):
            yield f"{recipe.relative_to(root)}: named in no document"
    for page in pages:
        text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.S)
        for target, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", text):
            linked = page.parent / target if target else page
            if "://" in target or linked.exists():
                if (linked.suffix == ".md" and anchor and linked.exists()
                        and anchor not in anchors(linked.read_text())):
                    yield (f"{page.relative_to(root)}: no such heading: "
                           f"{target}#{anchor}")
                continue
            path = os.path.relpath(page.parent / target, root)
            if not is_of_deleted_extra(root, path):
                yield f"{page.relative_to(root)}: no such file: {target}"


# A sentence with such an opening makes sense only after the line before it.
HEADLESS = ("(Of|Who|Whom|Whose|What|Those|That of|Where|Else|But for|As if|"
            "Nobody)")
# A file with planted faults.
NOT_PLAIN = ("tests/repository/rules_test.py",)


def plain_english(root):
    """No comment, quoted text or name of a test opens with a word of HEADLESS."""
    for path in files(root, r".*\.(cc|h|proto|py|sh|cmake|textproto|js)"
                            r"|CMakeLists\.txt"):
        name = path.relative_to(root).as_posix()
        if name.startswith(NOT_PLAIN):
            continue
        sign = "//" if re.search(r"\.(cc|h|proto|js)$", path.name) else "#"
        opening = re.compile(
            rf"{sign}+ {HEADLESS}\b|(?<![\w\"])\"{{1,3}}{HEADLESS} "
            rf"|\bTEST\w*\(\w+,\s*{HEADLESS}[A-Z]")
        goes_on = False
        lines = path.read_text().split("\n")
        for number, line in enumerate(lines, start=1):
            found = opening.search(line)
            if found and not (goes_on and line.lstrip().startswith((sign, '"'))):
                yield (f"{name}:{number}: opens with "
                       f"\"{found.group().split()[-1]}\": {line.strip()}")
            goes_on = (re.fullmatch(rf"\s*{sign}+ .*", line) is not None
                       or re.search(r"[\w,;:%)] ?\"$", line) is not None)


# Folders and files of other projects that comments cite.
ELSEWHERE = {"ATen", "absl", "c10", "gan_64x64.py", "google", "grpcpp",
             "my_gan.py", "nccl.h", "torch"}
# Placeholders in explanations: a.cc, b_test.cc.
ANY_FILE = r"[ab](_\w+)?\.\w+"


def citations(root):
    """No comment and no document cites a missing file (.md, .h, .cc, .py, .sh) or
    a missing section of a document."""
    tree = [p.relative_to(root).as_posix() for p in files(root, r"[^.].*")]
    known = {end for name in tree for end in endings(name)}
    for path in files(root, r".*\.(cc|h|md|proto|py|sh)"):
        for cited, sections in cited_files(path):
            where = f"{path.relative_to(root)}: {cited}"
            if (cited.split("/")[0] in ELSEWHERE
                    or re.fullmatch(ANY_FILE, cited)
                    or is_of_deleted_extra(root, cited)):
                continue
            if not (cited in known or (path.parent / cited).exists()):
                yield f"{where}: no such file"
            elif cited.endswith(".md"):
                page = next(root / name for name in sorted(tree)
                            if cited in endings(name))
                for section in sections:
                    if not re.search(rf"^(#+|\|) {re.escape(section)}[ .]",
                                     page.read_text(), re.M):
                        yield f"{where}: no section {section}"


def endings(name):
    """Names by which a document may cite a file: style.md for docs/style.md."""
    parts = name.split("/")
    return ["/".join(parts[i:]) for i in range(len(parts))]


def cited_files(path):
    """(file, sections) for citations such as "design.md sections 4 and 6"."""
    text = path.read_text()
    if path.suffix == ".md":
        text = re.sub(r"```.*?```", "", text, flags=re.S)
    elif path.suffix in (".py", ".sh"):
        text = " ".join(re.findall(r"(?m)(?:^|\s)#\s(.*)$", text)
                        + re.findall(r'""".*?"""', text, flags=re.S))
    else:
        text = "\n".join(re.findall(r"//\s?(.*)", text))
    number = r"[A-Z]?\d+(?:\.\d+)?"
    for match in re.finditer(
            r"(?<![\w/.*{}<>$-])((?:[\w-]+/)*[\w-]+\.(?:md|h|cc|py|sh))\b(?![\w*/])"
            rf"(?:\s+(?:sections?\s+)?({number}(?:(?:,|\s+and|\s+to)\s+{number})*))?",
            text):
        yield match[1], re.findall(number, match[2] or "")


# Folders of readers, in which a fuzz target includes every header; readers of
# files and messages in other folders; and headers that need no fuzz target.
READERS = ("extras/parquet", "pipeline/formats", "pipeline/tensors",
           "common/checkpoint")
SINGLE_READERS = (
    "collective/ring_codec.h", "common/config/run_config.h",
    "common/control/measure_service.h", "common/files/metric_card.h",
    "common/files/png.h", "common/results/round_history.h",
    "evaluation/features/feature_store.h",
    "evaluation/metrics/statistics_file.h", "exchange/rpc/peer_table.h",
    "exchange/wire_codec.h",
    "pipeline/remote/aws_settings.h", "pipeline/remote/http_client.h",
    "pipeline/remote/s3_answers.h", "pipeline/remote/url.h",
    "control_plane/coordinator/coordinator.h",
    "control_plane/doctor/doctor_service.h",
    "control_plane/doctor/peer_checks.h",
    "control_plane/logs/log_file.h",
    "scaling_manager/planner_commands/machines.h",
    "scaling_manager/planner_commands/plan_file.h",
    "scaling_manager/profiler/profile_file.h",
    "worker/profile/transfer_probe.h")
NOT_FUZZED = {
    "common/checkpoint/initial_state.h": "copies files, reads none",
    "common/checkpoint/checkpoint_pruner.h": "reads no format of its own",
    "common/checkpoint/safetensors_writer.h": "writes",
    "common/checkpoint/tensor_snapshot.h": "writes",
    # Arrow reads Parquet in a separate process; data_frames_fuzzer is the fuzz
    # target for that process's answers.
    "extras/parquet/data_worker/arrow_status.h": "Arrow's",
    "extras/parquet/data_worker/asked_file.h": "Arrow's",
    "extras/parquet/data_worker/image_columns.h": "Arrow's",
    "extras/parquet/data_worker/parquet_shard.h": "Arrow's",
    "extras/parquet/data_worker/serve.h": "reads by data_frames.h",
    # Targets are built without Torch. Both headers read through safetensors.h,
    # text_proto.h and npz.h, which have targets, and then compare shapes.
    "evaluation/features/feature_store.h": "Torch's",
    "evaluation/metrics/statistics_file.h": "Torch's",
    "pipeline/formats/gzip.h": "zlib's; idx_fuzzer.cc reads through it",
    "pipeline/formats/zip_format.h": "constants",
    "extras/parquet/data_worker_pool.h": "asks by data_worker_client.h",
    "extras/parquet/parquet_files.h": "names of files",
    "extras/parquet/parquet_images.h": "asks by data_worker_client.h",
    "pipeline/remote/aws_settings.h": "lines of the user's own ~/.aws",
    "pipeline/tensors/tensor_images.h": "reads by tensor_file.h",
    "pipeline/tensors/tensor_paths.h": "names of files",
}


def fuzzed(root):
    """Every reader of a file format has a fuzz target."""
    targets = "".join(path.read_text()
                      for path in files(root, r".*_fuzzer\.cc"))
    readers = [path.relative_to(root).as_posix() for folder in READERS
               for path in files(root / folder, r".*\.h")]
    readers = [name for name in readers if "/tests/" not in name]
    for name in [*readers, *SINGLE_READERS]:
        if name not in NOT_FUZZED and f'#include "{name}"' not in targets:
            yield f"{name}: no fuzz target includes it"
    for name in [*SINGLE_READERS, *NOT_FUZZED]:
        if not (root / name).exists() and not is_of_deleted_extra(root, name):
            yield f"rules.py, readers: there is no {name}"


def known_tests(root, build):
    """ARGUMENT: the folder of a build with extras/. ctest runs every *_test.cc and
    *_test.py, the fuzz targets are built, and only tests with the label gpu or
    optional may be skipped."""
    listing = subprocess.run(
        ["ctest", "--test-dir", build, "--show-only=json-v1"],
        capture_output=True, text=True, check=True)
    tests = json.loads(listing.stdout)["tests"]
    sources = pathlib.Path(build, "test_sources.txt").read_text()
    yield from unknown_tests(root, tests, sources)
    yield from skipping_tests(tests)


def unknown_tests(root, tests, sources):
    """`sources` has a line for each test and each of its sources."""
    words = {word for test in tests for word in test.get("command", [])}
    names = {test["name"] for test in tests}
    test_of = {}
    for line in sources.splitlines():
        name, source = line.split(" ", 1)
        test_of[os.path.realpath(source)] = name
    for path in [*files(root / "tests", r".*_test\.(cc|py)"),
                 *files(root / "extras", r".*_test\.(cc|py)")]:
        name = path.relative_to(root)
        if path.suffix == ".py":
            if path.as_posix() not in words:
                yield f"{name}: ctest does not run it (is the build's " \
                      "GANDEM_TEST_PYTHON set?)"
        elif test_of.get(os.path.realpath(path)) not in names:
            yield f"{name}: ctest does not run it"
    for path in files(root, r".*_fuzzer\.cc"):
        part = part_of(path.relative_to(root).as_posix())
        listed = root / part / ("tests" if "/" in part else "fuzz")
        listed = listed / "CMakeLists.txt"
        if path.name not in listed.read_text():
            yield f"{path.relative_to(root)}: not in {listed.relative_to(root)}"


def skipping_tests(tests):
    for test in tests:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        if {"gpu", "optional"} & set(properties.get("LABELS", [])):
            continue
        for how in ("DISABLED", "SKIP_RETURN_CODE", "SKIP_REGULAR_EXPRESSION"):
            if properties.get(how):
                yield f"test {test['name']}: {how}, but only those labelled " \
                      "gpu or optional may be skipped"


# Programs that must not load libprotobuf: Arrow contains parts of another one.
WITHOUT_PROTOBUF = {"data_worker"}


def one_protobuf(root, *programs):
    """ARGUMENTS: programs. Each program loads exactly one libprotobuf (none for
    WITHOUT_PROTOBUF) and finds all libraries without LD_LIBRARY_PATH."""
    clean = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
    if not programs:
        yield "no program to look at"
    for program in programs:
        listing = subprocess.run(["ldd", program], capture_output=True,
                                 text=True, env=clean, check=True).stdout
        yield from protobuf_faults(program, listing)


def protobuf_faults(program, listing):
    found = re.findall(r"^\s*(libprotobuf(?:-lite)?\.so\S*)", listing, re.M)
    wanted = 0 if pathlib.Path(program).name in WITHOUT_PROTOBUF else 1
    if len(found) != wanted:
        yield f"{program} loads {len(found)} libprotobuf: {' '.join(found)}"
    for library in re.findall(r"(\S+) => not found", listing):
        yield f"{program} does not find {library}"


RULES = {rule.__name__: rule for rule in
         (includes, folder_sizes, signs, licenses, formatting, documents,
          plain_english, citations, fuzzed, known_tests, one_protobuf)}

if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in RULES:
        sys.exit(f"usage: rules.py {'|'.join(RULES)} ROOT [ARGUMENT...]")
    faults = list(RULES[sys.argv[1]](pathlib.Path(sys.argv[2]).resolve(),
                                     *sys.argv[3:]))
    for fault in faults:
        print(fault)
    print(f"{sys.argv[1]}: {len(faults)} faults")
    sys.exit(1 if faults else 0)
