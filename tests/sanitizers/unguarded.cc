// SPDX-License-Identifier: Apache-2.0
//
// A planted bug: reads a guarded field without its mutex. Must not compile.
#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

class Counter {
 public:
  int Get() const { return count_; }

 private:
  mutable absl::Mutex mu_;
  int count_ ABSL_GUARDED_BY(mu_) = 0;
};
