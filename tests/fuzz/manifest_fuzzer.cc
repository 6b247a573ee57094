// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the reader of checkpoint manifests.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "common/check.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/checkpoint/checkpoint_shards.h"
#include "common/files/file.h"
#include "tests/fuzz/input_file.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

absl::StatusOr<CheckpointManifest> ReadAsManifest(absl::string_view text) {
  static const gandem::testing::TempDir folder;
  GANDEM_CHECK_OK(WriteFile(folder / kManifestName, text));
  return ReadManifest(folder.path());
}

}  // namespace
}  // namespace gandem

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gandem;
  const auto manifest = ReadAsManifest(TextOf(data, size));
  if (!manifest.ok()) {
    GANDEM_CHECK(absl::IsDataLoss(manifest.status()));
    return 0;
  }
  // The manifest names only files inside the folder.
  GANDEM_CHECK(!manifest->files().empty());
  for (const CheckpointFile& file : manifest->files()) {
    GANDEM_CHECK(!file.name().empty() && file.name() != "." &&
                 file.name() != ".." && file.name() != kManifestName &&
                 !absl::StrContains(file.name(), '/'));
  }
  const auto names = ShardNames(*manifest, "generator");
  GANDEM_CHECK(names.ok() || absl::IsDataLoss(names.status()));
  const std::string text = TextOf(*manifest);
  const auto again = ReadAsManifest(text);
  GANDEM_CHECK_OK(again.status());
  GANDEM_CHECK(TextOf(*again) == text);
  return 0;
}
