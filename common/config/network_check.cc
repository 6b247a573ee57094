// SPDX-License-Identifier: Apache-2.0
#include "common/config/network_check.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/config/config_extra.h"
#include "common/config/field_ranges.h"
#include "common/config/resnet_plan.h"

namespace gandem {
namespace {

using google::protobuf::FieldDescriptor;

constexpr int64_t kMaxImageValues = int64_t{1} << 24;

bool CheckImage(const std::string& path, const std::vector<int64_t>& sizes,
                const ImageShape& image, Faults& faults) {
  const auto most = static_cast<int64_t>(RangeOf<DataConfig>("channels").high);
  const bool legal =
      faults.CheckRange("image channels", image.channels, 1, most);
  const bool known =
      image.height == image.width &&
      std::find(sizes.begin(), sizes.end(), image.height) != sizes.end();
  if (sizes.empty() || known) return legal;
  faults.Add(absl::StrCat(
      path, " is for images of ",
      absl::StrJoin(sizes, " or ",
                    [](std::string* out, int64_t size) {
                      absl::StrAppend(out, size, " x ", size);
                    }),
      ", not ", image.height, " x ", image.width, " (data.image_size)"));
  return false;
}

void CheckLabels(const std::string& path, const FieldDescriptor& field,
                 int64_t num_classes, Faults& faults) {
  const LabelUse use = field.options().GetExtension(labels);
  if (num_classes > 0 && use == LABELS_REFUSED) {
    faults.Add(absl::StrCat(path,
                            " cannot be told labels: set data.num_classes=0 "
                            "or choose a network that can, as mlp"));
  } else if (num_classes == 0 && use == LABELS_NEEDED) {
    faults.Add(absl::StrCat(
        path, " needs labels: set data.num_classes to their number"));
  }
}

bool HasFewValues(const ImageShape& image) {
  // Floating point, because integers could overflow.
  return 1.0 * image.channels * image.height * image.width <= kMaxImageValues;
}

void CheckBiggan(const std::string& path, const BigganConfig& config,
                 const DataShape& data, Faults& faults) {
  const int64_t size = data.image.height;
  if (IsDeep(config) && size != 32 && size != 128 && size != 256) {
    faults.Add(absl::StrCat(
        path, ".form DEEP is for images of 32, 128 or 256 pixels, not ", size));
  }
  if (config.head() == BigganConfig::CONTRASTIVE &&
      ConditionalClasses(data) == 0) {
    faults.Add(absl::StrCat(path,
                            ".head CONTRASTIVE needs classes to tell apart: "
                            "set data.num_classes"));
  }
}

void CheckPython(const std::string& path, const PythonConfig& config,
                 Faults& faults) {
  if (config.module().empty()) {
    faults.Add(absl::StrCat(path, ".module is missing: the Python file"));
  }
  if (config.name().empty()) {
    faults.Add(absl::StrCat(path, ".name is missing: the class in the file"));
  }
  for (const std::string& argument : config.arguments()) {
    if (argument.find('=') != std::string::npos && argument[0] != '=') continue;
    faults.Add(absl::StrCat(path, ".arguments has '", argument,
                            "', which is not NAME=VALUE, as \"width=64\""));
  }
}

// Checks the fields of a family against each other and the data. `legal` means
// that each field is within its range.
void CheckNetworkTogether(const std::string& path, const NetworkConfig& network,
                          const DataShape& data, bool legal, Faults& faults) {
  const int64_t size = data.image.height;
  switch (network.family_case()) {
    case NetworkConfig::kMlp:
      if (!HasFewValues(data.image)) {
        faults.Add(absl::StrCat(path, " is for images of at most ",
                                kMaxImageValues, " values"));
      }
      return;
    case NetworkConfig::kPython:
      CheckPython(path, network.python(), faults);
      return;
    case NetworkConfig::kOwn:
      if (network.own().name().empty()) {
        faults.Add(absl::StrCat(path,
                                ".name is missing: the name that your worker "
                                "program gives its networks"));
      }
      return;
    case NetworkConfig::kR3Gan:
    case NetworkConfig::kStylegan2: {
      const auto extra =
          ConfigExtraFor(path, FamilyFieldOf(network)->name(), faults);
      if (legal && extra) extra->check_network(path, network, size, faults);
      return;
    }
    case NetworkConfig::kSngan:
      if (network.sngan().norm() == SnganConfig::BATCH &&
          network.sngan().shortcut() == SnganConfig::RECTIFIED) {
        faults.Add(absl::StrCat(path,
                                ".shortcut RECTIFIED is not defined with norm "
                                "BATCH: leave it out"));
      }
      return;
    case NetworkConfig::kSagan:
      if (!legal) return;
      CheckResnetPlan(path, PlanOf(network.sagan(), size), size, faults);
      return;
    case NetworkConfig::kBiggan:
      CheckBiggan(path, network.biggan(), data, faults);
      if (!legal) return;
      CheckResnetPlan(path, PlanOf(network.biggan(), size), size, faults);
      return;
    default:
      return;
  }
}

}  // namespace

std::vector<const FieldDescriptor*> NetworkFamilies() {
  const auto& oneof = *NetworkConfig::descriptor()->oneof_decl(0);
  std::vector<const FieldDescriptor*> families;
  for (int i = 0; i < oneof.field_count(); ++i) {
    if (oneof.field(i)->number() == NetworkConfig::kOwnFieldNumber) continue;
    families.push_back(oneof.field(i));
  }
  return families;
}

const FieldDescriptor* FamilyFieldOf(const NetworkConfig& network) {
  return network.GetReflection()->GetOneofFieldDescriptor(
      network, NetworkConfig::descriptor()->oneof_decl(0));
}

std::vector<int64_t> ImageSizesOf(const FieldDescriptor& family) {
  const auto& sizes = family.options().GetRepeatedExtension(image_sizes);
  return {sizes.begin(), sizes.end()};
}

void CheckNetwork(absl::string_view path, const NetworkConfig& network,
                  const DataShape& data, Faults& faults) {
  const FieldDescriptor* const field = FamilyFieldOf(network);
  if (field == nullptr) {
    faults.Add(absl::StrCat(
        path, " is missing: set one of ",
        absl::StrJoin(NetworkFamilies(), ", ",
                      [](std::string* out, const FieldDescriptor* family) {
                        absl::StrAppend(out, family->name());
                      })));
    return;
  }
  const std::string family = absl::StrCat(path, ".", field->name());
  const bool image_legal =
      CheckImage(family, ImageSizesOf(*field), data.image, faults);
  CheckLabels(family, *field, data.num_classes, faults);
  CheckNetworkTogether(family, network, data,
                       image_legal && IsWithinRanges(network), faults);
}

}  // namespace gandem
