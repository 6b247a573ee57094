// SPDX-License-Identifier: Apache-2.0
//
// A bidirectional stream of frames over gRPC's callback interface, for both
// ends: `Reactor` is grpc::ServerBidiReactor or ClientBidiReactor of byte
// buffers. Reads one message ahead, so that receiving overlaps with handling. A
// frame that cannot be handled yet waits, and gRPC's flow control stops the
// sender.
//
// `Codec` is a struct:
//   using Frame = ...;
//   static grpc::ByteBuffer Encode(const Frame&);
//   static absl::StatusOr<Frame> Decode(const grpc::ByteBuffer&,
//                                       int64_t max_bytes);
//
// Owner: itself, from Open() until OnDone; others share it to call Poke.
// Thread safety: Poke and Stop from any thread. The virtual functions are
// called one at a time, without a lock.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/process/strand.h"

namespace gandem {

template <typename Reactor, typename Codec>
class FrameStream : public Reactor {
 public:
  using Frame = typename Codec::Frame;

  explicit FrameStream(int64_t max_message_bytes)
      : max_message_bytes_(max_message_bytes), strand_([this] { Step(); }) {}
  FrameStream(const FrameStream&) = delete;
  FrameStream& operator=(const FrameStream&) = delete;

  // Calls Receive and NextFrame again, because their inputs have changed. Has
  // no effect before Open, which calls them anyway.
  void Poke() {
    if (open_.load()) strand_.Poke();
  }

  // Ends the stream with `reason`; only the first reason counts.
  void Stop(absl::Status reason) {
    {
      absl::MutexLock lock(&mu_);
      if (!wanted_end_.has_value()) wanted_end_ = std::move(reason);
    }
    Poke();
  }

 protected:
  // Makes the stream own itself. `self` must outlive Poke, which may end the
  // call while another thread runs OnDone.
  void Open(const std::shared_ptr<void>& self) {
    self_ = self;
    open_.store(true);
    Poke();
  }
  // Must be the last call in OnDone.
  void Release() { auto self = std::move(self_); }

  // Handles a frame. False: call again after a poke. Errors end the stream.
  virtual absl::StatusOr<bool> Receive(const Frame& frame) = 0;
  // Returns the next frame, if any, while the previous one is being sent.
  virtual std::optional<Frame> NextFrame() = 0;
  virtual void Sent(const Frame&) {}  // after the frame was sent
  // Called at the end, when nothing is started any more. OK: the peer ended it.
  virtual void End(const absl::Status& reason) = 0;
  // Returns false for servers, which must not end a call while writing.
  virtual bool MayEndWhileWriting() const = 0;

 private:
  enum class Event { kNone, kDone, kFailed };
  struct Message {
    grpc::ByteBuffer bytes;
    Frame frame;  // the frame in `bytes`
  };

  void OnReadDone(bool ok) override { Signal(&FrameStream::read_event_, ok); }
  void OnWriteDone(bool ok) override { Signal(&FrameStream::write_event_, ok); }

  void Signal(Event FrameStream::*event, bool ok) ABSL_LOCKS_EXCLUDED(mu_) {
    {
      absl::MutexLock lock(&mu_);
      this->*event = ok ? Event::kDone : Event::kFailed;
    }
    Poke();
  }

  void Step() {
    TakeEvents();
    if (std::exchange(sent_, false)) Sent(outgoing_->frame);
    StartReading();
    while (!end_.has_value() && !arrived_.empty() && HandleFirst()) {
      StartReading();
    }
    StartWriting();
    if (end_.has_value() && !ended_ && (!writing_ || MayEndWhileWriting())) {
      ended_ = true;
      arrived_.clear();
      current_.reset();
      End(*end_);
    }
  }

  void TakeEvents() ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    if (read_event_ != Event::kNone) reading_ = false;
    if (read_event_ == Event::kDone) arrived_.push_back(std::move(incoming_));
    if (write_event_ != Event::kNone) writing_ = false;
    sent_ = write_event_ == Event::kDone;
    const bool peer_ended =
        read_event_ == Event::kFailed || write_event_ == Event::kFailed;
    read_event_ = write_event_ = Event::kNone;
    if (end_.has_value()) return;
    if (wanted_end_.has_value()) {
      end_ = wanted_end_;
    } else if (peer_ended) {
      end_ = absl::OkStatus();
    }
  }

  void StartReading() {
    if (end_.has_value() || reading_ || arrived_.size() >= 2) return;
    reading_ = true;
    incoming_.Clear();
    this->StartRead(&incoming_);
  }

  // Prepares one frame ahead, so that its checksum overlaps with sending.
  void StartWriting() {
    if (end_.has_value()) return;
    Prepare();
    if (writing_ || !prepared_.has_value()) return;
    writing_ = true;
    outgoing_ = std::exchange(prepared_, std::nullopt);
    this->StartWrite(&outgoing_->bytes);
    Prepare();
  }

  void Prepare() {
    if (prepared_.has_value()) return;
    std::optional<Frame> frame = NextFrame();
    if (!frame.has_value()) return;
    prepared_ =
        Message{.bytes = Codec::Encode(*frame), .frame = *std::move(frame)};
  }

  // Returns false if the first frame has to wait.
  bool HandleFirst() {
    if (!current_.has_value()) {
      absl::StatusOr<Frame> frame =
          Codec::Decode(arrived_.front(), max_message_bytes_);
      arrived_.front().Clear();
      if (!frame.ok()) {
        end_ = frame.status();
        return false;
      }
      current_ = *std::move(frame);
    }
    const absl::StatusOr<bool> handled = Receive(*current_);
    if (!handled.ok()) end_ = handled.status();
    if (!handled.ok() || !*handled) return false;
    current_.reset();
    arrived_.pop_front();
    return true;
  }

  const int64_t max_message_bytes_;
  std::shared_ptr<void> self_;
  std::atomic<bool> open_ = false;

  // Used in the strand only.
  bool reading_ = false;
  bool writing_ = false;
  std::optional<absl::Status> end_;
  bool ended_ = false;
  grpc::ByteBuffer incoming_;
  bool sent_ = false;
  std::optional<Message> outgoing_;
  std::optional<Message> prepared_;
  std::deque<grpc::ByteBuffer> arrived_;
  std::optional<Frame> current_;  // the first of arrived_, decoded

  absl::Mutex mu_;
  Event read_event_ ABSL_GUARDED_BY(mu_) = Event::kNone;
  Event write_event_ ABSL_GUARDED_BY(mu_) = Event::kNone;
  std::optional<absl::Status> wanted_end_ ABSL_GUARDED_BY(mu_);

  Strand strand_;
};

}  // namespace gandem
