# SPDX-License-Identifier: Apache-2.0
"""Which tensors a torch.nn.Module has, shares and uses.

C++ registers a network's tensors once, and optimizers, averages and checkpoints
know no others. So a network must not share its memory with another one, must
not use trained tensors that it does not have, and must not change which it has.

Thread safety: one thread. Errors: NetworkError names the tensor and the remedy.
"""
import contextlib
import copy
import pathlib
import re
import traceback
import weakref

import torch

from gandem._errors import NetworkError

_made = []  # networks of this process: a weak reference and the title of each


def is_foreign(file):
    """Whether a frame is of this package or of Torch, and not of the user."""
    return file.startswith((f"{pathlib.Path(__file__).parent}/",
                            str(pathlib.Path(torch.__file__).parent),
                            "<frozen "))


def memory_of(tensor):
    """The address of its storage; 0: it has none."""
    if torch.nn.parameter.is_lazy(tensor) or tensor.layout is not torch.strided:
        return 0
    return tensor.untyped_storage().data_ptr()


def named_tensors(module, recurse=True):
    """("parameter" or "buffer", name, tensor) of each."""
    for name, tensor in module.named_parameters(recurse=recurse):
        yield "parameter", name, tensor
    for name, tensor in module.named_buffers(recurse=recurse):
        yield "buffer", name, tensor


def give_own_memory(module, title):
    """A tensor that is made outside of the constructor (of the file, of the
    class) is in all networks of the process: those of both roles, the average,
    the critic. `module` gets copies of those that never change: modules with
    frozen parameters alone, and frozen parameters and buffers that it registers
    itself. NetworkError: others are shared."""
    others = [(made, theirs) for made, theirs in
              ((reference(), theirs) for reference, theirs in _made)
              if made is not None]
    owners = {memory_of(tensor): f"{kind} {name} of {theirs}"
              for made, theirs in others
              for kind, name, tensor in named_tensors(made)}
    owners.pop(0, None)
    shared_modules = {id(each) for made, _ in others for each in made.modules()}
    copies = {}
    for each in list(module.modules()):
        if id(each) in shared_modules:
            continue
        for name, child in each._modules.items():
            if id(child) in shared_modules and not any(
                    kind == "buffer" or tensor.requires_grad
                    for kind, _, tensor in named_tensors(child)):
                each._modules[name] = copy.deepcopy(child, copies)
        for tensors in (each._parameters, each._buffers):
            for name, tensor in tensors.items():
                if tensor is not None and not tensor.requires_grad and \
                        memory_of(tensor) in owners:
                    tensors[name] = copy.deepcopy(tensor, copies)
    for kind, name, tensor in named_tensors(module):
        owner = owners.get(memory_of(tensor))
        if owner is not None:
            raise NetworkError(
                f"{title}: {kind} {name} is that of another network, too: it "
                f"shares its memory with {owner}. The constructor is called once "
                "for each network and each copy of it: make the module or tensor "
                "in the constructor, or copy it there (copy.deepcopy)")
    _made[:] = [*((weakref.ref(made), theirs) for made, theirs in others),
                (weakref.ref(module), title)]


