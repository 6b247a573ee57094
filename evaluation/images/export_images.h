// SPDX-License-Identifier: Apache-2.0
//
// Writes images for other evaluation programs, with one batch in memory:
//
//   FOLDER/    000000.png, 000001.png ...
//   FILE.tar   the same as an archive
//   FILE.npz   arr_0, uint8 [N, height, width, channels], as guided-diffusion's
//              evaluator expects it
//
// Owner: the caller. Thread safety: one compute thread.
// Errors: those of the images, and of writing files. An incomplete file has the
// name FILE.PID.tmp.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "evaluation/images/image_set.h"

namespace gandem {

// Whether `path` names one of the three: it ends with .tar, .npz or a slash, or
// is a folder.
bool IsExportPath(const std::string& path);

// Writes the first `count` images, in batches of kChunkRows, as the bytes that
// `gandem evaluate` sees.
//   INVALID_ARGUMENT  no export path, or a folder that holds PNG files already.
absl::Status ExportImages(ImageSet& images, int64_t count,
                          const std::string& path);

}  // namespace gandem
