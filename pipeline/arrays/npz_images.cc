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
#include "pipeline/remote/url.h"

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

absl::StatusOr<std::unique_ptr<ImageStore>> OpenNpzImages(
    const std::string& path_or_url) {
  GANDEM_ASSIGN_OR_RETURN(const NpzReader reader, NpzReader::Open(path_or_url));
  const std::string path = ShownUrl(path_or_url);
  const std::vector<std::string> names = reader.names();
  // A second array holds labels where guided-diffusion wrote the file.
  const std::string name =
      reader.Has("arr_0") || names.size() != 1 ? "arr_0" : names[0];
  if (!reader.Has(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", path, "' holds the arrays ", reader.NamesText(),
                     "; images are expected in one of the name arr_0"));
  }
  ArrayContents contents = {.kind = "an .npz of images",
                            .path = path,
                            .format = "npz",
                            .file = path_or_url};
  ArrayPart part;
  std::vector<int64_t> shape;
  GANDEM_ASSIGN_OR_RETURN(const auto stored, reader.FindStored(name));
  if (stored.has_value()) {
    shape = stored->layout.shape;
    GANDEM_RETURN_IF_ERROR(
        CheckImageArray(path, name, stored->layout.dtype, shape));
    part.file = reader.file();
    part.offset =
        stored->header_at + static_cast<int64_t>(stored->layout.header_bytes);
    contents.checksum = {.begin = stored->header_at, .crc32 = stored->crc32};
  } else {
    GANDEM_ASSIGN_OR_RETURN(const NamedTensor array, reader.Read(name));
    shape = array.shape;
    GANDEM_RETURN_IF_ERROR(CheckImageArray(path, name, array.dtype, shape));
    part.memory = array.bytes;
  }
  part.stride = shape[1] * shape[2] * shape[3];
  part.images = shape[0];
  contents.shape = {
      .channels = shape[3], .height = shape[1], .width = shape[2]};
  contents.parts = {std::move(part)};
  return ImagesOfArray(std::move(contents));
}

}  // namespace gandem
