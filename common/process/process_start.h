// SPDX-License-Identifier: Apache-2.0
//
// The first steps of every program: descriptors and streams as it needs them.
//
// Owner: main(). Thread safety: the main thread, before any other exists.
#pragma once

namespace gandem {

// First thing in main().
// - Opens /dev/null on those of the descriptors 0, 1 and 2 that are closed
//   (`gandem train ... >&-`): otherwise the next file that is opened becomes
//   standard output, and what is printed goes into it.
// - Raises the limit of open files and connections to what the system lets this
//   user raise it to (`ulimit -Hn`; shells start programs with 1,024).
// - A write beyond the limit of a file's size (`ulimit -f`) fails with EFBIG,
// as
//   on a full disk, and does not end the process. Children inherit it.
void PrepareProcess();

}  // namespace gandem
