// SPDX-License-Identifier: Apache-2.0
//
// What nlohmann's JSON parser lets pass: equal keys, of which it keeps the
// last, and more keys than anybody needs.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace gandem {

// Whether the text is JSON whose objects have different keys, at most
// `max_keys` each: empty, or the first fault. Time and memory are those of
// reading it once.
std::string FindKeyFault(absl::string_view json, size_t max_keys);

}  // namespace gandem
