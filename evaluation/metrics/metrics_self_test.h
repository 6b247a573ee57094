// SPDX-License-Identifier: Apache-2.0
//
// Whether this machine's arithmetic gives what paper and pencil give: every
// evaluation job asks before it computes anything, since a library that is
// wrong for one kind of CPU would otherwise just print a number.
//
// Thread safety: any thread.
#pragma once

#include "absl/status/status.h"

namespace gandem {

// Takes about a tenth of a second.
//   INTERNAL  names each check that failed, what it gave and what is right.
absl::Status MetricsSelfTest();

}  // namespace gandem
