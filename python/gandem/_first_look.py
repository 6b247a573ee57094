# SPDX-License-Identifier: Apache-2.0
"""The look at two samples before a network is trained (docs/own_networks.md).

Thread safety: one thread. Errors: NetworkError says what is wrong with the
network; what its code raises comes out as it is.
"""
import dataclasses
import inspect

import torch

from gandem._errors import NetworkError
from gandem._tensors import ModulesElsewhere, leaves_of

# Types that a checkpoint can hold (common/checkpoint/safetensors.h).
BUFFER_TYPES = (torch.float32, torch.float64, torch.int64, torch.uint8)
# Tolerance between outputs of two passes, relative to the largest output.
# Kernels of one size round alike.
PASS_TOLERANCE = 1e-5
REGISTER = ("Assign it to an attribute in the constructor; a list or dict of "
            "modules is a ModuleList or a ModuleDict")


@dataclasses.dataclass
class Findings:
    warnings: list  # for the log
    why_two_passes: str = ""  # HasForeignLayers of models/foreign_network.h
    unused: list = ()  # names of parameters


def look_at(network):
    """`network` is a _network.Network."""
    findings = Findings(warnings=[])
    trained = dict(network.parameters())
    if not trained:
        raise NetworkError(f"{network.title} has no parameters to train")
    check_types(network)
    torch.manual_seed(0)
    values, *labels = network.samples()
    check_call(network, bool(labels))
    labels = labels[0] if labels else None
    leaf = values.requires_grad_(True)

    def outputs_of(images):
        torch.manual_seed(0)
        return network.forward("frozen", images, labels)

    with torch.enable_grad():
        # Torch itself would not let forward change a leaf in place.
        with ModulesElsewhere(network.module) as elsewhere, \
                torch.autograd.set_detect_anomaly(True, check_nan=False):
            outputs = outputs_of(leaf.clone())
            for output in outputs:
                check_numbers(network, output)
            again = outputs_of(leaf.clone())
        check_registered(network, elsewhere, leaf, outputs, again)
        if differ(outputs, again):
            findings.warnings.append(
                f"{network.title}: forward returns other values for the same "
                "input and the same seed of torch. What it keeps outside of "
                "buffers is not saved, and random numbers of numpy or random "
                "are not seeded: the run is not repeatable")
        if network.role == "discriminator":
            look_at_logits(network, findings, outputs, leaf, outputs_of)
        names = list(trained)
        gradients = torch.autograd.grad(
            sum(output.sum() for output in outputs),
            [trained[name] for name in names] + [leaf], allow_unused=True)
    findings.unused = [name for name, gradient in zip(names, gradients)
                       if gradient is None]
    if gradients[-1] is None:
        raise NetworkError(f"{network.title}: the output does not depend on the "
                           "input, or is detached from it")
    return findings


def differ(ones, others):
    return any(bool((one - other).abs().max() >
                    PASS_TOLERANCE * one.abs().max().clamp(min=1))
               for one, other in zip(ones, others))


def check_registered(network, elsewhere, leaf, outputs, again):
    """All that is trained, and all that changes, are the network's."""
    own = {id(leaf), *map(id, network.module.parameters())}
    still = leaves_of(again)
    # A tensor that each pass makes anew is not trained either, unless forward
    # makes it a parameter.
    found = [(tensor, place) for key, (tensor, place) in leaves_of(outputs).items()
             if key not in own and
             (key in still or isinstance(tensor, torch.nn.Parameter))]
    if found:
        shapes = {}
        for tensor, place in reversed(found):
            shapes.setdefault(place, []).append(str(list(tensor.shape)))
        texts = [f"{', '.join(those)}{place}" for place, those in shapes.items()]
        raise NetworkError(
            f"{network.title}: forward uses parameters that are not the "
            "network's and would be neither trained nor saved, of shape "
            f"{'; '.join(texts)}. {REGISTER}")
    changed = list(elsewhere.changed())
    if changed:
        raise NetworkError(
            f"{network.title}: forward uses modules that are not the network's, "
            "and changes tensors of theirs, which would not be saved: "
            f"{'; '.join(changed)}. {REGISTER}")


def look_at_logits(network, findings, outputs, leaf, outputs_of):
    if len(outputs) > 1 or outputs[0].dim() > 1:
        findings.why_two_passes = "an image has several logits"
    # Do the first image's logits change with the second image?
    other = torch.stack([leaf[0], -leaf[1]]).detach()
    if differ(*([output[0] for output in each]
                for each in (outputs, outputs_of(other)))):
        findings.why_two_passes = ("an image's logit depends on the other "
                                   "images of its batch")
        findings.warnings.append(
            f"{network.title}: an image's logits depend on the other images of "
            "its batch (batch norm, statistics of a batch): they change with "
            "micro_batch and the number of workers, and gradient penalties "
            "are not those of single images")


def check_call(network, has_labels):
    """Checks the arguments before the call, so that a TypeError inside the
    network is told from a wrong call."""
    given = [network.input]
    if has_labels:
        given.append("labels")
    try:
        signature = inspect.signature(network.module.forward)
    except (TypeError, ValueError):  # some callables of C have none
        return
    try:
        signature.bind(*given)
    except TypeError as error:
        raise NetworkError(
            f"{network.title} has forward{signature}, which is called as "
            f"forward({', '.join(given)}) where data.num_classes is "
            f"{network.num_classes}: {error}. A class of yours around it can "
            "give it what it wants") from error


def check_types(network):
    for name, tensor in network.module.named_parameters():
        if tensor.dtype != torch.float32:
            raise NetworkError(f"{network.title}: parameter {name} is "
                               f"{tensor.dtype}: only floating-point "
                               "numbers are trained")
    for name, tensor in network.module.named_buffers():
        if tensor.dtype not in BUFFER_TYPES:
            raise NetworkError(
                f"{network.title}: buffer {name} is {tensor.dtype}, which "
                "checkpoints do not hold: make it int64, uint8 or float32")


def check_numbers(network, result):
    if result.dtype != torch.float32:
        raise NetworkError(f"forward of {network.title} returns {result.dtype} "
                           "for float32")
    if not result.requires_grad:
        raise NetworkError(f"what forward of {network.title} returns has no "
                           "gradient: is it detached, or made under "
                           "torch.no_grad()?")
    if not bool(torch.isfinite(result).all()):
        raise NetworkError(f"forward of {network.title} returns numbers that "
                           "are not finite")
