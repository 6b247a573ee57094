// SPDX-License-Identifier: Apache-2.0
#include "pipeline/formats/tar.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/check.h"
#include "common/files/file.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr int64_t kBlock = 512;

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
  char rest[247];
};
static_assert(sizeof(TarHeader) == kBlock);

// The sum of the header's bytes, the field for it being spaces.
int64_t Checksum(TarHeader header) {
  std::memset(header.checksum, ' ', sizeof(header.checksum));
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&header);
  return std::accumulate(bytes, bytes + kBlock, int64_t{0});
}

// Octal digits up to a space or NUL. The other form, a set high bit and a
// binary number, is for members above 8 GiB, which no image is.
std::optional<int64_t> ParseOctal(absl::string_view field) {
  int64_t value = 0;
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

int64_t Padding(int64_t size) { return (kBlock - size % kBlock) % kBlock; }

absl::Status DamagedTar(const std::string& path, int64_t offset) {
  return absl::DataLossError(absl::StrCat(
      "'", path, "' is no tar archive, or damaged or cut off at byte ",
      offset));
}

absl::StatusOr<std::vector<TarMember>> ListMembers(int fd,
                                                   const std::string& path,
                                                   int64_t file_bytes) {
  std::vector<TarMember> members;
  int64_t offset = 0;
  while (true) {
    GANDEM_ASSIGN_OR_RETURN(const std::string block,
                            ReadAt(fd, path, offset, kBlock));
    if (static_cast<int64_t>(block.size()) < kBlock) {
      return DamagedTar(path, offset);
    }
    if (std::ranges::all_of(block, [](char c) { return c == '\0'; })) break;
    TarHeader header;
    std::memcpy(&header, block.data(), kBlock);
    const auto size = ParseOctal({header.size, sizeof(header.size)});
    const auto sum = ParseOctal({header.checksum, sizeof(header.checksum)});
    if (!size.has_value() || sum != Checksum(header) ||
        *size > file_bytes - offset - kBlock) {
      return DamagedTar(path, offset);
    }
    offset += kBlock;
    if (header.type == '0' || header.type == '\0') {
      members.push_back(
          {.name = std::string(header.name,
                               strnlen(header.name, sizeof(header.name))),
           .offset = offset,
           .size = *size});
    }
    offset += *size + Padding(*size);
  }
  return members;
}

}  // namespace

absl::StatusOr<std::vector<TarMember>> ListTar(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return FileError(errno, "cannot open", path);
  const absl::Cleanup close_file = [fd] { close(fd); };
  struct stat info = {};
  if (fstat(fd, &info) != 0) return FileError(errno, "cannot read", path);
  return ListMembers(fd, path, info.st_size);
}

absl::StatusOr<std::string> ReadTarMember(const std::string& path,
                                          const TarMember& member) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return FileError(errno, "cannot open", path);
  const absl::Cleanup close_file = [fd] { close(fd); };
  GANDEM_ASSIGN_OR_RETURN(std::string bytes,
                          ReadAt(fd, path, member.offset, member.size));
  if (static_cast<int64_t>(bytes.size()) != member.size) {
    return DamagedTar(path, member.offset);
  }
  return bytes;
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
  GANDEM_RETURN_IF_ERROR(file_.Append(std::string(2 * kBlock, '\0')));
  GANDEM_RETURN_IF_ERROR(file_.Sync());
  return file_.Close().status();
}

}  // namespace gandem
