// SPDX-License-Identifier: Apache-2.0
//
// A plain or gzip-compressed file (RFC 1952), read from its beginning to its
// end; its first two bytes tell which it is. Several members one after the
// other are one file; what follows them and is none is ignored, as by gzip.
//
// Owner: the function that reads. Thread safety: one thread per object.
// Errors: those of pipeline/remote/open_file.h, and
//   DATA_LOSS  the compressed data are truncated or damaged.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pipeline/random_access_file.h"

struct z_stream_s;  // zlib's

namespace gandem {

class GzipFile {
 public:
  static absl::StatusOr<GzipFile> Open(const std::string& path_or_url);

  // For messages.
  const std::string& name() const { return file_->name(); }

  // No file of this size unpacks to more.
  int64_t most_bytes() const;

  // Returns how many bytes it read: fewer than asked for only at the end.
  absl::StatusOr<int64_t> Read(std::span<uint8_t> out);

 private:
  struct Closer {
    void operator()(z_stream_s* stream) const;
  };

  explicit GzipFile(std::shared_ptr<const RandomAccessFile> file)
      : file_(std::move(file)) {}

  // Whether a member begins at the next byte; a stream for it is ready then.
  absl::StatusOr<bool> BeginMember();
  // The next piece into input_, which is used up; "" at the end of the file.
  absl::Status Fill();
  absl::StatusOr<int64_t> ReadPlain(std::span<uint8_t> out);
  absl::StatusOr<int64_t> Inflate(std::span<uint8_t> out);
  absl::Status Damaged(absl::string_view what) const;

  std::shared_ptr<const RandomAccessFile> file_;
  int64_t next_ = 0;    // byte of the file that follows input_
  std::string input_;   // a piece of the file
  size_t used_ = 0;     // bytes of it
  bool ended_ = false;  // nothing more is read
  std::unique_ptr<z_stream_s, Closer> stream_;  // null: a plain file
};

}  // namespace gandem
