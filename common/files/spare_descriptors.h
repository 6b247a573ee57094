// SPDX-License-Identifier: Apache-2.0
//
// Descriptors for files where the process has used up its own: by connections
// of whoever. A few are kept open for nothing, and one is given up for each
// file that would find none left: a checkpoint is written whatever else is.
//
// Thread safety: any thread.
#pragma once

#include <sys/types.h>

#include <string>

namespace gandem {

// How many files at once have one.
inline constexpr int kSpareDescriptors = 8;

// Keeps them from now on. A process that never calls it has none.
void KeepSpareDescriptors();

// open(2) that gives up a spare descriptor when there is no other. Those that
// were given up are taken back as soon as there is room.
int OpenFile(const std::string& path, int flags, mode_t mode = 0);

// Gives one up, for what is opened in another way. False: none is left.
bool GiveUpSpareDescriptor();

}  // namespace gandem
