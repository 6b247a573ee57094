# SPDX-License-Identifier: Apache-2.0
"""Generators of runs as torch.nn.Modules. The one file of the face that needs
torch."""
from __future__ import annotations

import json
import os
import pathlib
import struct
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Optional

from gandem import _program
from gandem._errors import ConfigError

try:
    import torch
except ImportError as _error:
    raise ConfigError("this needs torch: pip install torch into this "
                      "interpreter, or write files with `gandem sample` and "
                      "`gandem export`") from _error

if TYPE_CHECKING:
    from gandem._run import Run

# Images of one pass.
BATCH = 64
# Name in a safetensors file: the type in PyTorch (common/checkpoint/safetensors.h).
TYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16,
         "BF16": torch.bfloat16, "I64": torch.int64, "I32": torch.int32,
         "U8": torch.uint8, "BOOL": torch.bool}
AVERAGE = "ema."
# Mark of a card that may be replaced (evaluation/export/model_card.cc).
CARD_MARK = "<!-- Written by gandem export. -->"


def load(run: Run) -> torch.nn.Module:
    network = run.config["generator"]["network"]
    if "python" in network:
        return load_own(run, network["python"])
    return load_exported(run)


def load_exported(run: Run) -> torch.nn.Module:
    """Loads the generator that `gandem export` writes once for each
    checkpoint."""
    from gandem._run import EXPORT_SECONDS
    checkpoint = run.checkpoint()
    file = run.dir / "export" / checkpoint.name / "generator.pt"
    # A run that was rolled back writes a step again.
    made = file.stat().st_mtime if file.exists() else 0.0
    if made <= (checkpoint / "manifest.textproto").stat().st_mtime:
        file.parent.mkdir(parents=True, exist_ok=True)
        _program.call("export", run.dir, "-o", file, "--checkpoint",
                      int(checkpoint.name[5:]), timeout=EXPORT_SECONDS)
    return torch.jit.load(str(file)).eval()


def export_onnx(run: Run, file: pathlib.Path, flags: Sequence[object]) -> None:
    """Exports, with torch.onnx, the graph that `gandem export` records, with
    its card and grid. The files are replaced as a whole or not at all."""
    from gandem._run import EXPORT_SECONDS
    with tempfile.TemporaryDirectory(prefix="gandem-") as folder:
        recorded = pathlib.Path(folder, file.stem + ".pt")
        _program.call("export", run.dir, "-o", recorded, *flags,
                      timeout=EXPORT_SECONDS)
        # Weights that follow from others (spectral norm) become constants.
        module = torch.jit.freeze(torch.jit.load(str(recorded)).eval(),
                                  optimize_numerics=False)
        card = recorded.with_name("README.md").read_text()
        grid = recorded.with_suffix(".png")
        picture = grid.read_bytes() if grid.exists() else None
    prepare_for_onnx(module.graph)
    names = [argument.name for argument in module.forward.schema.arguments[1:]]
    output = "translated" if "images" in names else "images"
    config = run.config
    examples = {name: example(config, name) for name in names}
    part = file.with_name(file.name + ".part")
    try:
        torch.onnx.export(
            module, tuple(examples.values()),
            str(part), input_names=names, output_names=[output], dynamo=False,
            dynamic_axes={name: {0: "N"} for name in [*names, output]})
        os.replace(part, file)
        if picture is not None:
            file.with_suffix(".png").write_bytes(picture)
        card_path(file).write_text(card_for_onnx(card, file.name, examples))
    except torch.onnx.errors.OnnxExporterError as error:
        raise ConfigError(f"torch.onnx cannot write this generator: {error}"
                          ) from error
    except OSError as error:
        raise ConfigError(f"'{file}' cannot be written ({error.strerror})"
                          ) from error
    finally:
        part.unlink(missing_ok=True)


def card_path(file: pathlib.Path) -> pathlib.Path:
    """Returns README.md, or the name of `file` with .md if README.md is not from
    gandem."""
    readme = file.with_name("README.md")
    if not readme.exists() or CARD_MARK in readme.read_text():
        return readme
    return file.with_suffix(".md")


def card_for_onnx(card: str, name: str,
                  examples: dict[str, torch.Tensor]) -> str:
    """The card of a .pt, with how its ONNX file is used."""
    before, _, rest = card.partition("## Use\n\n```python\n")
    _, end, after = rest.partition("```\n")
    if not end:
        raise ConfigError("gandem and this package are of different versions: "
                          "the model card has no part 'Use'")
    lines = ["import numpy, onnxruntime", "",
             f'session = onnxruntime.InferenceSession("{name}")',
             "draw = numpy.random.default_rng()", "inputs = {"]
    for one, tensor in examples.items():
        shape = ", ".join(map(str, (16, *tensor.shape[1:])))
        made = {
            "noise": f"draw.standard_normal(({shape}), numpy.float32),",
            "labels": "numpy.zeros(16, numpy.int64),",
            "images": "...,  # float32 [N, C, H, W] in [-1, 1]"}[one]
        lines.append(f'    "{one}": {made}')
    lines += ["}", "made, = session.run(None, inputs)  "
              "# [N, C, H, W] in (-1, 1)", ""]
    before = before.replace("library_name: pytorch", "library_name: onnx", 1)
    return (f"{before}## Use\n\n```python\n" + "\n".join(lines) +
            f"```\n{after}")


