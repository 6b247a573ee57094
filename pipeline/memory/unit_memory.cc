// SPDX-License-Identifier: Apache-2.0
#include "pipeline/memory/unit_memory.h"

#include <atomic>

namespace gandem {
namespace {

// A quarter of what data.memory_bytes is by default.
std::atomic<int64_t> unit_memory = int64_t{128} << 20;

}  // namespace

void SetUnitMemory(int64_t bytes) { unit_memory = bytes; }

int64_t UnitMemory() { return unit_memory; }

}  // namespace gandem
