// SPDX-License-Identifier: Apache-2.0
#include "pipeline/remote/remote_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "common/process/thread.h"
#include "pipeline/io_counters.h"
#include "pipeline/read_stop.h"
#include "pipeline/remote/remote_file.h"
#include "tests/testing/eventually.h"
#include "tests/testing/http_server.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::Eventually;
using ::gandem::testing::HttpAnswerText;
using ::gandem::testing::HttpCall;
using ::gandem::testing::HttpServer;
using ::gandem::testing::RangeAnswer;
using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Timeouts that a busy machine does not reach.
constexpr RemoteTimes kPatient = {.open = absl::Minutes(1),
                                  .read = absl::Minutes(1)};
constexpr RemoteTimes kImpatient = {.open = absl::Milliseconds(300),
                                    .read = absl::Milliseconds(300)};

std::string RemotePattern(int64_t bytes) {
  std::string text(static_cast<size_t>(bytes), '\0');
  for (size_t i = 0; i < text.size(); ++i) {
    text[i] = static_cast<char>(i * 2654435761u >> 13);
  }
  return text;
}

class RemoteStoreTest : public ::testing::Test {
 protected:
  const std::string file_ = RemotePattern(3 * kBlockBytes + 1000);
  RemoteStore store_{kPatient};
};

TEST_F(RemoteStoreTest, FilesAreReadInBlocks) {
  HttpServer server(
      [&](const HttpCall& call) { return RangeAnswer(call, file_); });
  ASSERT_OK_AND_ASSIGN(const auto file,
                       store_.Open(server.Url("/f.tar?sig=secret")));
  EXPECT_EQ(file->name(), server.Url("/f.tar"));
  EXPECT_EQ(file->size(), std::ssize(file_));
  EXPECT_EQ(*file->Read(0, 10), file_.substr(0, 10));
  EXPECT_EQ(server.calls().size(), 1);  // read when the file was opened
  EXPECT_EQ(*file->Read(kBlockBytes - 5, 10),
            file_.substr(kBlockBytes - 5, 10));
  EXPECT_EQ(*file->Read(0, file->size()), file_);
  EXPECT_EQ(*file->Read(file->size(), 0), "");
  EXPECT_EQ(server.calls().size(), 4);
  EXPECT_EQ(server.calls()[1].Header("if-match"), "\"1\"");
  EXPECT_EQ(server.calls()[1].target, "/f.tar?sig=secret");
  EXPECT_THAT(file->Read(file->size(), 1),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("cut off")));
  EXPECT_EQ(*store_.Open(server.Url("/f.tar?sig=secret")), file);
}

TEST_F(RemoteStoreTest, AServerWithoutRangesIsRefusedForLargeFiles) {
  const std::string small = RemotePattern(5000);
  HttpServer server([&](const HttpCall& call) {
    return HttpAnswerText(200, "", call.target == "/small" ? small : file_);
  });
  ASSERT_OK_AND_ASSIGN(const auto file, store_.Open(server.Url("/small")));
  EXPECT_EQ(*file->Read(4000, 1000), small.substr(4000));
  store_.SetCaches({.block_bytes = 2 << 20});
  EXPECT_THAT(store_.Open(server.Url("/large")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("ignores Range"),
                             HasSubstr("data.memory_bytes"))));
}

TEST_F(RemoteStoreTest, AFileThatChangesIsDetected) {
  std::atomic<int> version = 1;
  std::atomic<bool> honest = true;  // respects If-Match
  std::string other = file_;
  other[5] ^= 1;
  HttpServer server([&](const HttpCall& call) {
    const std::string etag = absl::StrCat("\"", version.load(), "\"");
    const std::string wanted = call.Header("if-match");
    if (honest && !wanted.empty() && wanted != etag) {
      return HttpAnswerText(412, "", "");
    }
    return RangeAnswer(call, version == 1 ? file_ : other,
                       absl::StrCat("ETag: ", etag, "\r\n"));
  });
  for (const bool is_honest : {true, false}) {
    honest = is_honest;
    version = 1;
    const std::string url = server.Url(absl::StrCat("/", is_honest));
    ASSERT_OK_AND_ASSIGN(const auto file, store_.Open(url));
    version = 2;
    EXPECT_THAT(file->Read(kBlockBytes, 10),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr(url), HasSubstr("was changed"))));
    ASSERT_OK_AND_ASSIGN(const auto again, store_.Open(url));
    EXPECT_EQ(*again->Read(0, 10), other.substr(0, 10));
  }
}

