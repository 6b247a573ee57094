// SPDX-License-Identifier: Apache-2.0
//
// What a config is to the schedule and to the wire: for training, and for who
// plans it without Torch.
//
// Thread safety: pure functions.
#pragma once

#include "exchange/encoding.h"
#include "exchange/schedule.h"
#include "proto/config.pb.h"

namespace gandem {

// `config` is valid (common/config/run_config.h).
Schedule ScheduleOf(const RunConfig& config);

Encoding EncodingOf(ExchangeConfig::Encoding encoding);

}  // namespace gandem
