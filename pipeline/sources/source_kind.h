// SPDX-License-Identifier: Apache-2.0
//
// A kind of source: how its locations are recognized, and what opens them. The
// table is in image_sources.cc; extras (extras/README.md) add to it.
//
// Owner: values. Thread safety: pure functions, except for reading files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pipeline/image_store.h"
#include "pipeline/trees/location.h"

namespace gandem {

using OpenedSource = absl::StatusOr<std::unique_ptr<ImageStore>>;

struct SourceOptions {
  std::string member = {};  // data.member, for files in folders and archives
  // Memory for units that are read as a whole (SourceInfo::reads_whole_units);
  // the default is a quarter of that of data.memory_bytes.
  int64_t unit_bytes = int64_t{128} << 20;
};

struct SourceKind {
  absl::string_view name;  // in messages; "": it is not listed
  bool (*recognizes)(const Location& at);
  OpenedSource (*open)(const Location& at, const SourceOptions& options);
  bool has_members = false;  // files with names, of which some may be chosen
};

// The kinds that extras of this build open. They are asked after S3, IDX and
// CIFAR, and before folders and archives of images.
std::vector<SourceKind> ExtraSourceKinds();

// Stands for Parquet in a build without that extra: recognizes it, and fails
// with what is missing.
SourceKind MissingParquetKind();

}  // namespace gandem