TEST_F(RemoteStoreTest, TheDateIdentifiesAFileWithoutAnEtag) {
  std::atomic<int> day = 1;
  HttpServer server([&](const HttpCall& call) {
    return RangeAnswer(call, file_,
                       absl::StrCat("Last-Modified: Sun, 0", day.load(),
                                    " Nov 1994 08:49:37 GMT\r\n"));
  });
  ASSERT_OK_AND_ASSIGN(const auto file, store_.Open(server.Url("/f")));
  EXPECT_OK(file->Read(kBlockBytes, 1));
  EXPECT_EQ(server.calls()[1].Header("if-match"), "");
  EXPECT_EQ(server.calls()[1].Header("if-unmodified-since"),
            "Sun, 01 Nov 1994 08:49:37 GMT");
  day = 2;
  EXPECT_THAT(
      file->Read(2 * kBlockBytes, 1),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("is of Sun, 02")));
}

TEST_F(RemoteStoreTest, ABusyServerIsRetried) {
  const int64_t before = ProcessIoCounters().retries;
  HttpServer server([&](const HttpCall& call) {
    if (call.number == 0) return HttpAnswerText(503, "Retry-After: 0\r\n", "");
    if (call.number == 1) return HttpAnswerText(500, "", "");
    if (call.number == 2) return std::string();  // closes the connection
    if (call.number == 3) {                      // truncated
      return std::string(
          "HTTP/1.1 206 x\r\nConnection: close\r\nContent-Length: 9\r\n\r\nab");
    }
    return RangeAnswer(call, file_);
  });
  ASSERT_OK_AND_ASSIGN(const auto file, store_.Open(server.Url("/f")));
  EXPECT_EQ(*file->Read(7, 3), file_.substr(7, 3));
  EXPECT_EQ(server.calls().size(), 5);
  // libcurl itself reopens a kept connection that was closed.
  EXPECT_GE(ProcessIoCounters().retries, before + 3);
}

// The server sends fewer bytes than announced, at the opening and later.
TEST_F(RemoteStoreTest, AnInvalidAnswerIsRetried) {
  HttpServer server([&](const HttpCall& call) {
    const std::string range = call.Header("range");
    const bool first = range == absl::StrCat("bytes=0-", kBlockBytes - 1);
    if (call.number == 0 || (call.number == 2 && !first)) {
      return HttpAnswerText(206,
                            absl::StrCat("ETag: \"1\"\r\nContent-Range: bytes ",
                                         first ? 0 : kBlockBytes, "-",
                                         (first ? 1 : 2) * kBlockBytes - 1, "/",
                                         file_.size(), "\r\n"),
                            "too little");
    }
    return RangeAnswer(call, file_);
  });
  ASSERT_OK_AND_ASSIGN(const auto file, store_.Open(server.Url("/f")));
  EXPECT_EQ(*file->Read(kBlockBytes + 5, 3), file_.substr(kBlockBytes + 5, 3));
  EXPECT_EQ(server.calls().size(), 4);
}

TEST_F(RemoteStoreTest, RepeatedInvalidAnswersEndTheRead) {
  HttpServer server([&](const HttpCall& call) {
    if (call.number == 0) return RangeAnswer(call, file_);
    return HttpAnswerText(206,
                          absl::StrCat("ETag: \"1\"\r\nContent-Range: bytes ",
                                       7, "-", 8, "/", file_.size(), "\r\n"),
                          "ab");
  });
  ASSERT_OK_AND_ASSIGN(const auto file, store_.Open(server.Url("/f")));
  EXPECT_THAT(file->Read(kBlockBytes, 3),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("the server gave 2 at byte 7"),
                             HasSubstr("6 tries"))));
}

