// SPDX-License-Identifier: Apache-2.0
#include "pipeline/tensors/tensor_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/files/file.h"
#include "tests/testing/http_server.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::HttpAnswerText;
using ::gandem::testing::HttpCall;
using ::gandem::testing::HttpServer;
using ::gandem::testing::RangeAnswer;
using ::testing::ElementsAre;

class TensorPathsTest : public ::testing::Test {
 protected:
  void Make(const std::string& name) {
    ASSERT_OK(CreateDirectories(ParentOf(dir_ / name)));
    ASSERT_OK(WriteFile(dir_ / name, "x"));
  }
  // Returns "SAMPLES LABELS" without the folder.
  std::vector<std::string> Find(const std::string& name) {
    const auto found = FindTensorPaths(*Locate(dir_ / name));
    EXPECT_OK(found);
    std::vector<std::string> texts;
    for (const TensorPaths& paths : *found) {
      texts.push_back(paths.samples.substr(paths.samples.rfind('/') + 1) + " " +
                      paths.labels.substr(paths.labels.rfind('/') + 1));
    }
    return texts;
  }

  gandem::testing::TempDir dir_;
};

TEST_F(TensorPathsTest, AFolderAndItsLabelsAreFound) {
  for (const char* const name :
       {"a/images-1.npy", "a/images-0.npy", "a/labels-0.npy", "a/labels-1.npy",
        "a/x.npy", "a/x_labels.npy", "a/z.safetensors", "a/.hidden.npy",
        "a/readme.txt", "a/deeper/y.npy"}) {
    Make(name);
  }
  EXPECT_TRUE(LooksLikeTensors(*Locate(dir_ / "a")));
  EXPECT_THAT(Find("a"), ElementsAre("images-0.npy labels-0.npy",
                                     "images-1.npy labels-1.npy",
                                     "x.npy x_labels.npy", "z.safetensors "));
  // A folder with images and an array.
  Make("photos/1.png");
  Make("photos/features.npy");
  EXPECT_FALSE(LooksLikeTensors(*Locate(dir_ / "photos")));
}

TEST_F(TensorPathsTest, FilesAndShardsAreFound) {
  Make("train_latents.npy");
  Make("train_labels.npy");
  Make("s-0.npy");
  Make("s-1.npy");
  Make("s-1.labels.npy");
  EXPECT_THAT(Find("train_latents.npy"),
              ElementsAre("train_latents.npy train_labels.npy"));
  EXPECT_THAT(Find("s-{0..1}.npy"),
              ElementsAre("s-0.npy ", "s-1.npy s-1.labels.npy"));
  EXPECT_TRUE(LooksLikeTensors(*Locate(dir_ / "s-{0..1}.npy")));
  EXPECT_FALSE(LooksLikeTensors({.name = "a.npz"}));
}

TEST_F(TensorPathsTest, RemoteLabelsAreFound) {
  HttpServer server([&](const HttpCall& call) {
    return call.target == "/labels.npy" || call.target == "/images.npy"
               ? RangeAnswer(call, "labels")
               : HttpAnswerText(404, "", "");
  });
  ASSERT_OK_AND_ASSIGN(const auto found,
                       FindTensorPaths(*Locate(server.Url("/images.npy"))));
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0].labels, server.Url("/labels.npy"));
}

}  // namespace
}  // namespace gandem
