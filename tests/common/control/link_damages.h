// SPDX-License-Identifier: Apache-2.0
//
// What a worker tells of its links.
#pragma once

#include <cstdint>

#include "proto/control.pb.h"

namespace gandem::testing {

inline void AddDamage(LinkDamage::Link link, int peer, bool is_outgoing,
                      int64_t messages, HeartbeatRequest& request) {
  LinkDamage& damage = *request.add_damage();
  damage.set_link(link);
  damage.set_peer(peer);
  damage.set_is_outgoing(is_outgoing);
  damage.set_messages(messages);
}

}  // namespace gandem::testing
