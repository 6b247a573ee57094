// SPDX-License-Identifier: Apache-2.0
#include "pipeline/formats/zip_reader.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/status.h"
#include "pipeline/formats/zip_format.h"
#include "pipeline/remote/open_file.h"

namespace gandem {
namespace {

// Sizes of the fixed parts of the records, in bytes.
constexpr size_t kLocalBytes = 30;
constexpr size_t kCentralBytes = 46;
constexpr size_t kEndBytes = 22;
constexpr size_t kLocator64Bytes = 20;
constexpr size_t kMaxComment = 65535;
constexpr uint16_t kEncryptedFlag = 1;  // bit 0
constexpr int kDeflated = 8;
constexpr int64_t kMaxDirectoryBytes = int64_t{1} << 30;
// Limit of deflate's compression ratio (zlib's FAQ).
constexpr int64_t kMaxDeflateRatio = 1032;
// Compressed bytes per read.
constexpr int64_t kInflatePiece = 1 << 20;
// zlib counts in 32 bits.
constexpr size_t kMostZlibCounts = size_t{1} << 30;

absl::Status CorruptZip(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("damaged zip archive: ", what));
}

// Parses little-endian numbers. Reading past the end yields 0 and !ok().
class Parser {
 public:
  explicit Parser(absl::string_view bytes) : rest_(bytes) {}

  template <typename T>
  T Take() {
    T value = 0;
    const absl::string_view bytes = TakeBytes(sizeof(T));
    if (ok_) std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
  absl::string_view TakeBytes(size_t size) {
    if (size > rest_.size()) {
      ok_ = false;
      rest_ = {};
    }
    const absl::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(bytes.size());
    return bytes;
  }
  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }

