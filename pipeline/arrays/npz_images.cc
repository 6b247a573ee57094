// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status.h"
#include "pipeline/arrays/array_images.h"
#include "pipeline/formats/npz.h"

namespace gandem {
namespace {

absl::Status CheckImageArray(const std::string& path, const std::string& name,
                             DType dtype, std::span<const int64_t> shape) {
  if (dtype == DType::kU8 && shape.size() == 4 && shape[0] >= 1 &&
      shape[1] >= 1 && shape[2] >= 1 && (shape[3] == 1 || shape[3] == 3)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", path, "': ", name, " is ", DTypeName(dtype), " [",
                   absl::StrJoin(shape, ", "),
                   "]; 8-bit images are U8 [N, height, width, 1 or 3]"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ImageStore>> OpenNpzImages(const Location& at) {
  GANDEM_ASSIGN_OR_RETURN(const NpzReader reader, NpzReader::Open(at.path));
  const std::string path = at.Shown();
  const std::vector<std::string> names = reader.names();
  // Files of guided-diffusion have labels in a second array.
  const std::string name =
      reader.Has("arr_0") || names.size() != 1 ? "arr_0" : names[0];
  if (!reader.Has(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", path, "' holds the arrays ", reader.NamesText(),
                     "; images are expected in one of the name arr_0"));
  }
  GANDEM_ASSIGN_OR_RETURN(const NamedTensor array, reader.Read(name));
  const std::vector<int64_t>& shape = array.shape;
  GANDEM_RETURN_IF_ERROR(CheckImageArray(path, name, array.dtype, shape));
  return ImagesOfArray(
      {.kind = "an .npz of images",
       .path = path,
       .shape = {.channels = shape[3], .height = shape[1], .width = shape[2]},
       .parts = {{.memory = array.bytes,
                  .stride = shape[1] * shape[2] * shape[3],
                  .images = shape[0]}},
       .format = "npz",
       .file = at.path});
}

}  // namespace gandem
