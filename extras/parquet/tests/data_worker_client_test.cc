// SPDX-License-Identifier: Apache-2.0
#include "extras/parquet/data_worker_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "absl/strings/str_cat.h"
#include "extras/parquet/data_worker_pool.h"
#include "extras/parquet/tests/data_peer.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::DataPeer;
using ::gandem::testing::PlayedWorker;
using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

ShardFile TenBytes() {
  return {.number = 2,
          .file = FileInMemory("ten.parquet", std::string("0123456789"))};
}

std::string TwoImages() { return EncodeImageIndex({1, 2}) + "abb"; }

// Reads row group 5 of two rows from a worker that answers by `play`, and
// expects that the worker counts as broken afterwards.
void ExpectBroken(PlayedWorker::Play play, absl::StatusCode code,
                  const std::string& what) {
  PlayedWorker worker([&](DataPeer& peer) {
    if (peer.Receive()) play(peer);
  });
  EXPECT_THAT(worker.client().Read(TenBytes(), 5, 2),
              StatusIs(code, HasSubstr(what)));
  EXPECT_TRUE(worker.client().broken());
}

TEST(DataWorkerClientTest, OpensAndReads) {
  PlayedWorker worker([](DataPeer& peer) {
    ASSERT_TRUE(peer.Receive());
    EXPECT_EQ(peer.request().kind, FrameKind::kOpen);
    EXPECT_EQ(peer.request().shard, 2);
    EXPECT_EQ(peer.request().first, 10);
    EXPECT_EQ(peer.Ask(2, 7, 3), "789");
    EXPECT_EQ(peer.Ask(2, 0, 10), "0123456789");
    peer.Send({.kind = FrameKind::kOpened},
              EncodeOpenedShard(
                  {.image_column = "jpg", .row_groups = {{.rows = 2}}}));
    ASSERT_TRUE(peer.Receive());
    EXPECT_EQ(peer.request().kind, FrameKind::kRead);
    EXPECT_EQ(peer.request().second, 5);
    peer.Send({.kind = FrameKind::kImages}, TwoImages());
    EXPECT_FALSE(peer.Receive());
  });
  ASSERT_OK_AND_ASSIGN(const OpenedShard opened,
                       worker.client().Open(TenBytes()));
  EXPECT_EQ(opened.image_column, "jpg");
  ASSERT_OK_AND_ASSIGN(const RowGroupImages images,
                       worker.client().Read(TenBytes(), 5, 2));
  EXPECT_EQ(images.size(), 2);
  EXPECT_EQ(images.image(0), "a");
  EXPECT_EQ(images.image(1), "bb");
  EXPECT_FALSE(worker.client().broken());
}

TEST(DataWorkerClientTest, AFaultOfTheFileIsAnAnswer) {
  PlayedWorker worker([](DataPeer& peer) {
    while (peer.Receive()) {
      peer.Fail(peer.request().second == 0 ? absl::StatusCode::kInvalidArgument
                                           : absl::StatusCode::kUnavailable,
                "no column\x1b[2J");
    }
  });
  EXPECT_THAT(worker.client().Read(TenBytes(), 0, 2),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("no column\\x1b[2J")));
  EXPECT_FALSE(worker.client().broken());
  // A code that is not for a fault of a file becomes DATA_LOSS.
  EXPECT_THAT(worker.client().Read(TenBytes(), 1, 2),
              StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_FALSE(worker.client().broken());
}

class FailingFile : public RandomAccessFile {
 public:
  const std::string& name() const override { return name_; }
  int64_t size() const override { return 10; }
  absl::StatusOr<std::string> Read(int64_t, int64_t) const override {
    return absl::UnavailableError("the server is away");
  }

 private:
  const std::string name_ = "far.parquet";
};

TEST(DataWorkerClientTest, UnreadableFilesAreNotTheWorkersFault) {
  PlayedWorker worker([](DataPeer& peer) {
    ASSERT_TRUE(peer.Receive());
    EXPECT_EQ(peer.Ask(0, 0, 4), "");
    peer.Fail(absl::StatusCode::kDataLoss, "no bytes");
    EXPECT_FALSE(peer.Receive());
  });
  const ShardFile far = {.number = 0, .file = std::make_shared<FailingFile>()};
  EXPECT_THAT(worker.client().Open(far),
              StatusIs(absl::StatusCode::kUnavailable, "the server is away"));
  EXPECT_FALSE(worker.client().broken());
}

TEST(DataWorkerClientTest, RequestsForBytesOutsideTheFile) {
  const struct {
    int64_t shard, offset, size;
  } wishes[] = {{2, 8, 3},         {2, 11, 1}, {1, 0, 1},
                {2, 0, INT64_MAX}, {2, 0, 0},  {2, INT64_MAX, INT64_MAX}};
  for (const auto& wish : wishes) {
    ExpectBroken(
        [&](DataPeer& peer) { peer.Ask(wish.shard, wish.offset, wish.size); },
        absl::StatusCode::kDataLoss, absl::StrCat("asks for ", wish.size));
  }
}

