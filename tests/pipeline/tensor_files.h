// SPDX-License-Identifier: Apache-2.0
//
// Shards of tensors for tests.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/checkpoint/safetensors.h"
#include "pipeline/formats/npy_format.h"

namespace gandem::testing {

// Returns the path of a file written by tests/oracles/tensor_goldens.py.
inline std::string TensorGolden(const std::string& name) {
  const char* const source = std::getenv("GANDEM_SOURCE_DIR");
  return absl::StrCat(source == nullptr ? "." : source,
                      "/tests/goldens/tensors/", name);
}

template <typename Number>
std::string NpyBytes(DType dtype, const std::vector<int64_t>& shape,
                     const std::vector<Number>& numbers) {
  const auto header = MakeNpyHeader(dtype, shape);
  GANDEM_CHECK_OK(header.status());
  GANDEM_CHECK(header->data_bytes == numbers.size() * sizeof(Number));
  return absl::StrCat(
      header->text,
      absl::string_view(reinterpret_cast<const char*>(numbers.data()),
                        header->data_bytes));
}

template <typename Number>
NamedTensor TensorOf(const std::string& name, DType dtype,
                     const std::vector<int64_t>& shape,
                     const std::vector<Number>& numbers) {
  return {.name = name,
          .dtype = dtype,
          .shape = shape,
          .bytes = SharedBytes::Copy(std::as_bytes(std::span(numbers)))};
}

inline std::string SafetensorsBytes(const std::vector<NamedTensor>& tensors) {
  const auto bytes = SerializeSafetensors(tensors);
  GANDEM_CHECK_OK(bytes.status());
  return std::string(reinterpret_cast<const char*>(bytes->data()),
                     bytes->size());
}

}  // namespace gandem::testing
