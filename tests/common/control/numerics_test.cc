// SPDX-License-Identifier: Apache-2.0
#include "common/control/numerics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

namespace gandem {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

TEST(NumericsTest, TheNumericsContainTheVariablesOfTheLibraries) {
  setenv("MKL_CBWR", "COMPATIBLE\n", 1);
  setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
  setenv("MKLROOT", "/opt", 1);
  const Numerics numerics = ProcessNumerics();
  EXPECT_THAT(numerics, IsSupersetOf({Pair("MKL_CBWR", "COMPATIBLE\\n"),
                                      Pair("ONEDNN_MAX_CPU_ISA", "AVX2")}));
  EXPECT_THAT(numerics, Not(Contains(Key("MKLROOT"))));
  unsetenv("MKL_CBWR");
  unsetenv("ONEDNN_MAX_CPU_ISA");
  unsetenv("MKLROOT");
  EXPECT_THAT(ProcessNumerics(), Not(Contains(Key("MKL_CBWR"))));
}

#if defined(__x86_64__)
TEST(NumericsTest, ACapabilityThatIsAskedForIsTaken) {
  const std::string own = ProcessNumerics()["CPU capability"];
  EXPECT_THAT(own, ::testing::AnyOf("DEFAULT", "AVX2", "AVX512"));
  setenv("ATEN_CPU_CAPABILITY", "default", 1);
  EXPECT_EQ(ProcessNumerics()["CPU capability"], "DEFAULT");
  setenv("ATEN_CPU_CAPABILITY", "avx9", 1);  // LibTorch ignores it
  EXPECT_EQ(ProcessNumerics()["CPU capability"], own);
  unsetenv("ATEN_CPU_CAPABILITY");
}
#endif

TEST(NumericsTest, DifferencesNameValuesAndOwners) {
  const std::vector<OwnedNumerics> alike = {{"a", {{"GPU", "H100"}}},
                                            {"b", {{"GPU", "H100"}}}};
  EXPECT_EQ(NumericsDifferences(alike), "");
  const std::vector<OwnedNumerics> unlike = {
      {"a", {{"CPU capability", "AVX2"}, {"processor", "X"}}},
      {"b", {{"CPU capability", "AVX512"}, {"processor", "X"}}},
      {"c", {{"CPU capability", "AVX2"}, {"processor", "X"}, {"MKL_A", "1"}}}};
  EXPECT_EQ(NumericsDifferences(unlike),
            "CPU capability is AVX2 (a, c) and AVX512 (b); MKL_A is 1 (c) and "
            "not set (a, b)");
}

TEST(NumericsTest, MessagesNameSomeOfManyOwners) {
  std::vector<OwnedNumerics> all(10, {"same", {}});
  all[9] = {"other", {{"MKL_A", "1"}}};
  EXPECT_EQ(NumericsDifferences(all),
            "MKL_A is 1 (other) and not set (same, same, same and 6 more)");
}

}  // namespace
}  // namespace gandem
