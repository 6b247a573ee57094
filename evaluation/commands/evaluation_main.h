// SPDX-License-Identifier: Apache-2.0
//
// The program evaluation_job, which runs the commands sample, export, evaluate,
// models and train-features of `gandem` with their arguments.
//
// Owner: main(). Thread safety: called once, before threads start. Errors: an
// exit code, and a line on standard error.
#pragma once

namespace gandem {

int EvaluationMain(int argc, char** argv);

}  // namespace gandem
