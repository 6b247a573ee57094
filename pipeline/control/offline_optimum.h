// SPDX-License-Identifier: Apache-2.0
//
// The least time that a trainer could lose to waiting, whatever the rule: a
// lower bound, of a reader who knows the future.
//
// It fetches one sample after the other in the order in which they are needed,
// each with all of the link, without latency, and whenever memory allows: to
// fetch something later, or to share the link with something that is needed
// later, never makes a sample come earlier (an exchange argument), and what is
// left out (latency, limits of single connections, threads that compete with
// the trainer) only costs time. In memory a sample takes the smaller of its
// two sizes, as if it were decoded as late or as early as it pays. Decoding is
// the exact schedule of max_workers threads in the order of samples.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "pipeline/control/pipeline_trace.h"

namespace gandem {

// Seconds since the first batch, in which the trainer waited. That batch is not
// taken before `begin`: whoever takes it later has the more in store.
double LeastStall(const PipelineTrace& trace, int64_t memory_bytes,
                  int max_workers, double begin = 0);

}  // namespace gandem
