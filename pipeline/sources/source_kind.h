// SPDX-License-Identifier: Apache-2.0
//
// A kind of source: how to recognize and open it. The table is in
// image_sources.cc; extras (extras/README.md) add rows.
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
  // Memory for units that are read as a whole (SourceInfo::reads_whole_units).
  // The default is a quarter of data.memory_bytes.
  int64_t unit_bytes = int64_t{128} << 20;
};

struct SourceKind {
  absl::string_view name;  // in messages; "": unlisted
  bool (*recognizes)(const Location& at);
  OpenedSource (*open)(const Location& at, const SourceOptions& options);
  bool has_members = false;  // has files with names to choose from
};

// Kinds of this build's extras. Tried after S3, IDX and CIFAR, and before
// folders and archives of images.
std::vector<SourceKind> ExtraSourceKinds();

// Recognizes Parquet in builds without the extra, only to report it missing.
SourceKind MissingParquetKind();

}  // namespace gandem
