// SPDX-License-Identifier: Apache-2.0
//
// Checks of another host, by the answers of its `gandem doctor --listen`: equal
// releases, clocks within a second, one run folder, machines of one kind, and a
// connection back to this host.
//
// Owner: `gandem doctor`. Thread safety: any thread.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/control/numerics.h"
#include "common/results/run_folder.h"
#include "control_plane/doctor/doctor_client.h"
#include "control_plane/doctor/finding.h"

namespace gandem {

// All checks of the host at `address`; `own_address`: where this process
// listens, for the way back; empty: it is not tried. Each call ends by
// itself within half a minute.
Findings CheckPeer(const std::string& address, const std::string& own_address,
                   const std::string& run_dir);

// The parts of it.
Finding JudgeVersion(const std::string& peer, const std::string& version);
Finding JudgeClock(const std::string& peer, const PeerLook& look);
Finding JudgeFolder(const std::string& peer, const std::string& run_dir,
                    const FolderProof& proof, const LookReply& reply);
// Whether this host, `here`, computes the same bits.
Finding JudgeNumerics(const std::string& peer, const LookReply& reply,
                      const Numerics& here);

}  // namespace gandem
