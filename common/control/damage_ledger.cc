// SPDX-License-Identifier: Apache-2.0
#include "common/control/damage_ledger.h"

#include <utility>

#include "common/control/limits.h"

namespace gandem {

void DamageLedger::Note(LinkDamage::Link link, int peer, bool is_outgoing) {
  absl::MutexLock lock(&mu_);
  ++messages_[{link, peer, is_outgoing}];
}

void DamageLedger::Clear() {
  absl::MutexLock lock(&mu_);
  messages_.clear();
}

bool DamageLedger::empty() const {
  absl::MutexLock lock(&mu_);
  return messages_.empty();
}

std::vector<LinkDamage> DamageLedger::links() const {
  absl::MutexLock lock(&mu_);
  std::vector<LinkDamage> links;
  for (const auto& [key, messages] : messages_) {
    if (std::cmp_equal(links.size(), kMaxDamagedLinks)) break;
    LinkDamage& link = links.emplace_back();
    link.set_link(std::get<LinkDamage::Link>(key));
    link.set_peer(std::get<int>(key));
    link.set_is_outgoing(std::get<bool>(key));
    link.set_messages(messages);
  }
  return links;
}

}  // namespace gandem
