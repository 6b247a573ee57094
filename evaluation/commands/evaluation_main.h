// SPDX-License-Identifier: Apache-2.0
//
// The program evaluation_job: `gandem sample`, `gandem export`, `gandem
// evaluate`, `gandem models` and `gandem train-features` run it with their
// own arguments.
//
// Owner: main(). Thread safety: once a process, before threads start. Errors:
// the exit code, and a line on standard error.
#pragma once

namespace gandem {

int EvaluationMain(int argc, char** argv);

}  // namespace gandem
