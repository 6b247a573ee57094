// SPDX-License-Identifier: Apache-2.0
//
// Thread safety: pure functions.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/files/png.h"

namespace gandem {

// A PNG of 8 bits, gray or RGB. DecodePng would convert others, and each
// program does that in its own way.
//   INVALID_ARGUMENT  another kind; says which and what to do.
//   DATA_LOSS         no PNG, or damaged. Both name `name`.
absl::StatusOr<PixelImage> DecodeEightBitPng(absl::string_view bytes,
                                             absl::string_view name);

}  // namespace gandem
