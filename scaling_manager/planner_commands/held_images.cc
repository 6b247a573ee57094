// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner_commands/held_images.h"

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "pipeline/formats/idx_reader.h"
#include "pipeline/image_store.h"
#include "pipeline/remote/url.h"
#include "pipeline/sources/open_dataset.h"

namespace gandem {
namespace {

// A byte a pixel.
int64_t IdxBytes(const std::string& path) {
  if (path.empty() || IsUrl(path)) return 0;
  const auto shape = ReadIdxShape(path, /*num_dimensions=*/3);
  if (!shape.ok()) return 0;
  return std::accumulate(shape->begin(), shape->end(), int64_t{1},
                         std::multiplies<int64_t>());
}

int64_t BytesOf(const ImageStore& images) {
  const auto shape = images.info().common_shape;
  const auto stored = images.Fetch(0);
  // Nothing to fetch: it is there.
  if (!shape.has_value() || !stored.ok() || !stored->empty()) return 0;
  const auto tensors = images.tensors();
  return images.size() *
         (tensors.has_value() ? tensors->sample_bytes() : shape->NumValues());
}

}  // namespace

int64_t HeldImageBytes(const DataConfig& data) {
  if (data.source().empty()) {
    return IdxBytes(data.idx_images()) + IdxBytes(data.idx_inputs());
  }
  // Planning waits for no network.
  if (IsUrl(data.source())) return 0;
  const auto images = OpenImages(data);
  return images.ok() ? BytesOf(**images) : 0;
}

void AddHeldImages(int64_t bytes, Profile& profile) {
  for (Probe& probe : *profile.mutable_probes()) {
    if (probe.settings().role() == GENERATOR || probe.peak_bytes() == 0) {
      continue;
    }
    probe.set_peak_bytes(probe.peak_bytes() + bytes);
    probe.set_resting_bytes(probe.resting_bytes() + bytes);
  }
}

}  // namespace gandem
