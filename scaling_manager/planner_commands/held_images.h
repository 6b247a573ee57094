// SPDX-License-Identifier: Apache-2.0
//
// What real images add to a worker's memory: probes are of random ones, and
// some kinds of files are in memory as a whole (IDX, CIFAR, npz). What reads
// ahead of training is limited by data.memory_bytes and not counted.
//
// Thread safety: any thread; HeldImageBytes reads files.
#pragma once

#include <cstdint>

#include "proto/config.pb.h"
#include "proto/profile.pb.h"

namespace gandem {

// In each process that trains a discriminator. 0: images are read as they are
// needed, or they are not on this machine, which is no error: a plan may be
// made elsewhere.
int64_t HeldImageBytes(const DataConfig& data);

// To the probes of whoever trains on real images.
void AddHeldImages(int64_t bytes, Profile& profile);

}  // namespace gandem
