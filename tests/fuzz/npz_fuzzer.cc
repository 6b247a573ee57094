// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the .npz reader. npy_fuzzer.cc covers the arrays inside, which the
// archive's checksums protect from most mutations.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/check.h"
#include "pipeline/formats/npz.h"
#include "tests/fuzz/input_file.h"
#include "tests/fuzz/named_tensors.h"

namespace gandem {
namespace {

constexpr size_t kMostDeflated = 1032;  // maximum ratio
constexpr int64_t kMaxArrayBytes = 1 << 20;

bool IsRefusal(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsDataLoss(status);
}

std::vector<NamedTensor> ReadAll(const NpzReader& reader, size_t file_bytes) {
  std::vector<NamedTensor> arrays;
  for (const std::string& name : reader.names()) {
    GANDEM_CHECK(reader.Has(name));
    auto array = reader.Read(name);
    GANDEM_CHECK(array.ok() || IsRefusal(array.status()));
    if (!array.ok()) continue;
    CheckTensor(*array);
    GANDEM_CHECK(array->name == name);
    GANDEM_CHECK(array->bytes.size() <= kMostDeflated * (file_bytes + 1));
    arrays.push_back(*std::move(array));
  }
  return arrays;
}

}  // namespace
}  // namespace gandem

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gandem;
  const InputFile input(TextOf(data, size));
  const auto reader = NpzReader::Open(input.path(), kMaxArrayBytes);
  if (!reader.ok()) {
    GANDEM_CHECK(IsRefusal(reader.status()));
    return 0;
  }
  const InputFile output;
  auto writer = NpzWriter::Create(output.path());
  GANDEM_CHECK_OK(writer.status());
  std::vector<NamedTensor> written;
  for (NamedTensor& array : ReadAll(*reader, size)) {
    const absl::Status added = writer->Add(array);
    if (added.ok()) {
      written.push_back(std::move(array));
    } else {
      GANDEM_CHECK(absl::IsInvalidArgument(added));  // invalid name
    }
  }
  GANDEM_CHECK_OK(writer->Finish());
  const auto again = NpzReader::Open(output.path());
  GANDEM_CHECK_OK(again.status());
  GANDEM_CHECK(again->names().size() == written.size());
  for (const NamedTensor& array : written) {
    const auto read = again->Read(array.name);
    GANDEM_CHECK_OK(read.status());
    CheckSame(*read, array);
  }
  return 0;
}