TEST(DataWorkerClientTest, UnexpectedAnswers) {
  constexpr auto kLoss = absl::StatusCode::kDataLoss;
  ExpectBroken(
      [](DataPeer& peer) {
        peer.Send({.kind = FrameKind::kOpened}, TwoImages());
      },
      kLoss, "an answer of kind 6");
  ExpectBroken(
      [](DataPeer& peer) {
        peer.Send({.kind = FrameKind::kImages}, "nothing");
      },
      kLoss, "malformed image index");
  ExpectBroken(
      [](DataPeer& peer) {
        peer.Send({.kind = FrameKind::kImages}, EncodeImageIndex({1}) + "a");
      },
      kLoss, "1 images of 2 rows");
  ExpectBroken(
      [](DataPeer& peer) {
        peer.Send({.kind = FrameKind::kImages},
                  EncodeImageIndex({2, 2}) + "abb");
      },
      kLoss, "where 1 are left");
  ExpectBroken(
      [](DataPeer& peer) { peer.Send({.kind = static_cast<FrameKind>(77)}); },
      kLoss, "kind 77");
}

TEST(DataWorkerClientTest, DeadOrHangingWorkers) {
  ExpectBroken([](DataPeer&) {}, absl::StatusCode::kUnavailable, "gone");
  ExpectBroken([](DataPeer& peer) { peer.Ask(2, 0, 4); },
               absl::StatusCode::kUnavailable, "gone");
  PlayedWorker silent(
      [](DataPeer& peer) {
        while (peer.Receive()) {
        }
      },
      absl::Milliseconds(1));
  EXPECT_THAT(silent.client().Read(TenBytes(), 0, 2),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_TRUE(silent.client().broken());
}

// A pool with played workers, started one after the other.
class DataWorkerPoolTest : public ::testing::Test {
 protected:
  DataWorkerPool::Starter Plays(std::vector<PlayedWorker::Play> plays) {
    return [this, plays = std::move(plays)]() -> absl::StatusOr<DataWorker> {
      if (workers_.size() == plays.size()) {
        return absl::NotFoundError("no more workers");
      }
      workers_.emplace_back(plays[workers_.size()]);
      return DataWorker{.client = workers_.back().TakeClient()};
    };
  }
  static void Answer(DataPeer& peer) {
    while (peer.Receive()) peer.Send({.kind = FrameKind::kImages}, TwoImages());
  }
  static void Die(DataPeer& peer) { (void)peer.Receive(); }

  std::deque<PlayedWorker> workers_;  // outlives the pool of a test
};

TEST_F(DataWorkerPoolTest, OneWorkerServesManyRequests) {
  DataWorkerPool pool(Plays({Answer}));
  for (int64_t group = 0; group < 10; ++group) {
    EXPECT_OK(pool.Read(TenBytes(), group, 2));
  }
  EXPECT_EQ(workers_.size(), 1u);
}

TEST_F(DataWorkerPoolTest, DeadWorkersAreReplaced) {
  DataWorkerPool pool(Plays({Die, Answer}));
  ASSERT_OK_AND_ASSIGN(const RowGroupImages images,
                       pool.Read(TenBytes(), 0, 2));
  EXPECT_EQ(images.image(1), "bb");
  EXPECT_OK(pool.Read(TenBytes(), 1, 2));
  EXPECT_EQ(workers_.size(), 2u);
}

TEST_F(DataWorkerPoolTest, TwoDeadWorkersAreTheFilesFault) {
  DataWorkerPool pool(Plays({Die, Die, Answer}));
  EXPECT_THAT(pool.Read(TenBytes(), 3, 2),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("row group 3 of 'ten.parquet'"),
                             HasSubstr("a second one before it"),
                             HasSubstr("is the file damaged?"))));
  // The next request starts a new worker.
  EXPECT_OK(pool.Read(TenBytes(), 4, 2));
}

TEST_F(DataWorkerPoolTest, InvalidAnswersAreNamed) {
  const auto lie = [](DataPeer& peer) {
    if (peer.Receive()) peer.Send({.kind = FrameKind::kImages}, "lies");
  };
  DataWorkerPool pool(Plays({lie, lie}));
  EXPECT_THAT(pool.Read(TenBytes(), 3, 2),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("failed (data_worker answered nonsense")));
}

TEST_F(DataWorkerPoolTest, FaultsOfAFileNameTheFile) {
  const auto fail = [](DataPeer& peer) {
    while (peer.Receive()) {
      peer.Fail(absl::StatusCode::kInvalidArgument, "it is encrypted");
    }
  };
  DataWorkerPool pool(Plays({fail}));
  EXPECT_THAT(pool.Open(TenBytes()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "'ten.parquet': it is encrypted"));
  EXPECT_THAT(pool.Read(TenBytes(), 3, 2),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "row group 3 of 'ten.parquet': it is encrypted"));
  EXPECT_EQ(workers_.size(), 1u);
}

TEST_F(DataWorkerPoolTest, NoWorkerCanBeStarted) {
  DataWorkerPool pool(Plays({}));
  EXPECT_THAT(pool.Open(TenBytes()), StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace gandem
