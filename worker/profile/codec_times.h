// SPDX-License-Identifier: Apache-2.0
//
// What the threads that move bytes take for a step's images or answers: head
// and checksum of what is sent, checks and copy of what arrives.
//
// Thread safety: pure functions. Errors: none.
#pragma once

#include <map>
#include <vector>

#include "exchange/exchange_options.h"
#include "proto/metrics.pb.h"
#include "proto/profile.pb.h"

namespace gandem {

// Seconds of some repetitions of ENCODE and DECODE, for the batch of `role`;
// nothing where it does not send or get any such bytes, as in one process.
std::map<OperationTime::Operation, std::vector<double>> CodecTimes(
    Role role, const ExchangeOptions& options);

}  // namespace gandem
