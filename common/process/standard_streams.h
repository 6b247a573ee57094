// SPDX-License-Identifier: Apache-2.0
//
// Standard input, output and error of a process that was started without them
// (`gandem train ... >&-`).
//
// Owner: main(). Thread safety: the main thread, before any other exists.
#pragma once

namespace gandem {

// Opens /dev/null on those of the descriptors 0, 1 and 2 that are closed. First
// thing in main(): otherwise the next file that is opened becomes standard
// output, and what is printed goes into it.
void OpenStandardStreams();

}  // namespace gandem
