// SPDX-License-Identifier: Apache-2.0
#include "evaluation/commands/evaluation_main.h"

int main(int argc, char** argv) { return gandem::EvaluationMain(argc, argv); }
