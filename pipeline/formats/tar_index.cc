// SPDX-License-Identifier: Apache-2.0
#include "pipeline/formats/tar_index.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/crc32c.h"
#include "common/status.h"
#include "pipeline/dataset.h"

namespace gandem {
namespace {

constexpr int64_t kTarEndBytes = 2 * kTarBlockBytes;  // two zero blocks
// Bytes read first from an archive's end: an index of about 1,000 images.
constexpr int64_t kTailBytes = 64 << 10;
constexpr int64_t kMaxIndexBytes = int64_t{1} << 30;

constexpr absl::string_view kIndexName = ".gandem-index";
constexpr absl::string_view kIndexHeading = "gandem tar index 1";
constexpr absl::string_view kSealStart = "gandem-index ";
constexpr int64_t kSealBytes = 13 + 20 + 1 + 8 + 1 + 8 + 1;

// Last line of an index.
struct IndexSeal {
  int64_t offset = 0;
  uint32_t archive_crc32c = 0;
  uint32_t index_crc32c = 0;
};

std::string SealText(const IndexSeal& seal) {
  return absl::StrFormat("%s%020d %08x %08x\n", kSealStart, seal.offset,
                         seal.archive_crc32c, seal.index_crc32c);
}

// Removes `text` up to and including `end`; returns the part before it.
std::optional<absl::string_view> TakeUpTo(char end, absl::string_view& text) {
  const size_t at = text.find(end);
  if (at == absl::string_view::npos) return std::nullopt;
  const absl::string_view part = text.substr(0, at);
  text.remove_prefix(at + 1);
  return part;
}

template <typename Number>
bool TakeNumber(absl::string_view& text, Number& number, bool hex = false) {
  const auto part = TakeUpTo(' ', text);
  return part.has_value() && (hex ? absl::SimpleHexAtoi(*part, &number)
                                  : absl::SimpleAtoi(*part, &number));
}

// Parses a count such as "classes 12". At least one byte per line must follow.
std::optional<int64_t> TakeCount(absl::string_view what,
                                 absl::string_view& text) {
  auto line = TakeUpTo('\n', text);
  int64_t count = -1;
  if (!line.has_value() || !absl::ConsumePrefix(&*line, what) ||
      !absl::SimpleAtoi(*line, &count) || count < 0 ||
      count > static_cast<int64_t>(text.size())) {
    return std::nullopt;
  }
  return count;
}

bool ParseFileLine(absl::string_view line, IndexedFile& file) {
  return TakeNumber(line, file.offset) && TakeNumber(line, file.size) &&
         TakeNumber(line, file.crc32c, /*hex=*/true) &&
         TakeNumber(line, file.label) && absl::CUnescape(line, &file.name) &&
         !file.name.empty();
}

// Checks that either all files or none have labels.
bool LabelFits(const IndexedFile& file, const TarIndex& index) {
  return file.label >= -1 && file.label <= kMaxLabel &&
         (file.label >= 0) == (index.files.front().label >= 0);
}

absl::Status BadIndex(const RandomAccessFile& file) {
  return absl::DataLossError(absl::StrCat(
      "'", file.name(), "': its index (the last member, ", kIndexName,
      ") is damaged or not that of this archive: copy the archive again, or ",
      "pack the images again (`gandem dataset pack`, into another folder)"));
}

std::optional<IndexSeal> ParseSeal(absl::string_view line) {
  IndexSeal seal;
  if (!absl::ConsumePrefix(&line, kSealStart)) return std::nullopt;
  absl::string_view rest = line;
  const auto offset = TakeUpTo(' ', rest);
  const auto archive = TakeUpTo(' ', rest);
  const auto index = TakeUpTo('\n', rest);
  if (!offset.has_value() || !archive.has_value() || !index.has_value() ||
      !absl::SimpleAtoi(*offset, &seal.offset) ||
      !absl::SimpleHexAtoi(*archive, &seal.archive_crc32c) ||
      !absl::SimpleHexAtoi(*index, &seal.index_crc32c)) {
    return IndexSeal{.offset = -1};
  }
  return seal;
}

}  // namespace

absl::Status AddTarIndex(const TarIndex& index, TarWriter& tar) {
  std::string text =
      absl::StrCat(kIndexHeading, "\nclasses ", index.class_names.size(), "\n");
  for (const std::string& name : index.class_names) {
    absl::StrAppend(&text, absl::Utf8SafeCEscape(name), "\n");
  }
  absl::StrAppend(&text, "files ", index.files.size(), "\n");
  for (const IndexedFile& file : index.files) {
    absl::StrAppendFormat(&text, "%d %d %08x %d %s\n", file.offset, file.size,
                          file.crc32c, file.label,
                          absl::Utf8SafeCEscape(file.name));
  }
  // Pad so that the last line ends at the end of a block.
  const auto used = static_cast<int64_t>(text.size()) + kSealBytes;
  text.append(static_cast<size_t>((kTarBlockBytes - used % kTarBlockBytes) %
                                  kTarBlockBytes),
              '\n');
  const FileSummary before = tar.written();
  text += SealText({.offset = before.size + kTarBlockBytes,
                    .archive_crc32c = before.crc32c,
                    .index_crc32c = TextCrc32c(text)});
  return tar.Add(kIndexName, text);
}

absl::StatusOr<std::optional<TarIndex>> ReadTarIndex(
    const RandomAccessFile& file) {
  const int64_t end = file.size() - kTarEndBytes;
  if (end < kTarBlockBytes + kSealBytes) return std::nullopt;
  const int64_t tail_offset = std::max<int64_t>(0, end - kTailBytes);
  GANDEM_ASSIGN_OR_RETURN(std::string text,
                          file.Read(tail_offset, end - tail_offset));
  const std::optional<IndexSeal> seal =
      ParseSeal(absl::string_view(text).substr(text.size() - kSealBytes));
  if (!seal.has_value()) return std::nullopt;
  if (seal->offset < kTarBlockBytes || seal->offset % kTarBlockBytes != 0 ||
      seal->offset > end - kSealBytes || end - seal->offset > kMaxIndexBytes) {
    return BadIndex(file);
  }
  if (seal->offset < tail_offset) {
    GANDEM_ASSIGN_OR_RETURN(
        const std::string head,
        file.Read(seal->offset, tail_offset - seal->offset));
    text.insert(0, head);
  } else {
    text.erase(0, static_cast<size_t>(seal->offset - tail_offset));
  }
  text.resize(text.size() - kSealBytes);
  if (TextCrc32c(text) != seal->index_crc32c) return BadIndex(file);
  const int64_t archive_bytes = seal->offset - kTarBlockBytes;
  std::optional<TarIndex> index = ParseTarIndex(text, archive_bytes);
  if (!index.has_value()) return BadIndex(file);
  index->archive_bytes = archive_bytes;
  index->archive_crc32c = seal->archive_crc32c;
  return index;
}

std::optional<TarIndex> ParseTarIndex(absl::string_view text,
                                      int64_t archive_bytes) {
  if (TakeUpTo('\n', text) != kIndexHeading) return std::nullopt;
  TarIndex index;
  const auto classes = TakeCount("classes ", text);
  for (int64_t i = 0; i < classes.value_or(0); ++i) {
    const auto line = TakeUpTo('\n', text);
    index.class_names.emplace_back();
    if (!line.has_value() ||
        !absl::CUnescape(*line, &index.class_names.back())) {
      return std::nullopt;
    }
  }
  const auto files = TakeCount("files ", text);
  if (!classes.has_value() || !files.has_value()) return std::nullopt;
  int64_t free = 0;  // end of the previous file
  for (int64_t i = 0; i < *files; ++i) {
    const auto line = TakeUpTo('\n', text);
    IndexedFile& file = index.files.emplace_back();
    if (!line.has_value() || !ParseFileLine(*line, file) ||
        file.offset < free + kTarBlockBytes || file.size < 0 ||
        file.offset > archive_bytes ||
        file.size > archive_bytes - file.offset || !LabelFits(file, index)) {
      return std::nullopt;
    }
    free = file.offset + file.size;
  }
  if (text.find_first_not_of('\n') != absl::string_view::npos) {
    return std::nullopt;
  }
  return index;
}

}  // namespace gandem
