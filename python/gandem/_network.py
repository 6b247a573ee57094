# SPDX-License-Identifier: Apache-2.0
"""A torch.nn.Module of the user as python_worker/python_network.h sees it.

Called from C++ with the interpreter's lock; one thread. Errors: NetworkError
says what is wrong with the network; what its code raises comes out as it is.
"""
import ast
import contextlib
import hashlib
import importlib.machinery
import importlib.util
import inspect
import pathlib
import signal
import sys
import threading
import traceback

import torch
from torch.func import functional_call
from torch.nn.utils import parametrizations
from torch.nn.utils.spectral_norm import SpectralNorm

# How long a class may take to be made and to look at two samples.
FIRST_PASS_SECONDS = 300
# As many as torch.nn.utils.parametrizations.spectral_norm begins with.
SPECTRAL_ITERATIONS = 15
# What checkpoints hold (common/checkpoint/safetensors.h).
BUFFER_TYPES = (torch.float32, torch.float64, torch.int64, torch.uint8)
# Between logits of an image in two batches, of what they are at most: kernels of
# one size round alike.
COUPLING_TOLERANCE = 1e-5
# Attribute of parameters that a network has.
OWNED = "_gandem_is_owned"

_modules = {}  # (path, SHA-256): the module; networks of a run share it
# Networks that have passed Network._check, and why_two_passes of each.
_checked = {}


class NetworkError(Exception):
    """Its message is for the user, without a traceback."""


def error_text(error):
    if isinstance(error, NetworkError):
        return str(error)
    # Frames above the user's are ours and Torch's.
    frames = error.__traceback__
    while frames is not None and is_foreign(frames.tb_frame.f_code.co_filename):
        frames = frames.tb_next
    return "in the network's code:\n" + "".join(
        traceback.format_exception(type(error), error,
                                   frames or error.__traceback__)).rstrip()


def is_foreign(file):
    return file == __file__ or file.startswith(
        (str(pathlib.Path(torch.__file__).parent), "<frozen importlib"))


def load_module(path, sha256):
    """The module of the file `path`, whose SHA-256 is as given ("": any)."""
    try:
        source = pathlib.Path(path).read_bytes()
    except OSError as error:
        raise NetworkError(f"network.python.module: cannot read '{path}' "
                           f"({error.strerror})") from error
    found = hashlib.sha256(source).hexdigest()
    if sha256 and found != sha256:
        raise NetworkError(
            f"network.python.module: '{path}' has changed since the run was "
            f"begun (SHA-256 {found}, then {sha256}): put it back as it was, or "
            "go on with it by `gandem train --accept_changed_code`, whose "
            "checkpoints are of the new file")
    if (path, found) not in _modules:
        folder = str(pathlib.Path(path).resolve().parent)
        if folder not in sys.path:
            sys.path.append(folder)  # shadows nothing
        spec = importlib.util.spec_from_file_location(
            f"gandem_own_{found[:16]}_{len(_modules)}", path,
            loader=importlib.machinery.SourceFileLoader(
                f"gandem_own_{found[:16]}_{len(_modules)}", path))
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        try:
            spec.loader.exec_module(module)
        except ImportError as error:
            if "no known parent package" not in str(error):
                raise
            raise NetworkError(
                f"network.python.module: '{path}' is part of a package "
                f"({error}): name a file of your own, which imports the class "
                "from the package") from error
        _modules[path, found] = module
    return _modules[path, found]


def find_class(module, path, name):
    made_by = getattr(module, name, None)
    if made_by is None:
        known = sorted(key for key, value in vars(module).items()
                       if inspect.isclass(value)
                       and issubclass(value, torch.nn.Module)
                       and value.__module__.partition(".")[0] != "torch")
        raise NetworkError(f"network.python.name: '{path}' has no '{name}'; its "
                           f"modules are: {', '.join(known) or 'none'}")
    if not callable(made_by):
        raise NetworkError(f"network.python.name: '{name}' in '{path}' is no "
                           "class, and no function that makes a module")
    return made_by


def parse_arguments(texts):
    """["width=64"] as {"width": 64}."""
    arguments = {}
    for text in texts:
        name, _, value = text.partition("=")
        try:
            arguments[name.strip()] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError) as error:
            raise NetworkError(
                f"network.python.arguments: '{text}': the value is no Python "
                "literal; texts have quotes, \"norm='batch'\"") from error
    return arguments


