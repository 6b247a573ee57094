// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the reader of tar indexes. The input is an index, which is written to
// an archive and read again if valid; it is also read as an archive.
#include <cstddef>
#include <cstdint>
#include <optional>

#include "common/check.h"
#include "pipeline/formats/tar_index.h"
#include "tests/fuzz/input_file.h"

namespace gandem {
namespace {

constexpr int64_t kArchiveBytes = 1 << 16;

void CheckWithin(const TarIndex& index, int64_t archive_bytes) {
  int64_t free = 0;
  for (const IndexedFile& file : index.files) {
    GANDEM_CHECK(file.offset >= free && file.size >= 0 && !file.name.empty());
    free = file.offset + file.size;
    GANDEM_CHECK(free <= archive_bytes);
  }
}

void CheckArchive(absl::string_view bytes) {
  const auto file = FileInMemory("input", std::string(bytes));
  const auto index = ReadTarIndex(*file);
  if (!index.ok()) {
    GANDEM_CHECK(absl::IsDataLoss(index.status()));
  } else if (index->has_value()) {
    CheckWithin(**index, file->size());
  }
}

// Checks an archive that ends with `index`.
void CheckWritten(const TarIndex& index) {
  const InputFile output;
  auto tar = TarWriter::Create(output.path());
  GANDEM_CHECK_OK(tar.status());
  GANDEM_CHECK_OK(tar->Add("filling", std::string(kArchiveBytes, 'x')));
  GANDEM_CHECK_OK(AddTarIndex(index, *tar));
  GANDEM_CHECK_OK(tar->Finish());
  const auto file = OpenLocalFile(output.path());
  GANDEM_CHECK_OK(file.status());
  const auto again = ReadTarIndex(**file);
  GANDEM_CHECK_OK(again.status());
  GANDEM_CHECK(again->has_value());
  GANDEM_CHECK((*again)->files == index.files);
  GANDEM_CHECK((*again)->class_names == index.class_names);
}

}  // namespace
}  // namespace gandem

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gandem;
  const absl::string_view text = TextOf(data, size);
  CheckArchive(text);
  // Adds the end of the archive, which mutations rarely keep.
  CheckArchive(absl::StrCat(text, std::string(1024, '\0')));
  const std::optional<TarIndex> index = ParseTarIndex(text, kArchiveBytes);
  if (!index.has_value()) return 0;
  CheckWithin(*index, kArchiveBytes);
  CheckWritten(*index);
  return 0;
}
