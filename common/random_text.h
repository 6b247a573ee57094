// SPDX-License-Identifier: Apache-2.0
//
// Text that nobody can guess.
//
// Thread safety: any thread.
#pragma once

#include <cstddef>
#include <string>

namespace gandem {

// So many of the system's random bytes, at most 256, in hexadecimal digits.
std::string RandomText(size_t bytes);

}  // namespace gandem
