// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a file that grows, in their order, however often it is rotated
// (common/files/rotation.h) while it is read, by another name for the file or
// by a copy: first those of the older files, then its own. Files are told apart
// by what they are and not by their names, which move between two looks.
//
// Owner: the reader of a log. Thread safety: one thread.
// Errors: a file that cannot be read has no bytes; another look may find some.
// More rotations between two looks than files are kept lose what is gone.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace gandem {

class GrowingFile {
 public:
  explicit GrowingFile(std::string path) : path_(std::move(path)) {}

  // Opens what is new by now.
  void Look();

  // The next piece of what was there at the last look, or has grown since;
  // empty: no more is there.
  std::string Read();

  // When it has changed last; the beginning of time: there is none.
  absl::Time ChangeTime() const;

 private:
  struct OpenFile;
  struct Segment {
    std::shared_ptr<const OpenFile> file = nullptr;
    int64_t offset = 0;  // read so far
  };
  using OpenFiles = std::vector<std::shared_ptr<const OpenFile>>;

  OpenFiles OpenAll() const;
  bool IsEmptied(int64_t bytes, const OpenFiles& now) const;
  void TakeCopies(const OpenFiles& now);
  std::string BytesBefore(const OpenFile& file, int64_t offset) const;

  const std::string path_;
  // The oldest first; the last one is the file that grows.
  std::deque<Segment> segments_ = {};
  // Open, so that no other file gets its identity.
  std::shared_ptr<const OpenFile> newest_older_ = nullptr;
  std::string last_read_ = {};  // the end of what was read of the last segment
};

}  // namespace gandem
