// SPDX-License-Identifier: Apache-2.0
//
// Identifies the host of a process for sockets: two processes reach each
// other's unix sockets and 127.0.0.1 only if they share a kernel and a network
// namespace. The host name is not enough because images of virtual machines and
// containers share it.
//
// Thread safety: any thread.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace gandem {

struct HostIdentity {
  std::string name = {};  // for people; may be "unknown"
  // Equal only for processes of one host: the host name, the kernel's boot id
  // and the number of the network namespace.
  std::string text = {};
};

HostIdentity ThisHost();

// Writes this process and its host into a lock file, to tell people its holder.
absl::Status WriteHolder(int lock, const std::string& path);
std::string HolderIn(const std::string& path);

}  // namespace gandem
