// SPDX-License-Identifier: Apache-2.0
//
// Checks of another host that runs `gandem doctor --listen`: equal releases,
// clocks within a second, a shared run folder, machines of one kind, and a
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

// Runs all checks of the host at `address`. `own_address`: address of this
// process, for the connection back; empty: skips this check. Each remote call
// ends within half a minute.
Findings CheckPeer(const std::string& address, const std::string& own_address,
                   const std::string& run_dir);

// Single checks of CheckPeer().
Finding JudgeVersion(const std::string& peer, const std::string& version);
Finding JudgeClock(const std::string& peer, const PeerLook& look);
Finding JudgeFolder(const std::string& peer, const std::string& run_dir,
                    const FolderProof& proof, const LookReply& reply);
// Compares the peer's numerics with those of this host, `here`.
Finding JudgeNumerics(const std::string& peer, const LookReply& reply,
                      const Numerics& here);

}  // namespace gandem
