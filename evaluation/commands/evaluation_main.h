// SPDX-License-Identifier: Apache-2.0
//
// evaluation_job: `gandem sample`, `gandem evaluate`, `gandem models` and the
// like run it with the same arguments.
//
// Owner: main(). Thread safety: once a process, before threads start. Errors:
// the exit code, and a line on standard error.
#pragma once

namespace gandem {

int EvaluationMain(int argc, char** argv);

}  // namespace gandem
