// SPDX-License-Identifier: Apache-2.0
#include "pipeline/formats/tar.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/check.h"
#include "common/status.h"

namespace gandem {
namespace {

// Of a long name, or of what pax says of a member.
constexpr int64_t kMaxExtraBytes = 1 << 20;

// IEEE Std 1003.1-1988, the ustar interchange format.
struct TarHeader {
  char name[100];
  char mode[8];
  char user[8];
  char group[8];
  char size[12];
  char time[12];
  char checksum[8];
  char type;
  char link[100];
  char magic[8];
  char rest[80];     // owner, group, device
  char prefix[155];  // of the name: prefix/name
  char padding[12];
};
static_assert(sizeof(TarHeader) == kTarBlockBytes);

// The sum of the header's bytes, the field for it being spaces.
int64_t Checksum(TarHeader header) {
  std::memset(header.checksum, ' ', sizeof(header.checksum));
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&header);
  return std::accumulate(bytes, bytes + kTarBlockBytes, int64_t{0});
}

absl::string_view UpToNul(absl::string_view field) {
  return field.substr(0, field.find('\0'));
}

// Octal digits up to a space or NUL; or GNU's form, a set high bit and a big-
// endian binary number.
std::optional<int64_t> ParseTarNumber(absl::string_view field) {
  int64_t value = 0;
  if (!field.empty() && (field[0] & 0x80) != 0) {
    for (size_t i = 1; i < field.size(); ++i) {
      if (value >> 55 != 0) return std::nullopt;
      value = value << 8 | static_cast<unsigned char>(field[i]);
    }
    return value;
  }
  bool any = false;
  for (const char c : field) {
    if (c == ' ' && !any) continue;
    if (c == ' ' || c == '\0') break;
    if (c < '0' || c > '7') return std::nullopt;
    value = value * 8 + (c - '0');
    any = true;
  }
  if (!any) return std::nullopt;
  return value;
}

int64_t Padding(int64_t size) {
  return (kTarBlockBytes - size % kTarBlockBytes) % kTarBlockBytes;
}

absl::Status DamagedTar(const std::string& path, int64_t offset) {
  return absl::DataLossError(absl::StrCat(
      "'", path, "' is no tar archive, or damaged or cut off at byte ",
      offset));
}

// What a record before a member says of it.
struct TarExtras {
  std::optional<std::string> name = {};
  std::optional<int64_t> size = {};
};

// Records of pax (POSIX.1-2001): "LENGTH KEY=VALUE\n". False: damaged.
bool TakePaxRecords(absl::string_view records, TarExtras& extras) {
  while (!records.empty()) {
    const size_t space = records.find(' ');
    size_t length = 0;
    if (space == absl::string_view::npos ||
        !absl::SimpleAtoi(records.substr(0, space), &length) ||
        length < space + 2 || length > records.size()) {
      return false;
    }
    const absl::string_view record =
        records.substr(space + 1, length - space - 2);
    records.remove_prefix(length);
    const size_t equals = record.find('=');
    if (equals == absl::string_view::npos) return false;
    const absl::string_view key = record.substr(0, equals);
    const absl::string_view value = record.substr(equals + 1);
    int64_t size = 0;
    if (key == "path") extras.name = std::string(value);
    if (key != "size") continue;
    if (!absl::SimpleAtoi(value, &size) || size < 0) return false;
    extras.size = size;
  }
  return true;
}

std::string TarName(const TarHeader& header) {
  const absl::string_view name = UpToNul({header.name, sizeof(header.name)});
  const absl::string_view prefix =
      UpToNul({header.prefix, sizeof(header.prefix)});
  // GNU's own format has other things there, and another magic.
  const bool posix = std::memcmp(header.magic, "ustar", 6) == 0;
  if (!posix || prefix.empty()) return std::string(name);
  return absl::StrCat(prefix, "/", name);
}

}  // namespace

absl::StatusOr<std::vector<TarMember>> ListTar(const RandomAccessFile& file) {
  std::vector<TarMember> members;
  TarExtras extras;
  int64_t offset = 0;
  while (true) {
    const absl::StatusOr<std::string> block = file.Read(offset, kTarBlockBytes);
    if (absl::IsDataLoss(block.status())) {
      return DamagedTar(file.name(), offset);
    }
    GANDEM_RETURN_IF_ERROR(block);
    if (std::ranges::all_of(*block, [](char c) { return c == '\0'; })) break;
    TarHeader header;
    std::memcpy(&header, block->data(), kTarBlockBytes);
    auto size = ParseTarNumber({header.size, sizeof(header.size)});
    const auto sum = ParseTarNumber({header.checksum, sizeof(header.checksum)});
    const bool has_extras = header.type == 'L' || header.type == 'x';
    if (!has_extras && extras.size.has_value()) size = extras.size;
    if (!size.has_value() || sum != Checksum(header) ||
        *size > file.size() - offset - kTarBlockBytes) {
      return DamagedTar(file.name(), offset);
    }
    offset += kTarBlockBytes;
    if (has_extras) {
      if (*size > kMaxExtraBytes) return DamagedTar(file.name(), offset);
      GANDEM_ASSIGN_OR_RETURN(const std::string text, file.Read(offset, *size));
      if (header.type == 'L') {
        extras.name = std::string(UpToNul(text));
      } else if (!TakePaxRecords(text, extras)) {
        return DamagedTar(file.name(), offset);
      }
    } else {
      if (header.type == '0' || header.type == '\0') {
        members.push_back({.name = extras.name.value_or(TarName(header)),
                           .offset = offset,
                           .size = *size});
      }
      extras = TarExtras();
    }
    offset += *size + Padding(*size);
  }
  return members;
}

absl::StatusOr<TarWriter> TarWriter::Create(const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(FileWriter file, FileWriter::Create(path));
  return TarWriter(std::move(file));
}

absl::Status TarWriter::Add(absl::string_view name,
                            absl::string_view contents) {
  TarHeader header = {};
  GANDEM_CHECK(!name.empty() && name.size() <= sizeof(header.name));
  std::memcpy(header.name, name.data(), name.size());
  absl::SNPrintF(header.mode, sizeof(header.mode), "%07o", 0644);
  absl::SNPrintF(header.user, sizeof(header.user), "%07o", 0);
  absl::SNPrintF(header.group, sizeof(header.group), "%07o", 0);
  absl::SNPrintF(header.size, sizeof(header.size), "%011o", contents.size());
  // No time: the same images make the same archive.
  absl::SNPrintF(header.time, sizeof(header.time), "%011o", 0);
  header.type = '0';
  std::memcpy(header.magic, "ustar\00000", sizeof(header.magic));
  absl::SNPrintF(header.checksum, sizeof(header.checksum), "%06o",
                 Checksum(header));
  header.checksum[7] = ' ';
  GANDEM_RETURN_IF_ERROR(file_.Append(absl::string_view(
      reinterpret_cast<const char*>(&header), sizeof(header))));
  GANDEM_RETURN_IF_ERROR(file_.Append(contents));
  const std::string padding(
      static_cast<size_t>(Padding(static_cast<int64_t>(contents.size()))),
      '\0');
  return file_.Append(padding);
}

absl::Status TarWriter::Finish() {
  GANDEM_RETURN_IF_ERROR(file_.Append(std::string(2 * kTarBlockBytes, '\0')));
  GANDEM_RETURN_IF_ERROR(file_.Sync());
  return file_.Close().status();
}

}  // namespace gandem
