// SPDX-License-Identifier: Apache-2.0
#include "evaluation/images/export_images.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/files/file.h"
#include "common/files/png.h"
#include "common/status.h"
#include "evaluation/metrics/feature_moments.h"
#include "models/torch.h"
#include "pipeline/formats/npz.h"
#include "pipeline/formats/tar.h"
#include "training/state/catch_torch.h"

namespace gandem {
namespace {

bool IsFolder(const std::string& path) {
  std::error_code error;
  return absl::EndsWith(path, "/") ||
         std::filesystem::is_directory(path, error);
}

std::string PngName(int64_t index) {
  return absl::StrFormat("%06d.png", index);
}

// Calls `use(index of the first image, images_NHWC)` for each batch.
absl::Status ForEachBatch(
    ImageSet& images, int64_t count,
    const std::function<absl::Status(int64_t, const at::Tensor&)>& use) {
  for (int64_t first = 0; first < count; first += kChunkRows) {
    GANDEM_ASSIGN_OR_RETURN(
        const at::Tensor images_NCHW,
        images.Read(
            {.first = first, .count = std::min(kChunkRows, count - first)}));
    GANDEM_RETURN_IF_ERROR(CatchTorch([&] {
      return use(first, images_NCHW.permute({0, 2, 3, 1}).contiguous());
    }));
  }
  return absl::OkStatus();
}

// Calls `use(name, bytes of the PNG)` for each image.
absl::Status ForEachPng(
    ImageSet& images, int64_t count,
    const std::function<absl::Status(const std::string&, const std::string&)>&
        use) {
  const auto [channels, height, width] = images.shape();
  const int64_t size = images.shape().NumValues();
  const PixelImage empty = {
      .channels = channels, .height = height, .width = width};
  return ForEachBatch(
      images, count,
      [&](int64_t first, const at::Tensor& images_NHWC) -> absl::Status {
        const uint8_t* pixels = images_NHWC.const_data_ptr<uint8_t>();
        for (int64_t i = 0; i < images_NHWC.size(0); ++i, pixels += size) {
          PixelImage image = empty;
          image.pixels.assign(pixels, pixels + size);
          GANDEM_ASSIGN_OR_RETURN(const std::string png, EncodePng(image));
          GANDEM_RETURN_IF_ERROR(use(PngName(first + i), png));
        }
        return absl::OkStatus();
      });
}

absl::Status ExportFolder(ImageSet& images, int64_t count,
                          const std::string& folder) {
  GANDEM_RETURN_IF_ERROR(CreateDirectories(folder));
  GANDEM_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          ListDirectory(folder));
  // An evaluation of the folder would include old images.
  for (const std::string& name : names) {
    if (!absl::EndsWith(name, ".png")) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("'", folder, "' holds ", name,
                     " already: name an empty folder, or remove it"));
  }
  return ForEachPng(images, count,
                    [&](const std::string& name, const std::string& png) {
                      return WriteFile(absl::StrCat(folder, "/", name), png);
                    });
}

absl::Status ExportTar(ImageSet& images, int64_t count,
                       const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(TarWriter writer, TarWriter::Create(path));
  GANDEM_RETURN_IF_ERROR(ForEachPng(
      images, count, [&](const std::string& name, const std::string& png) {
        return writer.Add(name, png);
      }));
  return writer.Finish();
}

absl::Status ExportNpz(ImageSet& images, int64_t count,
                       const std::string& path) {
  const auto [channels, height, width] = images.shape();
  GANDEM_ASSIGN_OR_RETURN(NpzWriter writer, NpzWriter::Create(path));
  const int64_t shape[] = {count, height, width, channels};
  GANDEM_RETURN_IF_ERROR(writer.Begin("arr_0", DType::kU8, shape));
  GANDEM_RETURN_IF_ERROR(
      ForEachBatch(images, count, [&](int64_t, const at::Tensor& images_NHWC) {
        return writer.Append(
            std::as_bytes(std::span(images_NHWC.const_data_ptr<uint8_t>(),
                                    static_cast<size_t>(images_NHWC.numel()))));
      }));
  return writer.Finish();
}

}  // namespace

bool IsExportPath(const std::string& path) {
  return absl::EndsWith(path, ".tar") || absl::EndsWith(path, ".npz") ||
         IsFolder(path);
}

absl::Status ExportImages(ImageSet& images, int64_t count,
                          const std::string& path) {
  if (IsFolder(path)) {
    return ExportFolder(images, count,
                        std::string(absl::StripSuffix(path, "/")));
  }
  const std::string temporary = TemporaryName(path);
  if (absl::EndsWith(path, ".tar")) {
    GANDEM_RETURN_IF_ERROR(ExportTar(images, count, temporary));
  } else if (absl::EndsWith(path, ".npz")) {
    GANDEM_RETURN_IF_ERROR(ExportNpz(images, count, temporary));
  } else {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path, "' is neither a folder nor a .tar or .npz file"));
  }
  return RenameDurably(temporary, path);
}

}  // namespace gandem
