// SPDX-License-Identifier: Apache-2.0
#include "training/state/load_state_dict.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/checkpoint/safetensors.h"
#include "common/checkpoint/state_dict_tensors.h"
#include "common/files/file.h"
#include "common/files/nearest.h"
#include "common/status.h"
#include "models/layers/drawing_layer.h"
#include "models/torch.h"
#include "training/state/module_state.h"
#include "training/state/state_dict_file.h"

namespace gandem {
namespace {

constexpr size_t kStateDictPrefixBytes = 16;
constexpr absl::string_view kParallel = "module.";
constexpr absl::string_view kWeight = ".weight";

// Returns the type of an integer buffer, such as a counter.
std::optional<at::ScalarType> CountingType(DType type) {
  if (type == DType::kI64) return at::kLong;
  if (type == DType::kI32) return at::kInt;
  return std::nullopt;
}

std::string ShapeText(at::IntArrayRef shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

absl::StatusOr<std::vector<NamedTensor>> ReadAnyStateDict(
    const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(const std::string prefix,
                          ReadPrefix(path, kStateDictPrefixBytes));
  if (IsZip(prefix) || IsPickleStream(prefix)) return ReadStateDict(path);
  return ReadSafetensors(path);
}

using FileTensors = std::map<std::string, NamedTensor>;

FileTensors ByName(std::vector<NamedTensor> tensors) {
  const bool parallel = std::ranges::all_of(tensors, [](const auto& tensor) {
    return absl::StartsWith(tensor.name, kParallel);
  });
  FileTensors by_name;
  for (NamedTensor& tensor : tensors) {
    std::string name = tensor.name.substr(parallel ? kParallel.size() : 0);
    by_name.emplace(std::move(name), std::move(tensor));
  }
  return by_name;
}

// Matches the tensors of a file with those of a network.
class StateDictFit {
 public:
  StateDictFit(FileTensors file, const TensorsByName& state)
      : file_(std::move(file)) {
    for (const auto& [name, tensor] : state) names_.push_back(name);
    for (const auto& [name, tensor] : state) {
      if (!absl::EndsWith(name, kDrawKeySuffix)) Match(name, tensor);
    }
    for (const auto& [name, tensor] : state) {
      if (missing_.contains(name)) ReportMissing(name, tensor);
    }
    for (const auto& [name, tensor] : file_) {
      if (!used_.contains(name)) {
        faults_.push_back(absl::StrCat(name, " ", ShapeText(tensor.shape),
                                       ": the network has no such tensor",
                                       Hint(name, names_, "it has ")));
      }
    }
  }

  const std::vector<std::string>& faults() const { return faults_; }

  // Returns a line for each converted type.
  std::vector<std::string> Copy() const {
    const torch::NoGradGuard no_grad;
    for (const auto& [to, from] : copies_) at::Tensor(to).copy_(from);
    std::vector<std::string> lines;
    for (const auto& [type, count] : converted_) {
      lines.push_back(
          absl::StrCat(count, " tensors were converted from ", type));
    }
    return lines;
  }

 private:
  void Match(const std::string& name, const at::Tensor& to) {
    auto found = file_.find(name);
    if (found == file_.end() && IsNormalized(name)) {
      found = file_.find(name + "_orig");
    }
    if (found == file_.end()) {
      missing_.insert(name);
      return;
    }
    used_.insert(found->first);
    const NamedTensor& from = found->second;
    if (from.shape != to.sizes().vec()) {
      faults_.push_back(
          absl::StrCat(found->first, " has shape ", ShapeText(from.shape),
                       ", the network wants ", ShapeText(to.sizes())));
      return;
    }
    const auto type = to.is_floating_point() ? FloatingTypeOf(from.dtype)
                                             : CountingType(from.dtype);
    if (!type.has_value()) {
      faults_.push_back(absl::StrCat(
          found->first, " is ", DTypeName(from.dtype), ", the network wants ",
          to.is_floating_point() ? "F32 (or F64, F16, BF16)" : "I64"));
      return;
    }
    // from_blob takes a mutable pointer; copy_ only reads it.
    const at::Tensor values = torch::from_blob(
        const_cast<std::byte*>(from.bytes.data()), from.shape, *type);
    if (!IsFinite(values)) {
      faults_.push_back(found->first + " has values that are not finite");
      return;
    }
    if (*type != to.scalar_type()) ++converted_[DTypeName(from.dtype)];
    copies_.emplace_back(to, values);
  }

  bool IsNormalized(const std::string& name) const {
    return absl::EndsWith(name, kWeight) &&
           std::ranges::find(names_, name + "_u") != names_.end();
  }

  void ReportMissing(const std::string& name, const at::Tensor& tensor) {
    std::vector<std::string> left;
    for (const auto& [other, unused] : file_) {
      if (!used_.contains(other)) left.push_back(other);
    }
    faults_.push_back(absl::StrCat(name, " ", ShapeText(tensor.sizes()),
                                   " is missing",
                                   Hint(name, left, "the file has ")));
  }

  static std::string Hint(const std::string& name,
                          const std::vector<std::string>& candidates,
                          absl::string_view lead) {
    const std::vector<std::string> near = Nearest(name, candidates);
    return near.empty() ? "" : absl::StrCat(" (", lead, near.front(), ")");
  }

  const FileTensors file_;
  std::vector<std::string> names_;  // names of the network
  std::set<std::string> used_;      // names in the file
  std::set<std::string> missing_;   // names of the network
  std::vector<std::string> faults_;
  std::vector<std::pair<at::Tensor, at::Tensor>> copies_;  // to, from
  std::map<absl::string_view, int> converted_;             // by type
};

}  // namespace

absl::StatusOr<std::vector<std::string>> LoadStateDict(
    const std::string& path, const TensorsByName& state) {
  GANDEM_ASSIGN_OR_RETURN(std::vector<NamedTensor> tensors,
                          ReadAnyStateDict(path));
  const StateDictFit fit(ByName(std::move(tensors)), state);
  if (!fit.faults().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        " does not fit the network (`gandem models NAME --summary` "
        "prints it):\n  ",
        absl::StrJoin(fit.faults(), "\n  ")));
  }
  return fit.Copy();
}

}  // namespace gandem
