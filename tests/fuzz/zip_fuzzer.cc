// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the zip reader.
#include <cstddef>
#include <cstdint>

#include "absl/strings/match.h"
#include "common/check.h"
#include "pipeline/formats/zip_reader.h"
#include "tests/fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gandem;
  constexpr int64_t kMaxBytes = 1 << 20;
  const auto zip =
      ZipReader::Open(FileInMemory("input", std::string(TextOf(data, size))));
  if (!zip.ok()) {
    GANDEM_CHECK(absl::IsDataLoss(zip.status()));
    return 0;
  }
  for (const ZipMember& member : zip->members()) {
    const auto bytes = zip->Read(member, kMaxBytes);
    GANDEM_CHECK(bytes.ok() || absl::IsDataLoss(bytes.status()) ||
                 absl::IsInvalidArgument(bytes.status()));
    if (bytes.ok()) GANDEM_CHECK(bytes->size() == member.bytes);
    const auto start = zip->ReadStart(member, /*most=*/100);
    GANDEM_CHECK(start.ok() || absl::IsDataLoss(start.status()));
    if (start.ok()) GANDEM_CHECK(start->size() <= 100);
    if (start.ok() && bytes.ok()) {
      GANDEM_CHECK(absl::StartsWith(*bytes, *start));
    }
  }
  return 0;
}
