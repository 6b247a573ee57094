// SPDX-License-Identifier: Apache-2.0
//
// How many files and connections the process may have open.
//
// Thread safety: any thread.
#pragma once

namespace gandem {

// Raises the limit to what the system lets this user raise it to (`ulimit -Hn`;
// shells start programs with 1,024). Early in main().
void PrepareDescriptors();

}  // namespace gandem
