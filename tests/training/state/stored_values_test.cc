// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <utility>

#include "models/torch.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

NamedTensor Stored(const at::Tensor& values, DType dtype) {
  return {.name = "values",
          .dtype = dtype,
          .shape = values.sizes().vec(),
          .bytes = SharedBytes::Copy(
              {static_cast<const std::byte*>(values.const_data_ptr()),
               values.nbytes()})};
}

TEST(StoredValuesTest, StoredValuesAreAFloatCopy) {
  for (const auto& [type, dtype] :
       {std::pair(at::kFloat, DType::kF32), std::pair(at::kDouble, DType::kF64),
        std::pair(at::kHalf, DType::kF16),
        std::pair(at::kBFloat16, DType::kBF16)}) {
    std::optional<NamedTensor> stored =
        Stored(torch::arange(6.0).view({2, 3}).to(type), dtype);
    const std::optional<at::Tensor> values = FloatValuesOf(*stored);
    stored.reset();
    ASSERT_TRUE(values.has_value()) << type;
    EXPECT_EQ(values->scalar_type(), at::kFloat);
    EXPECT_TRUE(values->equal(torch::arange(6.0F).view({2, 3}))) << type;
  }
}

TEST(StoredValuesTest, IntegerTensorsAreNotConverted) {
  EXPECT_FALSE(FloatValuesOf(Stored(torch::ones({2}, at::kLong), DType::kI64))
                   .has_value());
  EXPECT_FALSE(FloatingTypeOf(DType::kI64).has_value());
}

}  // namespace
}  // namespace gandem
