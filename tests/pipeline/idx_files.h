// SPDX-License-Identifier: Apache-2.0
//
// IDX files for tests.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <vector>

#include "common/check.h"
#include "common/files/file.h"

namespace gandem::testing {

// Returns the bytes of an IDX file; `values` need not fit `shape`.
inline std::string IdxBytes(const std::vector<uint32_t>& shape,
                            const std::vector<uint8_t>& values,
                            char type = 0x08) {
  std::string bytes = {0, 0, type, static_cast<char>(shape.size())};
  for (const uint32_t length : shape) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      bytes.push_back(static_cast<char>(length >> shift & 0xff));
    }
  }
  bytes.append(values.begin(), values.end());
  return bytes;
}

inline std::string WritePlain(const std::string& path,
                              const std::string& bytes) {
  GANDEM_CHECK_OK(WriteFile(path, bytes));
  return path;
}

inline std::string WriteGzip(const std::string& path,
                             const std::string& bytes) {
  gzFile file = gzopen(path.c_str(), "wb1");
  GANDEM_CHECK(file != nullptr);
  GANDEM_CHECK(gzwrite(file, bytes.data(), bytes.size()) ==
               static_cast<int>(bytes.size()));
  GANDEM_CHECK(gzclose(file) == Z_OK);
  return path;
}

}  // namespace gandem::testing
