// SPDX-License-Identifier: Apache-2.0
//
// Which host a process is on, as far as sockets go: two processes reach each
// other's unix sockets, and 127.0.0.1, only if they are on one kernel and in
// one network namespace. The host's name does not say so: images of virtual
// machines and containers share theirs.
//
// Thread safety: any thread.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace gandem {

struct HostIdentity {
  std::string name = {};  // for people; "unknown" if the system does not say
  // Equal for processes of one host only: the name, what the kernel drew when
  // it started, and its number of the network namespace.
  std::string text = {};
};

HostIdentity ThisHost();

// Writes into a lock who holds it, for people: this process and its host.
// Empty: it does not say.
absl::Status WriteHolder(int lock, const std::string& path);
std::string HolderIn(const std::string& path);

}  // namespace gandem