TEST_F(RemoteStoreTest, PermanentFailuresFailImmediately) {
  struct Case {
    int status;
    absl::StatusCode code;
    const char* text;
  };
  const Case cases[] = {
      {404, absl::StatusCode::kNotFound, "no such file"},
      {403, absl::StatusCode::kPermissionDenied, "get a new one"},
      {401, absl::StatusCode::kUnauthenticated, "answered 401"},
      {400, absl::StatusCode::kInvalidArgument, "answered 400"},
      {501, absl::StatusCode::kInvalidArgument, "answered 501"},
  };
  HttpServer server([&](const HttpCall& call) {
    return HttpAnswerText(cases[call.number].status, "", "no");
  });
  for (const Case& expected : cases) {
    EXPECT_THAT(store_.Open(server.Url("/f?sig=secret")),
                StatusIs(expected.code, AllOf(HasSubstr(server.Url("/f")),
                                              HasSubstr(expected.text),
                                              Not(HasSubstr("secret")))))
        << expected.status;
  }
  EXPECT_EQ(server.calls().size(), std::size(cases));
}

TEST_F(RemoteStoreTest, RepeatedServerErrorsEndTheRead) {
  HttpServer server(
      [](const HttpCall&) { return HttpAnswerText(500, "", "oops"); });
  EXPECT_THAT(store_.Open(server.Url("/f")),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("answered 500"), HasSubstr("6 tries"))));
  EXPECT_EQ(server.calls().size(), kMostTries);
}

TEST_F(RemoteStoreTest, AnUnreachableOrSilentServerIsReported) {
  RemoteStore store(kImpatient);
  std::string nobody;
  {
    HttpServer server([](const HttpCall&) { return std::string(); });
    nobody = server.Url("/f");
  }
  RemoteStore persistent({.open = absl::Seconds(3), .read = absl::Seconds(3)});
  EXPECT_THAT(persistent.Open(nobody), StatusIs(absl::StatusCode::kUnavailable,
                                                HasSubstr("can be reached")));
  absl::Notification done;
  HttpServer silent([&](const HttpCall&) {
    done.WaitForNotification();
    return std::string();
  });
  EXPECT_THAT(
      store.Open(silent.Url("/f")),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no answer within")));
  done.Notify();
}

TEST_F(RemoteStoreTest, AStopEndsAWaitingRead) {
  absl::Notification done;
  std::atomic<bool> asked = false;
  HttpServer server([&](const HttpCall&) {
    asked = true;
    done.WaitForNotification();
    return std::string();
  });
  std::atomic<bool> stop = false;
  Thread reader("reader", [&] {
    const ScopedReadStop scope(&stop);
    EXPECT_THAT(store_.Open(server.Url("/f")),
                StatusIs(absl::StatusCode::kCancelled));
  });
  EXPECT_TRUE(Eventually([&] { return asked.load(); }));
  stop = true;
  reader.Join();
  done.Notify();
}

TEST_F(RemoteStoreTest, RedirectsAreFollowedAndRemembered) {
  std::atomic<bool> expired = false;
  HttpServer other([&](const HttpCall& call) {
    if (expired.exchange(false)) return HttpAnswerText(403, "", "expired");
    return RangeAnswer(call, file_);
  });
  HttpServer server([&](const HttpCall&) {
    return HttpAnswerText(
        302, absl::StrCat("Location: ", other.Url("/cdn?sig=1"), "\r\n"), "");
  });
  ASSERT_OK_AND_ASSIGN(const auto file, store_.Open(server.Url("/f")));
  EXPECT_EQ(*file->Read(kBlockBytes, 3), file_.substr(kBlockBytes, 3));
  EXPECT_EQ(server.calls().size(), 1);
  expired = true;
  EXPECT_EQ(*file->Read(2 * kBlockBytes, 3), file_.substr(2 * kBlockBytes, 3));
  EXPECT_EQ(server.calls().size(), 2);
  EXPECT_EQ(server.calls()[1].Header("if-match"), "");
  EXPECT_EQ(other.calls().back().Header("if-match"), "\"1\"");
}

TEST_F(RemoteStoreTest, InvalidRedirectsAreNotFollowed) {
  std::string location;
  HttpServer server([&](const HttpCall&) {
    return HttpAnswerText(302, absl::StrCat("Location: ", location, "\r\n"),
                          "");
  });
  location = "/loop";
  EXPECT_THAT(store_.Open(server.Url("/loop")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("more than 5 times")));
  for (const char* const elsewhere :
       {"file:///etc/passwd", "https://127.0.0.1/f?sig=secret", "ftp://h/f"}) {
    location = elsewhere;
    EXPECT_THAT(
        store_.Open(server.Url("/f")),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 AllOf(HasSubstr("redirects to"), Not(HasSubstr("secret")))))
        << elsewhere;
  }
}

