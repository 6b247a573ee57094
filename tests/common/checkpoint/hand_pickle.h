// SPDX-License-Identifier: Apache-2.0
//
// Files in torch.save()'s layout before PyTorch 1.6, written by hand. Thread
// safety: pure functions.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace gandem::testing {

// Returns the pickles before the object: magic number, version, system info.
inline std::string PickleStream(const std::string& object) {
  const std::string magic = std::string("\x80\x02\x8a\x0a", 4) +
                            "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
  return magic + "\x80\x02M\xe9\x03.\x80\x02}." + object;
}

inline std::string PickledInt(int32_t value) {
  std::string text = "J1234";
  std::memcpy(text.data() + 1, &value, sizeof(value));
  return text;
}

inline std::string PickledTuple(const std::vector<int32_t>& values) {
  std::string text = "(";
  for (const int32_t value : values) text += PickledInt(value);
  return text + "t";
}

// Returns the pickle of a float tensor in the storage `key`, followed by
// `place`: offset, shape and strides.
inline std::string PickledTensorAt(const std::string& place,
                                   const std::string& key = "0") {
  return "ctorch._utils\n_rebuild_tensor_v2\n((U\x07storagectorch\n"
         "FloatStorage\nU" +
         std::string(1, static_cast<char>(key.size())) + key +
         "U\x03"
         "cpuK\x02NtQ" +
         place + "\x89}tR";
}

inline std::string PickledTensor(int32_t offset,
                                 const std::vector<int32_t>& shape,
                                 const std::vector<int32_t>& strides) {
  return PickledTensorAt(PickledInt(offset) + PickledTuple(shape) +
                         PickledTuple(strides));
}

}  // namespace gandem::testing
