// SPDX-License-Identifier: Apache-2.0
#include "pipeline/formats/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr int64_t kGzipPiece = 1 << 20;  // bytes per read
// Limit of deflate's compression ratio (zlib's FAQ).
constexpr int64_t kMostGzipRatio = 1032;
constexpr absl::string_view kGzipMagic = "\x1f\x8b";
constexpr int kGzipWindow = 15 + 16;  // zlib's largest window, gzip header

absl::Status DamagedGzip(const RandomAccessFile& file, absl::string_view what) {
  return absl::DataLossError(absl::StrCat(
      file.name(), ": the compressed data are truncated or damaged (", what,
      "); get a fresh copy of the file"));
}

// Appends the member at `offset` to `out`. Returns its end.
absl::StatusOr<int64_t> InflateMember(const RandomAccessFile& file,
                                      int64_t offset, int64_t most,
                                      std::vector<uint8_t>& out) {
  z_stream stream = {};
  GANDEM_CHECK(inflateInit2(&stream, kGzipWindow) == Z_OK);  // else no memory
  const absl::Cleanup end_stream = [&stream] { inflateEnd(&stream); };
  std::string in;
  int result = Z_OK;
  while (result != Z_STREAM_END && std::ssize(out) < most) {
    if (stream.avail_in == 0) {
      GANDEM_ASSIGN_OR_RETURN(
          in, file.Read(offset, std::min(kGzipPiece, file.size() - offset)));
      if (in.empty()) return DamagedGzip(file, "unexpected end of file");
      offset += std::ssize(in);
      stream.next_in = reinterpret_cast<Bytef*>(in.data());
      stream.avail_in = static_cast<uInt>(in.size());
    }
    const size_t done = out.size();
    const int64_t room = std::min(4 * kGzipPiece, most - std::ssize(out));
    out.resize(done + static_cast<size_t>(room));
    stream.next_out = out.data() + done;
    stream.avail_out = static_cast<uInt>(room);
    result = inflate(&stream, Z_NO_FLUSH);
    out.resize(out.size() - stream.avail_out);
    if (result != Z_OK && result != Z_STREAM_END) {
      return DamagedGzip(file,
                         stream.msg == nullptr ? "data error" : stream.msg);
    }
  }
  return offset - int64_t{stream.avail_in};
}

}  // namespace

absl::StatusOr<std::vector<uint8_t>> Unpacked(const RandomAccessFile& file,
                                              int64_t most) {
  const auto magic_at = [&](int64_t offset) {
    return file.Read(
        offset, std::min<int64_t>(kGzipMagic.size(), file.size() - offset));
  };
  GANDEM_ASSIGN_OR_RETURN(std::string magic, magic_at(0));
  if (magic != kGzipMagic) {
    GANDEM_ASSIGN_OR_RETURN(const std::string plain,
                            file.Read(0, std::min(most, file.size())));
    return std::vector<uint8_t>(plain.begin(), plain.end());
  }
  std::vector<uint8_t> out;
  // Growing would hold the values twice; untouched pages take no memory.
  out.reserve(
      static_cast<size_t>(std::min(most, kMostGzipRatio * file.size())));
  for (int64_t at = 0; magic == kGzipMagic && std::ssize(out) < most;) {
    GANDEM_ASSIGN_OR_RETURN(at, InflateMember(file, at, most, out));
    GANDEM_ASSIGN_OR_RETURN(magic, magic_at(at));
  }
  return out;
}

}  // namespace gandem