TEST_F(RemoteStoreTest, AnswersThatAreNotFilesAreRejected) {
  HttpServer server([&](const HttpCall& call) {
    if (call.target == "/page") {
      return HttpAnswerText(200, "Content-Type: text/html\r\n",
                            "\n<!DOCTYPE html><html>log in</html>");
    }
    if (call.target == "/range") {
      return HttpAnswerText(206, "Content-Range: bytes 5-7/100\r\n", "abc");
    }
    return HttpAnswerText(200, "", "");
  });
  EXPECT_THAT(store_.Open(server.Url("/page")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("is a web page (a login")));
  EXPECT_THAT(
      store_.Open(server.Url("/range")),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Content-Range")));
  EXPECT_THAT(
      store_.Open(server.Url("/empty")),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("an empty file")));
}

TEST_F(RemoteStoreTest, ThreadsShareOneRequest) {
  HttpServer server(
      [&](const HttpCall& call) { return RangeAnswer(call, file_); });
  ASSERT_OK_AND_ASSIGN(const auto file, store_.Open(server.Url("/f")));
  {
    std::vector<Thread> threads;
    for (int i = 0; i < 16; ++i) {
      threads.emplace_back("read", [&, i] {
        EXPECT_EQ(*file->Read(kBlockBytes + i, kBlockBytes),
                  file_.substr(kBlockBytes + i, kBlockBytes));
      });
    }
  }
  EXPECT_EQ(server.calls().size(), 3);
}

// The first answer for block 1 stalls, and the connection stays open.
TEST_F(RemoteStoreTest, AStalledAnswerIsRetried) {
  std::atomic<int> asked = 0;
  HttpServer server([&](const HttpCall& call) {
    const std::string whole = RangeAnswer(call, file_);
    if (asked.fetch_add(1) > 0) return whole;
    return whole.substr(0, whole.find("\r\n\r\n") + 4 + 1000);
  });
  RemoteTimes times = kPatient;
  times.http.stall = absl::Milliseconds(50);
  RemoteStore store(times);
  const FileVersion version = {.etag = "\"1\"", .size = std::ssize(file_)};
  EXPECT_EQ(*KnownRemoteFile(store, *ParseUrl(server.Url("/f")), version)
                 ->Read(kBlockBytes, kBlockBytes),
            file_.substr(kBlockBytes, kBlockBytes));
  ASSERT_EQ(server.calls().size(), 2);
  EXPECT_EQ(server.calls()[1].Header("if-match"), "\"1\"");
}

TEST_F(RemoteStoreTest, BlocksOnDiskOutliveTheProcess) {
  const gandem::testing::TempDir dir;
  std::string etag = "ETag: \"1\"\r\n";
  HttpServer server(
      [&](const HttpCall& call) { return RangeAnswer(call, file_, etag); });
  const auto read = [&](const std::string& path) {
    RemoteStore store(kPatient);
    store.SetCaches({.disk_folder = dir / "cache", .disk_bytes = 1 << 30});
    const auto file = *store.Open(server.Url(path));
    EXPECT_EQ(*file->Read(0, file->size()), file_);
  };
  const int64_t hits = ProcessIoCounters().cache_hits;
  read("/f?sig=1");
  EXPECT_EQ(server.calls().size(), 4);
  EXPECT_EQ(ProcessIoCounters().cache_hits, hits);
  read("/f?sig=2");  // another signature
  EXPECT_EQ(server.calls().size(), 5);
  EXPECT_EQ(ProcessIoCounters().cache_hits, hits + 3);
  etag = "ETag: \"2\"\r\n";
  read("/f?sig=2");
  EXPECT_EQ(server.calls().size(), 9);
  etag = "";  // versions cannot be distinguished
  read("/f?sig=2");
  read("/f?sig=2");
  EXPECT_EQ(server.calls().size(), 17);
}

TEST_F(RemoteStoreTest, HttpUrlsCannotBeListed) {
  EXPECT_THAT(
      store_.List(*ParseUrl("http://h/photos/"), 0),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has no lists")));
}

}  // namespace
}  // namespace gandem
