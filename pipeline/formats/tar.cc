// SPDX-License-Identifier: Apache-2.0
#include "pipeline/formats/tar.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/check.h"
#include "common/status.h"
#include "pipeline/formats/member_name.h"

namespace gandem {
namespace {

// Maximum size of a long name and of a member's pax records.
constexpr int64_t kMaxExtraBytes = 1 << 20;

// Types of entries in ustar, pax and GNU archives.
constexpr absl::string_view kRegularTypes("07\0", 3);
constexpr char kHardLink = '1';
constexpr char kSymbolicLink = '2';
// Devices, pipes and sparse files.
constexpr absl::string_view kSpecialTypes = "346S";
constexpr char kPaxRecords = 'x';
constexpr char kLongName = 'L';
constexpr char kLongLink = 'K';

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
  char prefix[155];  // prefix of the name: prefix/name
  char padding[12];
};
static_assert(sizeof(TarHeader) == kTarBlockBytes);

// Sums the header's bytes, with spaces in the checksum field.
int64_t Checksum(TarHeader header) {
  std::memset(header.checksum, ' ', sizeof(header.checksum));
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&header);
  return std::accumulate(bytes, bytes + kTarBlockBytes, int64_t{0});
}

absl::string_view UpToNul(absl::string_view field) {
  return field.substr(0, field.find('\0'));
}

// Parses octal digits, or GNU's form: a set high bit and a big-endian number.
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

// An entry of an archive, including folders and links.
struct TarEntry {
  char type = '0';
  TarMember file = {};
  std::string link = {};  // target of a link
};

// Properties of a member set by preceding records.
struct TarExtras {
  std::optional<std::string> name = {};
  std::optional<std::string> link = {};
  std::optional<int64_t> size = {};
};

// Parses pax records (POSIX.1-2001): "LENGTH KEY=VALUE\n". False: damaged.
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
    if (key == "linkpath") extras.link = std::string(value);
    if (key != "size") continue;
    if (!absl::SimpleAtoi(value, &size) || size < 0) return false;
    extras.size = size;
  }
  return true;
}

// Returns whether an entry describes the entry that follows.
bool IsExtra(char type) {
  return type == kLongName || type == kLongLink || type == kPaxRecords;
}

// Parses a long name or pax records. Returns false if they are damaged.
bool TakeExtras(char type, absl::string_view text, TarExtras& extras) {
  if (type == kPaxRecords) return TakePaxRecords(text, extras);
  (type == kLongName ? extras.name : extras.link) = std::string(UpToNul(text));
  return true;
}

bool IsZero(absl::string_view bytes) {
  return std::ranges::all_of(bytes, [](char c) { return c == '\0'; });
}

// Excludes folders, which archives from before 1988 store as files with a '/'.
bool IsRegular(const TarEntry& entry) {
  return absl::StrContains(kRegularTypes, entry.type) &&
         !absl::EndsWith(entry.file.name, "/");
}

// Links that lead out of the archive are treated as links to missing files.
absl::Status NormalizeName(TarEntry& entry) {
  GANDEM_ASSIGN_OR_RETURN(entry.file.name, NormalMemberName(entry.file.name));
  entry.link = NormalMemberName(entry.link).value_or("");
  return absl::OkStatus();
}

// The last file of a name wins, as when extracting to a disk.
void AddHardLinks(std::vector<TarEntry> links, TarListing& listing) {
  if (links.empty()) return;
  std::map<std::string, TarMember> by_name;
  for (const TarMember& member : listing.members) {
    by_name[member.name] = member;
  }
  for (TarEntry& link : links) {
    const auto target = by_name.find(link.link);
    if (target == by_name.end()) {
      ++listing.unused["hard link to a file outside of the archive"];
      continue;
    }
    TarMember member = target->second;
    member.name = std::move(link.file.name);
    by_name[member.name] = member;
    listing.members.push_back(std::move(member));
  }
}

std::string TarName(const TarHeader& header) {
  const absl::string_view name = UpToNul({header.name, sizeof(header.name)});
  const absl::string_view prefix =
      UpToNul({header.prefix, sizeof(header.prefix)});
  // GNU's own format has another magic and other data here.
  const bool posix = std::memcmp(header.magic, "ustar", 6) == 0;
  if (!posix || prefix.empty()) return std::string(name);
  return absl::StrCat(prefix, "/", name);
}

absl::Status ScanTar(const RandomAccessFile& file,
                     absl::FunctionRef<absl::Status(TarEntry)> use) {
  const std::string& name = file.name();
  const int64_t size = file.size();
  TarExtras extras;
  int64_t offset = 0;
  while (true) {
    if (offset > size - kTarBlockBytes) return DamagedTar(name, offset);
    GANDEM_ASSIGN_OR_RETURN(const std::string block,
                            file.Read(offset, kTarBlockBytes));
    if (IsZero(block)) return absl::OkStatus();
    TarHeader header;
    std::memcpy(&header, block.data(), kTarBlockBytes);
    auto bytes = ParseTarNumber({header.size, sizeof(header.size)});
    const auto sum = ParseTarNumber({header.checksum, sizeof(header.checksum)});
    const bool has_extras = IsExtra(header.type);
    if (!has_extras && extras.size.has_value()) bytes = extras.size;
    // Some programs store the size of a hard link's target.
    if (header.type == kHardLink) bytes = 0;
    if (!bytes.has_value() || sum != Checksum(header) ||
        *bytes > size - offset - kTarBlockBytes) {
      return DamagedTar(name, offset);
    }
    offset += kTarBlockBytes;
    if (has_extras) {
      if (*bytes > kMaxExtraBytes) return DamagedTar(name, offset);
      GANDEM_ASSIGN_OR_RETURN(const std::string text,
                              file.Read(offset, *bytes));
      if (!TakeExtras(header.type, text, extras)) {
        return DamagedTar(name, offset);
      }
    } else {
      GANDEM_RETURN_IF_ERROR(
          use({.type = header.type,
               .file = {.name = extras.name.value_or(TarName(header)),
                        .offset = offset,
                        .size = *bytes},
               .link = extras.link.value_or(
                   std::string(UpToNul({header.link, sizeof(header.link)})))}));
      extras = TarExtras();
    }
    offset += *bytes + Padding(*bytes);
  }
}

}  // namespace

absl::StatusOr<TarListing> ListTar(const RandomAccessFile& file) {
  TarListing listing;
  std::vector<TarEntry> links;
  GANDEM_RETURN_IF_ERROR(ScanTar(file, [&](TarEntry entry) -> absl::Status {
    if (IsRegular(entry)) {
      GANDEM_RETURN_IF_ERROR(Annotate(NormalizeName(entry), file.name()));
      listing.members.push_back(std::move(entry.file));
    } else if (entry.type == kHardLink) {
      GANDEM_RETURN_IF_ERROR(Annotate(NormalizeName(entry), file.name()));
      links.push_back(std::move(entry));
    } else if (entry.type == kSymbolicLink) {
      ++listing.unused["symbolic link"];
    } else if (absl::StrContains(kSpecialTypes, entry.type)) {
      ++listing.unused["special file"];
    }
    return absl::OkStatus();
  }));
  AddHardLinks(std::move(links), listing);
  return listing;
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
  // Zero time, so that equal images make equal archives.
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