 private:
  absl::string_view rest_;
  bool ok_ = true;
};

struct Directory {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint64_t members = 0;
};

// Parses the end record in `tail`, the last bytes of the archive.
absl::StatusOr<Directory> FindDirectory(const RandomAccessFile& file,
                                        absl::string_view tail) {
  const std::string signature = zip::Pack(zip::kEndSignature);
  const size_t end = tail.rfind(signature);
  if (end == absl::string_view::npos || tail.size() - end < kEndBytes) {
    return CorruptZip("it has no end record; was it written completely?");
  }
  Parser record(tail.substr(end + 4));
  record.TakeBytes(6);  // disk numbers, members on this disk
  Directory directory;
  directory.members = record.Take<uint16_t>();
  directory.bytes = record.Take<uint32_t>();
  directory.offset = record.Take<uint32_t>();
  if (end < kLocator64Bytes) return directory;
  Parser locator(tail.substr(end - kLocator64Bytes));
  if (locator.Take<uint32_t>() != zip::kLocator64Signature) return directory;
  locator.TakeBytes(4);
  const uint64_t offset = locator.Take<uint64_t>();
  if (offset >
      uint64_t{std::numeric_limits<int64_t>::max()} - zip::kEnd64Bytes) {
    return CorruptZip("its 64-bit end record lies outside");
  }
  GANDEM_ASSIGN_OR_RETURN(
      const std::string bytes,
      file.Read(static_cast<int64_t>(offset), zip::kEnd64Bytes));
  Parser record64(bytes);
  if (record64.Take<uint32_t>() != zip::kEnd64Signature) {
    return CorruptZip("it has no 64-bit end record where it should be");
  }
  record64.TakeBytes(28);  // sizes, versions, disks, members on this disk
  directory.members = record64.Take<uint64_t>();
  directory.bytes = record64.Take<uint64_t>();
  directory.offset = record64.Take<uint64_t>();
  return directory;
}

// Replaces values that are in the 64-bit extra field.
absl::Status TakeExtra64(absl::string_view extra, ZipMember& member) {
  Parser fields(extra);
  while (!fields.at_end()) {
    const auto id = fields.Take<uint16_t>();
    Parser field(fields.TakeBytes(fields.Take<uint16_t>()));
    if (id != zip::kExtra64) continue;
    for (uint64_t* value :
         {&member.bytes, &member.compressed_bytes, &member.header_offset}) {
      if (*value == zip::kIn64) *value = field.Take<uint64_t>();
    }
    if (!field.ok()) return CorruptZip("a 64-bit extra field is too short");
  }
  if (!fields.ok()) return CorruptZip("an extra field is too long");
  return absl::OkStatus();
}

absl::StatusOr<ZipMember> TakeMember(Parser& records) {
  const auto signature = records.Take<uint32_t>();
  records.TakeBytes(4);  // versions
  const auto flags = records.Take<uint16_t>();
  ZipMember member;
  member.method = records.Take<uint16_t>();
  records.TakeBytes(4);  // time
  member.crc32 = records.Take<uint32_t>();
  member.compressed_bytes = records.Take<uint32_t>();
  member.bytes = records.Take<uint32_t>();
  const auto name_bytes = records.Take<uint16_t>();
  const auto extra_bytes = records.Take<uint16_t>();
  const auto comment_bytes = records.Take<uint16_t>();
  records.TakeBytes(8);  // disk, attributes
  member.header_offset = records.Take<uint32_t>();
  member.name = std::string(records.TakeBytes(name_bytes));
  const absl::string_view extra = records.TakeBytes(extra_bytes);
  records.TakeBytes(comment_bytes);
  if (!records.ok() || signature != zip::kCentralSignature) {
    return CorruptZip("its table of contents is damaged");
  }
  if ((flags & kEncryptedFlag) != 0) {
    return CorruptZip(absl::StrCat("'", member.name, "' is encrypted"));
  }
  GANDEM_RETURN_IF_ERROR(TakeExtra64(extra, member));
  return member;
}

// Inflates the bytes [begin, end) of a file into `out`. `whole`: the result
// must fill `out` exactly; otherwise it may be longer.
absl::Status InflateInto(const RandomAccessFile& file, int64_t begin,
                         int64_t end, bool whole, std::span<char> out) {
  z_stream stream = {};
  // Negative: raw deflate without zlib's header, as in zip archives.
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) {
    return absl::ResourceExhaustedError("out of memory");
  }
  const absl::Cleanup end_stream = [&stream] { inflateEnd(&stream); };
  std::string in;
  size_t written = 0;
  int result = Z_OK;
  while (result == Z_OK && (whole || written < out.size())) {
    if (stream.avail_in == 0 && begin < end) {
      const int64_t size = std::min(kInflatePiece, end - begin);
      GANDEM_ASSIGN_OR_RETURN(in, file.Read(begin, size));
      begin += size;
      stream.next_in = reinterpret_cast<Bytef*>(in.data());
      stream.avail_in = static_cast<uInt>(size);
    }
    const size_t room = std::min(out.size() - written, kMostZlibCounts);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + written);
    stream.avail_out = static_cast<uInt>(room);
    result = inflate(&stream, Z_NO_FLUSH);
    written += room - stream.avail_out;
  }
  const bool ended =
      result == Z_STREAM_END && stream.avail_in == 0 && begin == end;
  if (written < out.size() || (whole && !ended)) {
    return CorruptZip("compressed data is damaged");
  }
  return absl::OkStatus();
}

}  // namespace

bool LooksLikeZip(const std::string& path_or_url) {
  const auto prefix = ReadFileStart(path_or_url, sizeof(zip::kEndSignature));
  return prefix.ok() && BeginsAsZip(*prefix);
}

bool BeginsAsZip(absl::string_view start) {
  return absl::StartsWith(start, zip::Pack(zip::kLocalSignature)) ||
         absl::StartsWith(start, zip::Pack(zip::kEndSignature));
}

absl::StatusOr<ZipReader> ZipReader::Open(
    std::shared_ptr<const RandomAccessFile> file) {
  const std::string name = file->name();
  ZipReader reader(std::move(file));
  const absl::Status status = reader.ReadDirectory();
  if (!status.ok()) return Annotate(status, name);
  return reader;
}

