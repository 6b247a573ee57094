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

from gandem._errors import NetworkError
from gandem._first_look import look_at
from gandem._tensors import KnownTensors, give_own_memory, is_foreign

# Time limit, in seconds, for making a class and for its pass on two samples.
FIRST_PASS_SECONDS = 300
# Initial number of power iterations in
# torch.nn.utils.parametrizations.spectral_norm.
SPECTRAL_ITERATIONS = 15
# Torch's seed in a new process: what a file draws while it is imported is the
# same in every process, whatever else the process has drawn before.
IMPORT_SEED = 67280421310721

_modules = {}  # (path, SHA-256): the module; networks of a run share it
_findings = {}  # what look_at has found, by the network and what it gets


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
        torch.manual_seed(IMPORT_SEED)
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
    """Checks the arguments before the call, so that a TypeError inside the
    class is told from a wrong call."""
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
    """Returns pairs of a module and its hook of
    torch.nn.utils.spectral_norm."""
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
        # Name of forward's first argument.
        self.input = ("images" if role == "discriminator" else
                      "noise" if noise_dim else "inputs")
        self.title = f"{role}.network.python '{name}'"
        with TimeLimit(f"making {self.title}"):
            self.made_by = find_class(load_module(path, sha256), path, name)
            self.arguments = parse_arguments(arguments)
            check_arguments(self.made_by, name, self.arguments)
            self.module = self._make(seed=0)
        self._known = KnownTensors(self.module, self.title)
        self._spectral_norms = spectral_norms(self.module)
        self.training = None
        self.warnings = []  # for the log
        # Names of parameters that are refused unless the recipe freezes them.
        self._unused = []
        key = (role, path, sha256, name, tuple(arguments), self.image_shape,
               num_classes, noise_dim)
        if key not in _findings:
            with TimeLimit(f"a first pass of {self.title}"):
                _findings[key] = look_at(self)
            self.warnings = _findings[key].warnings
        self._key = key
        # HasForeignLayers of models/foreign_network.h.
        self.why_two_passes = _findings[key].why_two_passes

    def _make(self, seed):
        torch.manual_seed(seed)
        module = self.made_by(**self.arguments)
        if not isinstance(module, torch.nn.Module):
            raise NetworkError(f"{self.title} is a {type(module).__name__}, and "
                               "no torch.nn.Module")
        module = module.float()
        self._materialize(module)
        give_own_memory(module, self.title)
        # The first critic is frozen, and with vectors at random its gradients
        # would be off by orders of magnitude (models/registry/initialize.h).
        with torch.no_grad():
            for each, hook in spectral_norm_hooks(module):
                for _ in range(SPECTRAL_ITERATIONS):
                    hook.compute_weight(each, do_power_iteration=True)
        return module

    def _materialize(self, module):
        """A first pass gives lazy layers their tensors."""
        def lazy():
            return [name for name, tensor in (*module.named_parameters(),
                                              *module.named_buffers())
                    if torch.nn.parameter.is_lazy(tensor)]
        if not lazy():
            return
        module.eval()
        with torch.no_grad():
            module(*self.samples())
        module.train()
        if lazy():
            raise NetworkError(
                f"{self.title}: the lazy parameters {', '.join(lazy())} have no "
                "shape after a first pass, because forward does not use them: "
                "remove them")

    def samples(self):
        """Two, at random, as forward gets them."""
        shape = (self.noise_dim,) if self.input == "noise" else self.image_shape
        values = torch.randn(2, *shape)
        if self.num_classes == 0:
            return (values,)
        return values, torch.zeros(2, dtype=torch.int64)

    # --- what C++ registers -------------------------------------------------

    def parameters(self):
        return [(name, tensor) for name, tensor in self.module.named_parameters()
                if tensor.requires_grad]

    def buffers(self):
        """Returns the buffers and the parameters that are not trained."""
        return [(name, tensor) for name, tensor in self.module.named_parameters()
                if not tensor.requires_grad] + list(self._known.buffers.items())

    def set_first_values(self, seed):
        """The network is one of a run, which may train it."""
        fresh = self._make(seed)
        with torch.no_grad():
            for mine, other in (
                    (self._known.parameters, fresh.named_parameters()),
                    (self._known.buffers, fresh.named_buffers())):
                other = dict(other)
                for name, tensor in mine.items():
                    tensor.copy_(other[name])
        self._unused = _findings[self._key].unused

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

    def forward(self, mode, values, labels, step=None):
        """A list: a discriminator may have several outputs. `step` is for
        messages."""
        training = mode != "evaluate"
        if self.training is not training:
            self.module.train(training)
            self.training = training
        given = (values,) if labels is None else (values, labels)
        if torch.jit.is_tracing():
            return self._recorded(given)
        where = "forward" if step is None else f"forward, in step {step},"
        with self._known.unchanged(where, values), \
                self._norms_explained(values.shape[0]):
            if mode == "train":
                self._refuse_unused()
                result = self.module(*given)
            else:
                # On copies: saved for a backward pass, they must not be written
                # to again, as if they were put back.
                copies = {name: buffer.clone()
                          for name, buffer in self._known.buffers.items()}
                # A frozen pass is of the network as it is, so that its weights
                # are.
                with without_iterations(self._spectral_norms):
                    result = functional_call(self.module, copies, given)
        return self._checked_result(result, values.shape[0])

    def _refuse_unused(self):
        """Before the first pass that trains: by then the recipe has frozen what
        it names."""
        names = [name for name in self._unused
                 if self._known.parameters[name].requires_grad]
        self._unused = []
        if names:
            raise NetworkError(
                f"{self.title}: the output does not depend on these parameters, "
                f"which could not be trained: {', '.join(names)}. Remove them, "
                "set requires_grad=False, or name them in "
                f"{self.role}.freeze")

    @contextlib.contextmanager
    def _norms_explained(self, count):
        try:
            yield
        except ValueError as error:
            if count > 1 or "more than 1 value per channel" not in str(error):
                raise
            frames = [id(frame.f_locals.get("self")) for frame, _ in
                      traceback.walk_tb(error.__traceback__)]
            layer = max(self.module.named_modules(), key=lambda named:
                        max((i for i, one in enumerate(frames)
                             if one == id(named[1])), default=-1))
            raise NetworkError(
                f"{self.title}: the layer '{layer[0]}' ({type(layer[1]).__name__}) "
                "has got a single image, and one value has no variance. Set "
                f"{self.role}.micro_batch and each worker's share of "
                f"{self.role}.batch_size to 2 images or more, or use a norm of "
                "single images (LayerNorm, GroupNorm)") from error

    def _recorded(self, given):
        """A pass for the tracer, which functional_call refuses: what that would
        keep a pass from changing must not be changed."""
        known = self._known.buffers
        versions = {name: buffer._version for name, buffer in known.items()}
        result = self.module(*given)
        for name, tensor in self.module.named_buffers():
            if tensor is not known[name] or tensor._version != versions[name]:
                raise NetworkError(f"it changes its buffer {name} in eval()")
        return [result]

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
