// SPDX-License-Identifier: Apache-2.0
//
// How many threads finish the samples of a dataset in memory, where nothing has
// to be waited for: one more if the trainer waits although all are busy, one
// less if fewer would do. Processor time tells: where cores are short, more
// threads would only take them from the trainer.
//
// Thread safety: a pure function.
#pragma once

#include <algorithm>

#include "pipeline/control/controller.h"

namespace gandem {

inline int WorkersInMemory(const PipelineSeen& seen, int workers, int most) {
  const double used = seen.work_seconds / seen.seconds;  // threads
  if (seen.stalled_seconds > 0.05 * seen.seconds && used > 0.8 * workers) {
    return std::min(workers + 1, most);
  }
  // Half as many as are left then: it does not come back at once.
  return used < 0.5 * (workers - 1) ? workers - 1 : workers;
}

}  // namespace gandem