def check_arguments(made_by, name, arguments):
    """Before the call, so that a TypeError inside is told from one of ours."""
    try:
        signature = inspect.signature(made_by)
    except ValueError:  # some classes of C have none
        return
    try:
        signature.bind(**arguments)
    except TypeError as error:
        raise NetworkError(f"network.python.arguments: {name}{signature}: "
                           f"{error}") from error


class TimeLimit:
    """Raises NetworkError in what takes longer; Python code alone is reached,
    and signals only the main thread. Another one is that of a probe, for which
    `gandem profile` has a deadline of its own."""

    def __init__(self, what):
        self.what = what

    def __enter__(self):
        self.is_armed = threading.current_thread() is threading.main_thread()
        if not self.is_armed:
            return

        def expire(*_):
            raise NetworkError(f"{self.what} has taken more than "
                               f"{FIRST_PASS_SECONDS} s: does it end?")
        self.before = signal.signal(signal.SIGALRM, expire)
        signal.setitimer(signal.ITIMER_REAL, FIRST_PASS_SECONDS)

    def __exit__(self, *_):
        if not self.is_armed:
            return
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self.before)


def spectral_norm_hooks(module):
    """Of torch.nn.utils.spectral_norm: the modules that have one, and it."""
    return [(each, hook) for each in module.modules()
            for hook in each._forward_pre_hooks.values()
            if isinstance(hook, SpectralNorm)]


def spectral_norms(module):
    """All of torch.nn.utils, whose n_power_iterations are those of a pass."""
    return [hook for _, hook in spectral_norm_hooks(module)] + [
        each for each in module.modules()
        if isinstance(each, parametrizations._SpectralNorm)
        and hasattr(each, "n_power_iterations")]


@contextlib.contextmanager
def without_iterations(norms):
    iterations = [norm.n_power_iterations for norm in norms]
    try:
        for norm in norms:
            norm.n_power_iterations = 0
        yield
    finally:
        for norm, times in zip(norms, iterations):
            norm.n_power_iterations = times


