// SPDX-License-Identifier: Apache-2.0
//
// Whether this host can do its part of a run: programs, memory, devices,
// descriptors. What a host has is given, so that a test can plant a host.
//
// Thread safety: pure functions, but for what they read of files and ask of the
// loader.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "control_plane/doctor/finding.h"
#include "proto/config.pb.h"
#include "proto/plan.pb.h"

namespace gandem {

// The workers' programs are beside `gandem`, and may be run.
Finding CheckPrograms(const std::string& folder);

// What the plan's workers need on one host, the largest sum of all, against
// what is free here. Of no plan: only what is free.
Finding CheckMemory(const Candidate* plan, int64_t free_bytes);

// Cores that a process of this host can keep busy (`usable`) of those that it
// may run on, against the compute threads of a worker.
Finding CheckCores(const RunConfig& config, int allowed, int usable);

// GPUs that the roles ask for, by the files in `device_folder` ("/dev").
Finding CheckGpus(const RunConfig& config, const std::string& device_folder);

// Whether the workers can sum over NCCL, where the recipe asks for it.
// `is_built_in`: this gandem was built with it. `library`: what FindLibrary
// says of kNcclLibrary and a worker.
Finding CheckNccl(const RunConfig& config, bool is_built_in,
                  const absl::StatusOr<std::string>& library);
inline constexpr char kNcclLibrary[] = "libnccl.so.2";

// Where the dynamic loader takes `library` from if it starts `program`, which
// it does not: by the paths in the program and its other libraries,
// LD_LIBRARY_PATH and the system's.
//   NOT_FOUND            it finds none, or the program needs none.
//   FAILED_PRECONDITION  it cannot load the program; has its words.
//   those of RunToEnd    there is no such program ...
absl::StatusOr<std::string> FindLibrary(const std::string& program,
                                        const std::string& library);

// Connections and files that a process may have.
Finding CheckDescriptors(int64_t limit);

}  // namespace gandem
