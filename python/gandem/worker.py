# SPDX-License-Identifier: Apache-2.0
"""python -m gandem.worker ROLE FLAGS...: a worker whose networks may be
torch.nn.Modules of the user. ROLE is generator, discriminator or colocated; the
flags are those of the binary of that role. `gandem train` starts it."""
import signal
import sys

EXIT_USAGE = 2


def fail(text):
    print(f"error: {text}", file=sys.stderr)
    return EXIT_USAGE


def main(arguments):
    # Before libraries start threads, which would take these signals from us.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    if not arguments:
        return fail("the first argument is a role: generator, discriminator or "
                    "colocated")
    try:
        # First: gandem._worker uses the LibTorch that this loads.
        import torch
    except ImportError as error:
        return fail(f"the interpreter {sys.executable} cannot import torch "
                    f"({error}): install torch into it, or let `gandem train "
                    "--python` name one that has it")
    from gandem import _build
    if torch.__version__.split("+")[0] != _build.TORCH_VERSION:
        return fail(f"gandem._worker was built for torch "
                    f"{_build.TORCH_VERSION}, and {sys.executable} has "
                    f"{torch.__version__}: install torch=={_build.TORCH_VERSION}")
    try:
        from gandem import _worker
    except ImportError as error:
        return fail(f"gandem._worker does not load in {sys.executable} "
                    f"({error}): build it with this interpreter, "
                    "`GANDEM_PYTHON=... scripts/build.sh --python`")
    try:
        return _worker.run_role(arguments[0], [sys.argv[0], *arguments[1:]])
    except ValueError as error:
        return fail(error)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