class Network:
    def __init__(self, role, path, name, arguments, sha256, noise_dim,
                 image_shape, num_classes):
        self.role = role
        self.name = name
        self.image_shape = tuple(image_shape)
        self.num_classes = num_classes
        self.noise_dim = noise_dim
        # What forward gets first.
        self.input = ("images" if role == "discriminator" else
                      "noise" if noise_dim else "inputs")
        self.title = f"{role}.network.python '{name}'"
        with TimeLimit(f"making {self.title}"):
            self.made_by = find_class(load_module(path, sha256), path, name)
            self.arguments = parse_arguments(arguments)
            check_arguments(self.made_by, name, self.arguments)
            self.module = self._make(seed=0)
        # What a pass in "frozen" must not change.
        self._buffers = dict(self.module.named_buffers())
        self._spectral_norms = spectral_norms(self.module)
        self.training = None
        self.warnings = []  # for the log
        # HasForeignLayers of models/foreign_layers.h.
        self.why_two_passes = ""
        key = (role, path, sha256, name, tuple(arguments), self.image_shape,
               num_classes, noise_dim)
        if key not in _checked:
            with TimeLimit(f"a first pass of {self.title}"):
                self._check()
            _checked[key] = self.why_two_passes
        self.why_two_passes = _checked[key]

    def _make(self, seed):
        torch.manual_seed(seed)
        module = self.made_by(**self.arguments)
        if not isinstance(module, torch.nn.Module):
            raise NetworkError(f"{self.title} is a {type(module).__name__}, and "
                               "no torch.nn.Module")
        module = module.float()
        self._check_owner(module)
        # The first critic is frozen, and with vectors at random its gradients
        # would be off by orders of magnitude (models/registry/initialize.h).
        with torch.no_grad():
            for each, hook in spectral_norm_hooks(module):
                for _ in range(SPECTRAL_ITERATIONS):
                    hook.compute_weight(each, do_power_iteration=True)
        return module

    def _check_owner(self, module):
        """A parameter made outside of the constructor is in all networks that
        are made: in the other role's, in the average and in the critic's copy."""
        for name, tensor in module.named_parameters():
            if not tensor.requires_grad:
                continue
            if hasattr(tensor, OWNED):
                raise NetworkError(
                    f"{self.title}: parameter {name} is that of another network, "
                    "too: make it in the constructor, which is called once for "
                    "each network and each copy, or set requires_grad=False")
            setattr(tensor, OWNED, True)

    # --- what C++ registers -------------------------------------------------

    def parameters(self):
        return [(name, tensor) for name, tensor in self.module.named_parameters()
                if tensor.requires_grad]

    def buffers(self):
        """With parameters that are not trained."""
        return [(name, tensor) for name, tensor in self.module.named_parameters()
                if not tensor.requires_grad] + list(self._buffers.items())

    def set_first_values(self, seed):
        fresh = self._make(seed)
        with torch.no_grad():
            for mine, other in (
                    (self.module.named_parameters(), fresh.named_parameters()),
                    (self._buffers.items(), fresh.named_buffers())):
                other = dict(other)
                for name, tensor in mine:
                    tensor.copy_(other[name])

    def gather_statistics_afresh(self):
        """Batch norm begins anew, as a mean over batches of the same weight.
        False: no module has running statistics."""
        norms = [module for module in self.module.modules()
                 if isinstance(module, torch.nn.modules.batchnorm._BatchNorm)
                 and module.running_mean is not None]
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None
        return bool(norms)

    # --- passes -------------------------------------------------------------

    def forward(self, mode, values, labels):
        """A list: a discriminator may have several outputs."""
        training = mode != "evaluate"
        if self.training is not training:
            self.module.train(training)
            self.training = training
        given = (values,) if labels is None else (values, labels)
        if torch.jit.is_tracing():
            return self._recorded(given)
        if mode == "train":
            result = self.module(*given)
            self._keep_buffers()
        else:
            # On copies: saved for a backward pass, they must not be written to
            # again, as if they were put back.
            copies = {name: buffer.clone()
                      for name, buffer in self._buffers.items()}
            # A frozen pass is of the network as it is, so that its weights are.
            with without_iterations(self._spectral_norms):
                result = functional_call(self.module, copies, given)
        return self._checked_result(result, values.shape[0])

    def _recorded(self, given):
        """A pass for the tracer, which functional_call refuses: what that would
        keep a pass from changing must not be changed."""
        versions = {name: buffer._version
                    for name, buffer in self._buffers.items()}
        result = self.module(*given)
        for name, tensor in self.module.named_buffers():
            if tensor is not self._buffers[name] or \
                    tensor._version != versions[name]:
                raise NetworkError(f"it changes its buffer {name} in eval()")
        return [result]

    def _keep_buffers(self):
        """The tensors that C++ knows have the values of those that code like
        `self.mean = 0.9 * self.mean + ...` has put in their place."""
        for name, tensor in self.module.named_buffers():
            mine = self._buffers[name]
            if tensor is mine:
                continue
            with torch.no_grad():
                mine.data.copy_(tensor)
            folder, _, leaf = name.rpartition(".")
            self.module.get_submodule(folder)._buffers[leaf] = mine

    def _checked_result(self, result, count):
        if self.role == "generator":
            self._check_tensor(result, "a tensor")
            wanted = (count, *self.image_shape)
            if tuple(result.shape) != wanted:
                raise NetworkError(
                    f"forward of {self.title} returns images of shape "
                    f"{list(result.shape)}, and the data's are {list(wanted)}")
            return [result]
        if not isinstance(result, (list, tuple)):
            return [self._checked_logits(result, count)]
        place = f" in a {type(result).__name__}"
        if not result:
            raise NetworkError(f"forward of {self.title} returns nothing{place}, "
                               "and should return logits")
        return [self._checked_logits(output, count, place) for output in result]

    def _check_tensor(self, result, wanted, place=""):
        if not isinstance(result, torch.Tensor):
            raise NetworkError(
                f"forward of {self.title} returns a {type(result).__name__}"
                f"{place}, and should return {wanted}")

    def _checked_logits(self, result, count, place=""):
        self._check_tensor(result, "logits alone: a tensor, or a list of them",
                           place)
        if result.dim() == 0 or result.shape[0] != count:
            raise NetworkError(
                f"forward of {self.title} returns logits of shape "
                f"{list(result.shape)} for {count} images: expected [{count}], "
                f"or a map of them, [{count}, ...]")
        return result.flatten() if result.numel() == count else result

    # --- the look at two samples before the start -----------------------------

    def _check(self):
        trained = dict(self.parameters())
        if not trained:
            raise NetworkError(f"{self.title} has no parameters to train")
        self._check_types()
        torch.manual_seed(0)
        shape = ((self.noise_dim,) if self.input == "noise"
                 else self.image_shape)
        values = torch.randn(2, *shape).requires_grad_(True)
        labels = None
        if self.num_classes > 0:
            labels = torch.zeros(2, dtype=torch.int64)
        self._check_call(labels is not None)
        with torch.enable_grad():
            outputs = self.forward("frozen", values, labels)
            for output in outputs:
                self._check_numbers(output)
            if self.role == "discriminator":
                self._look_at_logits(outputs)
                self._check_coupling(values, labels)
            names = list(trained)
            gradients = torch.autograd.grad(
                sum(output.sum() for output in outputs),
                [trained[name] for name in names] + [values],
                allow_unused=True)
        unused = [name for name, gradient in zip(names, gradients)
                  if gradient is None]
        if unused:
            raise NetworkError(
                f"{self.title}: the output does not depend on these parameters, "
                f"which could not be trained: {', '.join(unused)}. Remove them, "
                "or set requires_grad=False")
        if gradients[-1] is None:
            raise NetworkError(f"{self.title}: the output does not depend on the "
                               "input, or is detached from it")

    def _look_at_logits(self, outputs):
        if len(outputs) > 1 or outputs[0].dim() > 1:
            self.why_two_passes = "an image has several logits"

    def _check_coupling(self, values, labels):
        """Whether the first image's logits change with the second image."""
        logits = []
        for second in (1, -1):
            torch.manual_seed(0)
            changed = torch.stack([values[0], second * values[1]]).detach()
            logits.append([output[0].detach() for output in
                           self.forward("frozen", changed, labels)])
        if any((one - other).abs().max() >
               COUPLING_TOLERANCE * max(1.0, float(one.abs().max()))
               for one, other in zip(*logits)):
            self.why_two_passes = ("an image's logit depends on the other "
                                   "images of its batch")
            self.warnings.append(
                f"{self.title}: an image's logits depend on the other images of "
                "its batch (batch norm, statistics of a batch): they change with "
                "micro_batch and the number of workers, and gradient penalties "
                "are not those of single images")

    def _check_call(self, has_labels):
        """Before the call, so that a TypeError inside is told from this one."""
        given = [self.input]
        if has_labels:
            given.append("labels")
        try:
            signature = inspect.signature(self.module.forward)
        except (TypeError, ValueError):  # some callables of C have none
            return
        try:
            signature.bind(*given)
        except TypeError as error:
            raise NetworkError(
                f"{self.title} has forward{signature}, which is called as "
                f"forward({', '.join(given)}) where data.num_classes is "
                f"{self.num_classes}: {error}. A class of yours around it can "
                "give it what it wants") from error

    def _check_types(self):
        for name, tensor in self.module.named_parameters():
            if tensor.dtype != torch.float32:
                raise NetworkError(f"{self.title}: parameter {name} is "
                                   f"{tensor.dtype}: only floating-point "
                                   "numbers are trained")
        for name, tensor in self._buffers.items():
            if tensor.dtype not in BUFFER_TYPES:
                raise NetworkError(
                    f"{self.title}: buffer {name} is {tensor.dtype}, which "
                    "checkpoints do not hold: make it int64, uint8 or float32")

    def _check_numbers(self, result):
        if result.dtype != torch.float32:
            raise NetworkError(f"forward of {self.title} returns {result.dtype} "
                               "for float32")
        if not result.requires_grad:
            raise NetworkError(f"what forward of {self.title} returns has no "
                               "gradient: is it detached, or made under "
                               "torch.no_grad()?")
        if not bool(torch.isfinite(result).all()):
            raise NetworkError(f"forward of {self.title} returns numbers that "
                               "are not finite")