class KnownTensors:
    """The tensors of a network that C++ registers."""

    def __init__(self, module, title):
        self.module = module
        self.title = title
        self.parameters = dict(module.named_parameters())
        self.buffers = dict(module.named_buffers())
        self._take_entries()

    def _take_entries(self):
        """Keeps the modules' own dicts and their entries: calling
        named_parameters() after each pass would take one percent of a small
        network's time."""
        self._modules = list(self.module.modules())
        self._entries = [
            (table, name, value) for each in self._modules
            for table in (each._modules, each._parameters)
            for name, value in table.items()]
        self._buffer_entries = [
            (each._buffers, name, buffer) for each in self._modules
            for name, buffer in each._buffers.items()]
        self._size = self._count()

    def _count(self):
        return sum(len(each._modules) + len(each._parameters) +
                   len(each._buffers) for each in self._modules)

    def _states(self):
        return [(tensor._version, tensor.requires_grad)
                for tensor in self.parameters.values()]

    @contextlib.contextmanager
    def unchanged(self, where, values):
        """Around a pass with the input `values`, which may change the values of
        buffers. NetworkError: it changes something else."""
        version = values._version
        states = self._states()
        yield
        self._keep_buffers()
        if self._size != self._count() or any(
                table.get(name) is not value
                for table, name, value in self._entries):
            self._check_names(where)
            self._take_entries()  # other modules, with the same tensors
        if states != self._states():
            self._check_states(where, states)
        if values._version != version:
            raise NetworkError(
                f"{self.title}: {where} changes its input in place, which other "
                "passes use. Work on a copy, and set inplace=False in the first "
                "layer")

    def _keep_buffers(self):
        """The tensors that C++ knows have the values of those that code like
        `self.mean = 0.9 * self.mean + ...` has put in their place."""
        for table, name, mine in self._buffer_entries:
            tensor = table.get(name)
            if tensor is mine or tensor is None or mine is None:
                continue
            with torch.no_grad():
                mine.data.copy_(tensor)
            table[name] = mine

    def _check_names(self, where):
        parameters = dict(self.module.named_parameters())
        buffers = dict(self.module.named_buffers())
        for kind, known, now in (("parameter", self.parameters, parameters),
                                 ("buffer", self.buffers, buffers)):
            for names, verb in ((now.keys() - known.keys(), "adds"),
                                (known.keys() - now.keys(), "removes")):
                if names:
                    raise NetworkError(
                        f"{self.title}: {where} {verb} the {kind}"
                        f"{'s' if len(names) > 1 else ''} "
                        f"{', '.join(sorted(names))}. A network keeps the tensors "
                        "that its constructor makes: others are neither trained "
                        "nor saved. Make all in the constructor, and use them "
                        "when it is time")
        for name, tensor in parameters.items():
            if tensor is not self.parameters[name]:
                raise NetworkError(
                    f"{self.title}: {where} puts another tensor in the place of "
                    f"parameter {name}, which is neither trained nor saved. Keep "
                    "the tensor of the constructor")

    def _check_states(self, where, states):
        for name, before, now in zip(self.parameters, states, self._states()):
            if before[0] != now[0]:
                raise NetworkError(
                    f"{self.title}: {where} changes parameter {name} in place, "
                    "which only the optimizer may do. Use a changed copy, such as "
                    f"{name}.clamp(...), or torch.nn.utils.parametrize. Make "
                    "a tensor that forward itself keeps a buffer")
            if before[1] != now[1]:
                raise NetworkError(
                    f"{self.title}: {where} changes requires_grad of parameter "
                    f"{name}. Set it in the constructor, or name the parameter "
                    "in the recipe's freeze")


class ModulesElsewhere:
    """While this is entered: the modules that forward calls although `module`
    does not have them."""

    def __init__(self, module):
        self.own = {id(each) for each in module.modules()}
        self.called = {}

    def __enter__(self):
        self.hook = torch.nn.modules.module.register_module_forward_pre_hook(
            self._note)
        return self

    def __exit__(self, *_):
        self.hook.remove()

    def _note(self, module, _):
        if id(module) in self.own or id(module) in self.called:
            return
        place = place_in("".join(traceback.format_stack()))
        self.called[id(module)] = (
            module, place, [(name, tensor, tensor.detach().clone()) for
                            _, name, tensor in named_tensors(module, False)])

    def changed(self):
        """A text for each module whose tensors have changed since."""
        for module, place, tensors in self.called.values():
            texts = [f"{name} of shape {list(tensor.shape)}"
                     for name, tensor, values in tensors
                     if not torch.equal(tensor, values)]
            if texts:
                yield f"a {type(module).__name__}{place}, with {', '.join(texts)}"


def place_in(stack):
    """The user's line in a stack as `traceback` formats it."""
    for file, line in reversed(re.findall(r'File "(.*?)", line (\d+)', stack)):
        if not is_foreign(file):
            return f" ({file}, line {line})"
    return ""


def leaves_of(outputs):
    """The tensors that a graph begins with, by id, each with the user's line that
    uses it; the graph is made under set_detect_anomaly()."""
    leaves = {}
    seen = set()
    nodes = [(output.grad_fn, None) for output in outputs]
    while nodes:
        node, user = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if type(node).__name__ == "AccumulateGrad":
            stack = user.metadata.get("traceback_", []) if user else []
            leaves[id(node.variable)] = (node.variable, place_in("".join(stack)))
        nodes.extend((before, node) for before, _ in node.next_functions)
    return leaves
