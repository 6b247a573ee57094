// SPDX-License-Identifier: Apache-2.0
//
// Prepares descriptors, streams and limits at the start of every program.
//
// Owner: main(). Thread safety: the main thread, before any other exists.
#pragma once

namespace gandem {

// Call it first in main().
// - Opens /dev/null for closed standard descriptors (`gandem train ... >&-`).
//   Otherwise the next opened file would become standard output.
// - Raises the limit of open files to the hard limit (`ulimit -Hn`); shells
//   start programs with 1,024.
// - Makes a write beyond the file size limit (`ulimit -f`) fail with EFBIG
//   instead of ending the process. Children inherit this.
void PrepareProcess();

}  // namespace gandem
