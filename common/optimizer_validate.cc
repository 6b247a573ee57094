// SPDX-License-Identifier: Apache-2.0
#include "common/optimizer_validate.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/check.h"

namespace gandem {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr double kBelowOne = 1 - std::numeric_limits<double>::epsilon() / 2;
constexpr double kAboveZero = std::numeric_limits<double>::denorm_min();
// In float32 anything smaller is 0, and a parameter without gradient 0 / 0.
constexpr double kSmallestEps = std::numeric_limits<float>::min();

// A field means the same in every family.
struct Range {
  absl::string_view field;
  double low;
  double high;
};
constexpr Range kRanges[] = {
    {"learning_rate", kAboveZero, 10},
    {"beta1", 0, kBelowOne},
    {"beta2", 0, kBelowOne},
    {"eps", kSmallestEps, 1},
    {"weight_decay", 0, 1},
};

void CheckDouble(absl::string_view path, const Range& range, double value,
                 Faults& faults) {
  if (range.high == kBelowOne) {
    faults.CheckFraction(path, value);
  } else if (range.low == kAboveZero) {
    faults.CheckPositive(path, value, range.high);
  } else {
    faults.CheckRange(path, value, range.low, range.high);
  }
}

// Every number of a family has a range.
void CheckFamily(const std::string& prefix, const Message& family,
                 Faults& faults) {
  const auto& type = *family.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_DOUBLE) continue;
    const auto range = std::ranges::find(kRanges, field.name(), &Range::field);
    GANDEM_CHECK(range != std::end(kRanges));
    CheckDouble(prefix + field.name(), *range,
                family.GetReflection()->GetDouble(family, &field), faults);
  }
}

}  // namespace

void CheckOptimizer(const std::string& prefix, const OptimizerConfig& config,
                    Faults& faults) {
  const FieldDescriptor* const family =
      config.GetReflection()->GetOneofFieldDescriptor(
          config, config.GetDescriptor()->FindOneofByName("family"));
  if (family != nullptr) {
    CheckFamily(absl::StrCat(prefix, family->name(), "."),
                config.GetReflection()->GetMessage(config, family), faults);
  }
  faults.CheckRange(prefix + "optimism", config.optimism(), 0.0, 10.0);
}

}  // namespace gandem
