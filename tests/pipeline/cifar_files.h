// SPDX-License-Identifier: Apache-2.0
//
// CIFAR files for tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/check.h"
#include "pipeline/formats/zip_format.h"
#include "tests/pipeline/image_files.h"

namespace gandem::testing {

// Returns the red, green and blue planes.
inline std::string CifarPlanes(const PixelImage& image) {
  std::string planes;
  for (int64_t c = 0; c < 3; ++c) {
    for (int64_t i = 0; i < image.height * image.width; ++i) {
      planes.push_back(static_cast<char>(image.pixels[3 * i + c]));
    }
  }
  return planes;
}

// Returns a pickle of protocol 2, like CIFAR-10's batches from Python 2.
inline std::string CifarPickle(const std::string& pixels,
                               const std::vector<int64_t>& labels,
                               absl::string_view labels_key = "labels") {
  const auto text = [](absl::string_view bytes) {
    return absl::StrCat("U", std::string(1, static_cast<char>(bytes.size())),
                        bytes);
  };
  const auto binary = [](absl::string_view bytes) {
    return absl::StrCat("T", zip::Pack(static_cast<uint32_t>(bytes.size())),
                        bytes);
  };
  const auto integer = [](int64_t value) {
    return absl::StrCat("J", zip::Pack(static_cast<int32_t>(value)));
  };
  const auto rows = static_cast<int64_t>(pixels.size() / 3072);
  std::string pickle = "\x80\x02}q";
  pickle += std::string("\x01(", 2);
  pickle += text("batch_label") + text("training batch 1 of 5");
  pickle += text(labels_key) + "]q";
  pickle += std::string("\x02(", 2);
  for (const int64_t label : labels) pickle += integer(label);
  pickle += "e";
  pickle += text("data") + "cnumpy.core.multiarray\n_reconstruct\nq\x03";
  pickle += "cnumpy\nndarray\n" + integer(0) + "\x85" + text("b") + "\x87R(";
  pickle += integer(1) + integer(rows) + integer(3072) + "\x86";
  pickle += "cnumpy\ndtype\n" + text("u1") + integer(0) + integer(1) + "\x87R(";
  pickle += integer(3) + text("|") + "NNN" + integer(-1) + integer(-1) +
            integer(0) + "tb";
  pickle += "\x89" + binary(pixels) + "tb";
  pickle += text("filenames") + "](" + text("a.png") + text("b.png") + "e";
  return pickle + "u.";
}

}  // namespace gandem::testing
