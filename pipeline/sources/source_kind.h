// SPDX-License-Identifier: Apache-2.0
//
// A kind of source: how its paths are recognized, and what opens them. The
// table is in image_sources.cc; extras (extras/README.md) add to it.
//
// Owner: values. Thread safety: pure functions, except for reading files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pipeline/image_store.h"

namespace gandem {

using OpenedSource = absl::StatusOr<std::unique_ptr<ImageStore>>;

struct SourceKind {
  absl::string_view name;  // in messages; "": it is not listed
  bool (*recognizes)(const std::string& path);
  // `member`: data.member, for files in folders and archives.
  OpenedSource (*open)(const std::string& path, const std::string& member);
};

// The kinds that extras of this build open. They are asked after S3, IDX and
// CIFAR, and before folders and archives of images.
std::vector<SourceKind> ExtraSourceKinds();

// Stands for Parquet in a build without that extra: recognizes it, and fails
// with what is missing.
SourceKind MissingParquetKind();

// INVALID_ARGUMENT: the images of `path` have no names to choose from.
absl::Status NoMembersError(const std::string& path, const std::string& member);

// Opens a kind of source whose images have no names.
template <OpenedSource (*kOpen)(const std::string&)>
OpenedSource OpenWithoutMembers(const std::string& path,
                                const std::string& member) {
  if (member.empty()) return kOpen(path);
  return NoMembersError(path, member);
}

}  // namespace gandem
