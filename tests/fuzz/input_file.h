// SPDX-License-Identifier: Apache-2.0
//
// Helpers of the fuzz targets: bytes in memory that have a path, messages as
// comparable text, and lists of calls.
//
// Owner: the fuzz target. Thread safety: one thread per object.
#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/files/file.h"

namespace gandem {

class InputFile {
 public:
  explicit InputFile(absl::string_view bytes = "")
      : fd_(memfd_create("input", MFD_CLOEXEC)) {
    GANDEM_CHECK(fd_ >= 0);
    GANDEM_CHECK_OK(WriteFile(path(), bytes));
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile() { close(fd_); }

  std::string path() const { return absl::StrCat("/proc/self/fd/", fd_); }

 private:
  const int fd_;
};

inline std::string TextOf(const google::protobuf::Message& message) {
  std::string text;
  GANDEM_CHECK(google::protobuf::TextFormat::PrintToString(message, &text));
  return text;
}

inline absl::string_view TextOf(const uint8_t* data, size_t size) {
  return absl::string_view(reinterpret_cast<const char*>(data), size);
}

// Calls `call` for each call of a list: a byte for the kind, a byte for the
// size, and that many bytes, or the remaining bytes.
template <typename Call>
void ForEachCall(absl::string_view calls, const Call& call) {
  while (calls.size() >= 2) {
    const int which = static_cast<uint8_t>(calls[0]);
    const size_t bytes = static_cast<uint8_t>(calls[1]);
    calls.remove_prefix(2);
    call(which, calls.substr(0, bytes));
    calls.remove_prefix(std::min(bytes, calls.size()));
  }
}

}  // namespace gandem
