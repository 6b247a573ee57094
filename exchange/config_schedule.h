// SPDX-License-Identifier: Apache-2.0
//
// Converts the schedule and encoding of a RunConfig, without Torch.
//
// Thread safety: pure functions.
#pragma once

#include "exchange/encoding.h"
#include "exchange/schedule.h"
#include "proto/config.pb.h"

namespace gandem {

// `config` must be valid (common/config/run_config.h).
Schedule ScheduleOf(const RunConfig& config);

Encoding EncodingOf(ExchangeConfig::Encoding encoding);

}  // namespace gandem
