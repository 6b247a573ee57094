// SPDX-License-Identifier: Apache-2.0
//
// `gandem dataset show`, `verify` and `pack`.
//
// Owner: main(). Thread safety: one thread, which starts others to read images.
#pragma once

#include <iosfwd>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control_plane/command_line/command_line.h"

namespace gandem {

// Prints the number, classes and stored format of the images and how training
// sees them. Writes a grid of 64 images to options.output.
// Errors: those of OpenSource and OpenDataset, of the recipe and of writing.
absl::Status ShowDataset(const DatasetOptions& options, std::ostream& out,
                         std::ostream& err);

// Reads every image and prints a line for each unreadable one. Returns the exit
// code: 0, or 2 if an image is unreadable. With options.exclude, writes the
// list of unreadable images there (pipeline/formats/exclude_list.h) and
// returns 0.
//   UNAVAILABLE  with options.exclude: a read failed for a reason other than
//                the image's content; nothing is written.
absl::StatusOr<int> VerifyDataset(const DatasetOptions& options,
                                  std::ostream& out, std::ostream& err);

// Writes the images into shards. Errors: those of
// pipeline/sources/pack_images.h, and
//   CANCELLED  SIGINT or SIGTERM, which main() has blocked; the same command
//              resumes.
absl::Status PackDataset(const DatasetOptions& options, std::ostream& out,
                         std::ostream& err);

}  // namespace gandem
