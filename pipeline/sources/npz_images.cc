// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status.h"
#include "pipeline/formats/npz.h"
#include "pipeline/remote/url.h"
#include "pipeline/sources/memory_images.h"

namespace gandem {

absl::StatusOr<std::unique_ptr<ImageStore>> OpenNpzImages(
    const std::string& path_or_url) {
  GANDEM_ASSIGN_OR_RETURN(const NpzReader reader, NpzReader::Open(path_or_url));
  const std::string path = ShownUrl(path_or_url);
  const std::vector<std::string> names = reader.names();
  // A second array holds labels where guided-diffusion wrote the file.
  const std::string name =
      reader.Has("arr_0") || names.size() != 1 ? "arr_0" : names[0];
  if (!reader.Has(name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path, "' holds the arrays ", absl::StrJoin(names, ", "),
        "; images are expected in one of the name arr_0"));
  }
  GANDEM_ASSIGN_OR_RETURN(const NamedTensor array, reader.Read(name));
  const std::vector<int64_t>& shape = array.shape;
  if (array.dtype != DType::kU8 || shape.size() != 4 || shape[0] < 1 ||
      shape[1] < 1 || shape[2] < 1 || (shape[3] != 1 && shape[3] != 3)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", path, "': ", name, " is ", DTypeName(array.dtype),
                     " [", absl::StrJoin(shape, ", "),
                     "]; 8-bit images are U8 [N, height, width, 1 or 3]"));
  }
  const auto* const bytes =
      reinterpret_cast<const uint8_t*>(array.bytes.data());
  return ImagesInMemory(
      {.kind = "an .npz of images",
       .path = path,
       .shape = {.channels = shape[3], .height = shape[1], .width = shape[2]},
       .pixels = {bytes, bytes + array.bytes.size()},
       .format = "npz",
       .file = path_or_url});
}

}  // namespace gandem
