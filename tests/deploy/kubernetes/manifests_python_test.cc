// SPDX-License-Identifier: Apache-2.0
//
// PyYAML reads the golden files of manifests_test and checks their content.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/testing/python_script.h"

namespace gandem {
namespace {

TEST(ManifestsPythonTest, PyYamlReadsTheExpectedContent) {
  for (const std::string name : {"full", "plain"}) {
    EXPECT_EQ(testing::RunPython(
                  "tests/deploy/kubernetes/check_manifests.py",
                  absl::StrCat(name, " ", std::getenv("GANDEM_SOURCE_DIR"),
                               "/tests/deploy/kubernetes/goldens/", name)),
              0);
  }
}

}  // namespace
}  // namespace gandem