absl::Status ZipReader::ReadDirectory() {
  const int64_t size = file_->size();
  const int64_t tail_bytes =
      std::min<int64_t>(size, kEndBytes + kLocator64Bytes + kMaxComment);
  GANDEM_ASSIGN_OR_RETURN(const std::string tail,
                          file_->Read(size - tail_bytes, tail_bytes));
  GANDEM_ASSIGN_OR_RETURN(const Directory directory,
                          FindDirectory(*file_, tail));
  const auto file_bytes = static_cast<uint64_t>(size);
  if (directory.bytes > std::min<uint64_t>(file_bytes, kMaxDirectoryBytes) ||
      directory.offset > file_bytes - directory.bytes ||
      directory.members > directory.bytes / kCentralBytes) {
    return CorruptZip("its table of contents lies outside");
  }
  GANDEM_ASSIGN_OR_RETURN(const std::string bytes,
                          file_->Read(static_cast<int64_t>(directory.offset),
                                      static_cast<int64_t>(directory.bytes)));
  Parser records(bytes);
  std::set<absl::string_view> names;
  for (uint64_t i = 0; i < directory.members; ++i) {
    GANDEM_ASSIGN_OR_RETURN(ZipMember member, TakeMember(records));
    if (member.compressed_bytes > file_bytes ||
        member.header_offset > file_bytes - member.compressed_bytes ||
        member.bytes > uint64_t{std::numeric_limits<int64_t>::max()}) {
      return CorruptZip(absl::StrCat("'", member.name, "' lies outside"));
    }
    members_.push_back(std::move(member));
  }
  for (const ZipMember& member : members_) {
    if (!names.insert(member.name).second) {
      return CorruptZip(absl::StrCat("'", member.name, "' is there twice"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> ZipReader::BeginOf(const ZipMember& member) const {
  // ReadDirectory checked the range of compressed_bytes and header_offset.
  const auto compressed_bytes = static_cast<int64_t>(member.compressed_bytes);
  const auto offset = static_cast<int64_t>(member.header_offset);
  const absl::StatusOr<std::string> header = file_->Read(offset, kLocalBytes);
  GANDEM_RETURN_IF_ERROR(header);
  Parser parser(*header);
  if (parser.Take<uint32_t>() != zip::kLocalSignature) {
    return CorruptZip("its header is damaged");
  }
  parser.TakeBytes(22);  // fields repeated from the table of contents
  const int64_t name_bytes = parser.Take<uint16_t>();
  const int64_t extra_bytes = parser.Take<uint16_t>();
  const int64_t begin =
      offset + static_cast<int64_t>(kLocalBytes) + name_bytes + extra_bytes;
  if (begin > file_->size() - compressed_bytes) {
    return CorruptZip("it lies outside");
  }
  if (member.method == zip::kStored &&
      member.bytes != member.compressed_bytes) {
    return CorruptZip("its sizes contradict each other");
  }
  return begin;
}

absl::StatusOr<std::string> ZipReader::Read(const ZipMember& member,
                                            int64_t max_bytes) const {
  if (static_cast<int64_t>(member.bytes) > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has ", member.bytes, " bytes, more than ", max_bytes));
  }
  GANDEM_ASSIGN_OR_RETURN(
      std::string bytes, ReadStart(member, static_cast<int64_t>(member.bytes)));
  if (zip::Crc32(0, bytes) != member.crc32) {
    return CorruptZip("its checksum does not fit its bytes");
  }
  return bytes;
}

absl::StatusOr<std::string> ZipReader::ReadStart(const ZipMember& member,
                                                 int64_t size) const {
  // ReadDirectory checked the range of both sizes.
  const auto num_bytes = static_cast<int64_t>(member.bytes);
  const auto compressed_bytes = static_cast<int64_t>(member.compressed_bytes);
  GANDEM_ASSIGN_OR_RETURN(const int64_t begin, BeginOf(member));
  const bool whole = size >= num_bytes;
  size = std::min(size, num_bytes);
  if (member.method == zip::kStored) return file_->Read(begin, size);
  if (num_bytes / kMaxDeflateRatio > compressed_bytes) {
    return CorruptZip("it cannot have as many bytes as it says");
  }
  if (member.method != kDeflated) {
    return CorruptZip(
        absl::StrCat("compression method ", member.method,
                     " is not known: write it again, stored or deflated"));
  }
  std::string bytes(static_cast<size_t>(size), '\0');
  GANDEM_RETURN_IF_ERROR(InflateInto(*file_, begin, begin + compressed_bytes,
                                     whole, {bytes.data(), bytes.size()}));
  return bytes;
}

}  // namespace gandem
