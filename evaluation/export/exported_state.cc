// SPDX-License-Identifier: Apache-2.0
#include "evaluation/export/exported_state.h"

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "models/layers/drawing_layer.h"
#include "models/layers/weighted.h"
#include "models/torch.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

constexpr absl::string_view kVectorOfNorm = ".weight_u";

}  // namespace

std::vector<NamedTensor> ExportState(Generator& network) {
  for (const auto& module : network.modules()) {
    if (auto* const layer = dynamic_cast<WeightedLayer*>(module.get())) {
      layer->IterateSpectralNorm(1);
    }
  }
  TensorsByName state = StateOf(network);
  std::set<std::string> normalized;  // names of weights
  for (const auto& entry : state) {
    absl::string_view name = entry.first;
    if (absl::EndsWith(name, kVectorOfNorm)) {
      name.remove_suffix(kVectorOfNorm.size());
      normalized.insert(absl::StrCat(name, ".weight"));
    }
  }
  std::erase_if(state, [](const auto& entry) {
    return absl::EndsWith(entry.first, kDrawKeySuffix);
  });
  for (auto& entry : state) {
    if (normalized.contains(entry.first)) entry.first += "_orig";
  }
  std::vector<NamedTensor> tensors;
  AppendTensors(/*prefix=*/"", state, tensors);
  return tensors;
}

}  // namespace gandem