def prepare_for_onnx(graph: Any) -> None:
    """Replaces two things in a LibTorch graph that torch.onnx does not read:
    one number for both directions, and batch norm without a weight."""
    def replace(node: Any, place: int, value: object) -> None:
        with graph.insert_point_guard(node):
            node.replaceInput(place, graph.insertConstant(value))

    kinds = {"aten::_convolution": (3, 4, 5, 7), "aten::avg_pool2d": (1, 2, 3),
             "aten::max_pool2d": (1, 2, 3, 4)}
    for kind, places in kinds.items():
        for node in graph.findAllNodes(kind):
            inputs = list(node.inputs())
            for place in places:
                numbers = inputs[place].toIValue()
                if numbers is not None and len(numbers) == 1:
                    replace(node, place, 2 * numbers)
    for node in graph.findAllNodes("aten::batch_norm"):
        inputs = list(node.inputs())
        mean = inputs[3].toIValue()
        for place, value in ((1, 1.0), (2, 0.0)):
            if mean is not None and str(inputs[place].type()) == "NoneType":
                replace(node, place, torch.full_like(mean, value))


def example(config: dict[str, Any], name: str) -> torch.Tensor:
    """Two of what forward takes by this name (docs/export.md)."""
    if name == "labels":
        return torch.zeros(2, dtype=torch.int64)
    if name == "noise":
        network = next(value for value in config["generator"]["network"].values()
                       if isinstance(value, dict))
        return torch.zeros(2, network["noise_dim"])
    # Images that are translated have the channels of the others.
    size = config["data"]["image_size"]
    return torch.zeros(2, config["data"]["channels"], size, size)


def load_own(run: Run, python: dict[str, Any]) -> torch.nn.Module:
    from gandem import _network
    path, name = python["module"], python["name"]
    given = python.get("arguments", [])
    # The file and the constructor may draw random numbers; the caller's random
    # state stays unchanged.
    with torch.random.fork_rng(devices=[]):
        try:
            made_by = _network.find_class(
                _network.load_module(path, python.get("sha256", "")), path, name)
            arguments = _network.parse_arguments(
                given if isinstance(given, list) else [given])
            _network.check_arguments(made_by, name, arguments)
            module = made_by(**arguments).float()
            # The values of the checkpoint are for this generator alone.
            _network.give_own_memory(module, f"'{name}'")
        except _network.NetworkError as error:
            raise ConfigError(str(error)) from error
    state = read_state(run.checkpoint())
    # Not load_state_dict: buffers that are not persistent are in a checkpoint,
    # and tied parameters once.
    with torch.no_grad():
        for name, tensor in (*module.named_parameters(), *module.named_buffers()):
            if torch.nn.parameter.is_lazy(tensor) and name in state:
                tensor.materialize(state[name].shape)
            if name not in state or state[name].shape != tensor.shape:
                raise ConfigError(f"'{run.checkpoint()}' has no '{name}' of shape "
                                  f"{tuple(tensor.shape)}")
            tensor.copy_(state[name])
    return module.eval()


def read_state(checkpoint: pathlib.Path) -> dict[str, torch.Tensor]:
    """The averaged generator."""
    state: dict[str, torch.Tensor] = {}
    for file in sorted(checkpoint.glob("generator-*.safetensors")):
        for name, tensor in read_tensors(file).items():
            if name.startswith(AVERAGE):
                state[name[len(AVERAGE):]] = tensor
    if not state:
        raise ConfigError(f"'{checkpoint}' has no averaged generator")
    return state


def read_tensors(file: pathlib.Path) -> dict[str, torch.Tensor]:
    """Reads a safetensors file: an 8-byte size, a JSON header, the bytes."""
    content = file.read_bytes()
    try:
        size = struct.unpack_from("<Q", content)[0]
        header = json.loads(content[8:8 + size])
        header.pop("__metadata__", None)
        data = memoryview(content)[8 + size:]
        tensors = {}
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            raw = bytearray(data[begin:end])  # torch wants to own it
            kind = TYPES[entry["dtype"]]
            flat = torch.frombuffer(raw, dtype=kind) if raw else \
                torch.empty(0, dtype=kind)
            tensors[name] = flat.reshape(entry["shape"])
        return tensors
    except (struct.error, ValueError, KeyError, TypeError,
            AttributeError, RuntimeError) as error:
        raise ConfigError(f"'{file}' is damaged ({error}): go on with the run, "
                          "which looks for an older checkpoint") from error


def sample(run: Run, num_images: int, seed: int,
           label: Optional[int]) -> torch.Tensor:
    config = run.config
    network = next(value for key, value in config["generator"]["network"].items()
                   if isinstance(value, dict))
    if "noise_dim" not in network or \
            network["noise_dim"] == 0 and "module" in network:
        raise ConfigError("this generator translates images: call generator() "
                          "with those, or use `gandem sample`")
    if num_images < 1:
        raise ConfigError(f"num_images is {num_images}: at least one")
    num_classes = config["data"].get("num_classes", 0)
    if label is not None and not 0 <= label < num_classes:
        raise ConfigError(f"label {label} is none of the run's {num_classes} "
                          "classes")
    random = torch.Generator().manual_seed(seed)
    module = load(run)
    images = []
    with torch.no_grad():
        for first in range(0, num_images, BATCH):
            count = min(BATCH, num_images - first)
            # Whole batches: an image does not depend on how many are asked for.
            given = [torch.randn(BATCH, network["noise_dim"],
                                 generator=random)[:count]]
            if num_classes:
                labels = torch.randint(num_classes, (BATCH,),
                                       generator=random)[:count]
                given.append(labels if label is None
                             else torch.full_like(labels, label))
            images.append(module(*given))
    return torch.cat(images)
