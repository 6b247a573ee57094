// SPDX-License-Identifier: Apache-2.0
#include "pipeline/formats/gzip_file.h"

#include <zlib.h>

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"
#include "pipeline/remote/open_file.h"

namespace gandem {
namespace {

constexpr int64_t kGzipInputBytes = 1 << 20;
// Deflate cannot shrink by more (zlib's FAQ).
constexpr int64_t kMostGzipRatio = 1032;
constexpr absl::string_view kGzipMagic = "\x1f\x8b";
constexpr int kGzipWindow = 15 + 16;  // zlib's: the largest one, of gzip

}  // namespace

void GzipFile::Closer::operator()(z_stream_s* stream) const {
  inflateEnd(stream);
  delete stream;
}

absl::StatusOr<GzipFile> GzipFile::Open(const std::string& path_or_url) {
  GANDEM_ASSIGN_OR_RETURN(auto opened, OpenFile(path_or_url));
  GzipFile file(std::move(opened));
  GANDEM_RETURN_IF_ERROR(file.BeginMember());
  return file;
}

int64_t GzipFile::most_bytes() const {
  return stream_ == nullptr ? file_->size() : kMostGzipRatio * file_->size();
}

absl::Status GzipFile::Fill() {
  const int64_t size = std::min(kGzipInputBytes, file_->size() - next_);
  GANDEM_ASSIGN_OR_RETURN(input_, file_->Read(next_, size));
  used_ = 0;
  next_ += size;
  return absl::OkStatus();
}

absl::StatusOr<bool> GzipFile::BeginMember() {
  // The magic may lie across the end of a piece.
  if (input_.size() - used_ < kGzipMagic.size()) {
    next_ -= static_cast<int64_t>(input_.size() - used_);
    GANDEM_RETURN_IF_ERROR(Fill());
  }
  if (!absl::StartsWith(absl::string_view(input_).substr(used_), kGzipMagic)) {
    return false;
  }
  stream_.reset(new z_stream_s());
  const int code = inflateInit2(stream_.get(), kGzipWindow);
  GANDEM_CHECK(code == Z_OK);  // no memory
  return true;
}

absl::StatusOr<int64_t> GzipFile::Read(std::span<uint8_t> out) {
  return stream_ == nullptr ? ReadPlain(out) : Inflate(out);
}

absl::StatusOr<int64_t> GzipFile::ReadPlain(std::span<uint8_t> out) {
  int64_t done = 0;
  while (done < std::ssize(out)) {
    if (used_ == input_.size()) {
      GANDEM_RETURN_IF_ERROR(Fill());
      if (input_.empty()) break;
    }
    const int64_t taken =
        std::min<int64_t>(std::ssize(out) - done, input_.size() - used_);
    std::copy_n(input_.begin() + static_cast<int64_t>(used_), taken,
                out.begin() + done);
    used_ += static_cast<size_t>(taken);
    done += taken;
  }
  return done;
}

absl::StatusOr<int64_t> GzipFile::Inflate(std::span<uint8_t> out) {
  int64_t done = 0;
  while (done < std::ssize(out) && !ended_) {
    if (used_ == input_.size()) {
      GANDEM_RETURN_IF_ERROR(Fill());
      if (input_.empty()) return Damaged("unexpected end of file");
    }
    const auto room = static_cast<uInt>(
        std::min<int64_t>(std::ssize(out) - done, int64_t{1} << 30));
    stream_->next_in = reinterpret_cast<Bytef*>(input_.data() + used_);
    stream_->avail_in = static_cast<uInt>(input_.size() - used_);
    stream_->next_out = out.data() + done;
    stream_->avail_out = room;
    const int code = inflate(stream_.get(), Z_NO_FLUSH);
    used_ = input_.size() - stream_->avail_in;
    done += room - stream_->avail_out;
    if (code == Z_STREAM_END) {
      GANDEM_ASSIGN_OR_RETURN(const bool more, BeginMember());
      ended_ = !more;
    } else if (code != Z_OK) {
      return Damaged(stream_->msg == nullptr ? "data error" : stream_->msg);
    }
  }
  return done;
}

absl::Status GzipFile::Damaged(absl::string_view what) const {
  return absl::DataLossError(
      absl::StrCat(name(), ": the compressed data are truncated or damaged (",
                   what, "); get a fresh copy of the file"));
}

}  // namespace gandem
