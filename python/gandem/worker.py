# SPDX-License-Identifier: Apache-2.0
"""python -m gandem.worker PROGRAM ARGUMENTS...: a program whose networks may be
torch.nn.Modules of the user. PROGRAM is a role of a worker (generator,
discriminator or colocated) or evaluation_job; the arguments are those of its
binary. `gandem train` starts it, and `gandem sample` and the like. With --help
it prints this, and nothing of torch is needed: so they know that it starts."""
import os
import signal
import sys

EXIT_USAGE = 2
EVALUATION = "evaluation_job"


def fail(text):
    print(f"error: {text}", file=sys.stderr)
    return EXIT_USAGE


def main(arguments):
    if arguments == ["--help"]:
        print(__doc__)
        return 0
    if not arguments:
        return fail("the first argument is a program: generator, discriminator, "
                    f"colocated or {EVALUATION}")
    if arguments[0] == EVALUATION:
        # At once: Python's own waits for C++ to return.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    else:
        # Before libraries start threads, which would take these signals from us.
        signal.pthread_sigmask(signal.SIG_BLOCK,
                               {signal.SIGTERM, signal.SIGINT})
    try:
        # First: gandem._worker uses the LibTorch that this loads.
        import torch
    except Exception as error:
        # The first folder is gandem's own.
        _, _, others = os.environ.get("PYTHONPATH", "").partition(":")
        return fail(f"the interpreter {sys.executable} cannot import torch "
                    f"({type(error).__name__}: {error}): install torch into it, "
                    "or name one that has it with --python" +
                    (f". PYTHONPATH is '{others}': does a file there have the "
                     "name of a module that torch imports?" if others else ""))
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
        return _worker.run_program(arguments[0], [sys.argv[0], *arguments[1:]])
    except ValueError as error:
        return fail(error)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
