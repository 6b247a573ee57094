// SPDX-License-Identifier: Apache-2.0
//
// `gandem dataset show`, `verify` and `pack`: what a source of images is, and
// another form of it, before anybody trains on it.
//
// Owner: main(). Thread safety: one thread, which starts others to read images.
#pragma once

#include <iosfwd>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control_plane/command_line/command_line.h"

namespace gandem {

// Prints count, classes, how images are stored and what training sees of them,
// and writes options.output: 64 of them in a grid, as training sees them.
//   errors of OpenSource and OpenDataset, of the recipe, and of writing.
absl::Status ShowDataset(const DatasetOptions& options, std::ostream& out,
                         std::ostream& err);

// Reads every image, and prints a line for each that cannot be read. Returns
// the exit code: 0, or 2 if there is one. With options.exclude writes the list
// of them there (pipeline/formats/exclude_list.h), and returns 0.
//   UNAVAILABLE  with options.exclude: it was not an image's content that
//                failed; nothing is written.
absl::StatusOr<int> VerifyDataset(const DatasetOptions& options,
                                  std::ostream& out, std::ostream& err);

// Writes the images into shards (pipeline/sources/pack_images.h, which has the
// errors).
//   CANCELLED  SIGINT or SIGTERM, which main() has blocked; the same command
//              goes on.
absl::Status PackDataset(const DatasetOptions& options, std::ostream& out,
                         std::ostream& err);

}  // namespace gandem
