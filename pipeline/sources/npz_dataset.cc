// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/npz_dataset.h"

#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/check.h"
#include "common/files/sha256.h"
#include "common/status.h"
#include "pipeline/formats/npz.h"
#include "pipeline/sources/byte_values.h"

namespace gandem {
namespace {

class NpzDataset : public Dataset {
 public:
  // `array` is uint8 NHWC.
  NpzDataset(std::string path, NamedTensor array)
      : path_(std::move(path)), array_(std::move(array)) {}

  int64_t size() const override { return array_.shape[0]; }
  ImageShape shape() const override {
    return {.channels = array_.shape[3],
            .height = array_.shape[1],
            .width = array_.shape[2]};
  }

  absl::StatusOr<int64_t> Read(int64_t index,
                               std::span<float> out) const override {
    GANDEM_CHECK(index >= 0 && index < size());
    GANDEM_CHECK(std::ssize(out) == shape().NumValues());
    const auto* const bytes =
        reinterpret_cast<const uint8_t*>(array_.bytes.data());
    ValuesOfBytes({bytes + index * std::ssize(out), out.size()}, shape(), out);
    return kNoLabel;
  }

  absl::StatusOr<std::string> ContentHash() const override {
    return Sha256OfFile(path_);
  }

 private:
  // Never change after construction.
  const std::string path_;
  const NamedTensor array_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> OpenNpzImages(const SourceSpec& spec) {
  const std::string& path = spec.path;
  GANDEM_ASSIGN_OR_RETURN(const NpzReader reader, NpzReader::Open(path));
  const std::vector<std::string> names = reader.names();
  // A second array holds labels where guided-diffusion wrote the file.
  const std::string name =
      reader.Has("arr_0") || names.size() != 1 ? "arr_0" : names[0];
  if (!reader.Has(name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path, "' holds the arrays ", absl::StrJoin(names, ", "),
        "; images are expected in one of the name arr_0"));
  }
  GANDEM_ASSIGN_OR_RETURN(NamedTensor array, reader.Read(name));
  const std::vector<int64_t>& shape = array.shape;
  if (array.dtype != DType::kU8 || shape.size() != 4 || shape[0] < 1 ||
      shape[1] < 1 || shape[2] < 1 || (shape[3] != 1 && shape[3] != 3)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", path, "': ", name, " is ", DTypeName(array.dtype),
                     " [", absl::StrJoin(shape, ", "),
                     "]; 8-bit images are U8 [N, height, width, 1 or 3]"));
  }
  return std::make_unique<NpzDataset>(path, std::move(array));
}

}  // namespace gandem
