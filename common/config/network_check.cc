// SPDX-License-Identifier: Apache-2.0
#include "common/config/network_check.h"

#include <google/protobuf/message.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace gandem {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr int64_t kMaxInteger = 65536;
constexpr int kMaxListLength = 64;
constexpr int64_t kMaxChannels = 1024;

int64_t LeastOf(const FieldDescriptor& field) {
  return !field.is_repeated() && field.default_value_int64() == 0 ? 0 : 1;
}

void CheckList(const std::string& path, const Message& family,
               const FieldDescriptor& field, Faults& faults) {
  const auto& reflection = *family.GetReflection();
  const int size = reflection.FieldSize(family, &field);
  faults.CheckRange(absl::StrCat("the length of ", path), size, 0,
                    kMaxListLength);
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_INT64) return;
  for (int i = 0; i < size; ++i) {
    faults.CheckRange(absl::StrCat(path, "[", i, "]"),
                      reflection.GetRepeatedInt64(family, &field, i), 1,
                      kMaxInteger);
  }
}

void CheckFields(const std::string& path, const Message& family,
                 Faults& faults) {
  const auto& reflection = *family.GetReflection();
  for (int i = 0; i < family.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *family.GetDescriptor()->field(i);
    const std::string name = absl::StrCat(path, ".", field.name());
    if (field.is_repeated()) {
      CheckList(name, family, field, faults);
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
      faults.CheckRange(name, reflection.GetInt64(family, &field),
                        LeastOf(field), kMaxInteger);
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
      faults.CheckRange(name, reflection.GetDouble(family, &field), 0.0, 1.0);
    }
  }
}

void CheckImage(const std::string& path, const std::vector<int64_t>& sizes,
                const ImageShape& image, Faults& faults) {
  faults.CheckRange("image channels", image.channels, 1, kMaxChannels);
  const bool known =
      image.height == image.width &&
      std::find(sizes.begin(), sizes.end(), image.height) != sizes.end();
  if (sizes.empty() || known) return;
  faults.Add(absl::StrCat(
      path, " is for images of ",
      absl::StrJoin(sizes, " or ",
                    [](std::string* out, int64_t size) {
                      absl::StrAppend(out, size, " x ", size);
                    }),
      ", not ", image.height, " x ", image.width, " (data.image_size)"));
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

}  // namespace

std::vector<const FieldDescriptor*> NetworkFamilies() {
  const auto& oneof = *NetworkConfig::descriptor()->oneof_decl(0);
  std::vector<const FieldDescriptor*> families;
  for (int i = 0; i < oneof.field_count(); ++i) {
    families.push_back(oneof.field(i));
  }
  return families;
}

const FieldDescriptor* FamilyFieldOf(const NetworkConfig& network) {
  return network.GetReflection()->GetOneofFieldDescriptor(
      network, NetworkConfig::descriptor()->oneof_decl(0));
}

std::vector<int64_t> ImageSizesOf(const FieldDescriptor& family) {
  std::vector<int64_t> sizes;
  for (int i = 0; i < family.options().ExtensionSize(image_sizes); ++i) {
    sizes.push_back(family.options().GetExtension(image_sizes, i));
  }
  return sizes;
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
  CheckFields(family, network.GetReflection()->GetMessage(network, field),
              faults);
  CheckImage(family, ImageSizesOf(*field), data.image, faults);
  CheckLabels(family, *field, data.num_classes, faults);
}

}  // namespace gandem
