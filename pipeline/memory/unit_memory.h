// SPDX-License-Identifier: Apache-2.0
//
// The memory that a data set may use for units that are read as a whole
// (ImageStore::reads_whole_units), such as row groups of Parquet.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>

namespace gandem {

// Bytes for each data set that is opened from now on.
void SetUnitMemory(int64_t bytes);
int64_t UnitMemory();

}  // namespace gandem
