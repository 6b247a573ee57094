// SPDX-License-Identifier: Apache-2.0
//
// A thread with a name for the operating system (ps -L, gdb), joined by the
// destructor. Close everything that it waits for before that.
//
// Owner: the object whose work it does; declare it as the last member so that
// it ends first. Thread safety: one thread calls.
// Errors: an exception that leaves the function ends the process.
#pragma once

#include <thread>

#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"

namespace gandem {

class Thread {
 public:
  Thread() = default;
  // The operating system shows the first 15 bytes of `name`.
  Thread(absl::string_view name, absl::AnyInvocable<void() &&> run);
  Thread(Thread&&) = default;
  Thread& operator=(Thread&& other);  // joins the thread it replaces
  ~Thread() { Join(); }

  // Waits for the function to return; returns at once without a function.
  void Join();

 private:
  std::thread thread_;
};

// Permanently reduces this thread's share of a busy core to a third.
void LowerPriority();

}  // namespace gandem
