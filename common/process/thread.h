// SPDX-License-Identifier: Apache-2.0
//
// A thread that carries its name for the operating system (ps -L, gdb) and is
// joined at the end of its owner's life. Whatever it waits for must be closed
// before that.
//
// Owner: the object whose work it does; as its last member, so that it ends
// first. Thread safety: one thread calls.
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

  // Returns when the function has returned; at once without a function.
  void Join();

 private:
  std::thread thread_;
};

// The calling thread gets a smaller share of a core that others want, too: a
// third of what it got. It cannot be taken back.
void LowerPriority();

}  // namespace gandem
