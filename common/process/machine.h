// SPDX-License-Identifier: Apache-2.0
//
// What kind of machine this is, as far as it decides how fast something is
// computed, and what memory it and its processes have: what was measured on one
// kind holds for another one of it.
//
// Thread safety: any thread. Errors: none; what the system does not tell is
// left out, or 0.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>

namespace gandem {

// Lines: the processor's name, the vector instructions that it has, and, if
// asked for, the GPUs' names.
std::set<std::string> MachineKind(bool with_gpus);

// For people: "Intel(R) Xeon(R) ... , NVIDIA H100". GPUs as often as there are.
std::string MachineName();

struct MemoryUse {
  int64_t now_bytes = 0;   // resident
  int64_t peak_bytes = 0;  // the most that it ever was
};

// 0: this process.
MemoryUse ResidentMemory(pid_t process = 0);

// Of the machine, or of the control group that this process is in, where that
// may have less.
int64_t TotalMemory();
// Of it, what nobody uses, or only the kernel for files that it can read again.
int64_t FreeMemory();

}  // namespace gandem
