// SPDX-License-Identifier: Apache-2.0
//
// What a link was like, by the fetches that were recorded on it.
//
// In each quarter of a second: no end of a fetch, while some were under way for
// longer than the slow ones of the recording take, is an outage. Where fetches
// took more than twice as long as usual, they waited for each other, so the
// link gave what it could: the bytes that came. Elsewhere it could have given
// more than was asked for, and counts as the fastest quarter seconds do. So
// what is played on it is never better than it was, and a recording with many
// fetches at once says most.
//
// Thread safety: pure functions.
#pragma once

#include <vector>

#include "pipeline/control/pipeline_trace.h"

namespace gandem {

// `fetches` not empty; of a trace of so many seconds. Parts that are alike are
// one.
std::vector<LinkPart> LinkOfFetches(std::vector<FetchRecord> fetches,
                                    double seconds);

// The trace's own link, or that of its fetches.
std::vector<LinkPart> LinkOf(const PipelineTrace& trace);

}  // namespace gandem
