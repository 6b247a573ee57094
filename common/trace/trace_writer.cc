// SPDX-License-Identifier: Apache-2.0
#include "common/trace/trace_writer.h"

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "common/check.h"
#include "common/files/file.h"
#include "common/files/rotation.h"
#include "common/monotonic_time.h"
#include "common/process/log.h"
#include "common/status.h"
#include "common/trace/trace.h"

namespace gandem {
namespace {

// For the last event and the closing bracket.
constexpr int64_t kReservedBytes = 1024;

std::string ThreadName(const TraceEvent& event) {
  const auto track = static_cast<TraceTrack>(event.thread);
  if (track == TraceTrack::kGeneratorRounds) return "generator rounds";
  if (track == TraceTrack::kDiscriminatorRounds) return "discriminator rounds";
  if (event.thread == getpid()) return "compute";
  return event.thread_name.data();
}

// Rounding both ends down keeps nested spans nested.
int64_t Microseconds(int64_t nanoseconds) { return nanoseconds / 1000; }

}  // namespace

absl::StatusOr<std::unique_ptr<TraceWriter>> TraceWriter::Start(
    Options options) {
  GANDEM_CHECK(!IsTracing());
  GANDEM_RETURN_IF_ERROR(CreateDirectories(options.folder));
  std::string path = absl::StrCat(options.folder, "/", options.name, ".json");
  // A restarted worker keeps the previous timelines.
  GANDEM_RETURN_IF_ERROR(RotateFile(path, kKeptTraces - 1));
  GANDEM_ASSIGN_OR_RETURN(FileWriter file, FileWriter::Create(path));
  internal::TheTraceBuffer().Open(options.max_buffered);
  internal::is_tracing = true;
  return std::unique_ptr<TraceWriter>(
      new TraceWriter(std::move(options), std::move(path), std::move(file)));
}

TraceWriter::TraceWriter(Options options, std::string path, FileWriter file)
    : options_(std::move(options)),
      path_(std::move(path)),
      file_(std::move(file)),
      thread_("trace", [this] { Run(); }) {}

TraceWriter::~TraceWriter() {
  internal::is_tracing = false;
  internal::TheTraceBuffer().Close();
}

// A failure ends the recording, not the training.
void TraceWriter::Run() {
  AppendName("process_name", 0, options_.name);
  TraceBuffer::Batch batch;
  absl::Status status = Flush();
  while (status.ok() && !batch.is_last) {
    batch.events.clear();
    batch = internal::TheTraceBuffer().Take(std::move(batch.events),
                                            MonotonicNow() + options_.interval);
    status = Write(batch);
  }
  if (status.ok()) {
    text_ = "]\n";
    status = Flush();
  }
  if (status.ok()) return;
  internal::is_tracing = false;
  internal::TheTraceBuffer().Close();
  GANDEM_LOG_WARN("the trace ends here: {}", status);
}

absl::Status TraceWriter::Write(const TraceBuffer::Batch& batch) {
  for (const TraceEvent& event : batch.events) {
    AppendEvent(event);
    if (!HasRoom()) {
      text_ += "]\n";
      GANDEM_RETURN_IF_ERROR(Flush());
      return absl::ResourceExhaustedError(absl::StrCat(
          "'", path_, "' has its ", options_.max_bytes >> 20, " MiB"));
    }
  }
  if (batch.dropped > 0) {
    AppendEvent({.kind = TraceEvent::Kind::kInstant,
                 .name = "events are missing",
                 .begin_ns = absl::GetCurrentTimeNanos(),
                 .thread = getpid(),
                 .argument = "dropped",
                 .value = batch.dropped});
  }
  return Flush();
}

// Leaves room for the end of the file, which keeps the JSON valid.
bool TraceWriter::HasRoom() const {
  return written_ + static_cast<int64_t>(text_.size()) + kReservedBytes <=
         options_.max_bytes;
}

// Formatted by hand for speed: names are literals that need no escaping.
void TraceWriter::AppendEvent(const TraceEvent& event) {
  if (named_threads_.insert(event.thread).second) {
    AppendName("thread_name", event.thread, ThreadName(event));
  }
  const int64_t begin = Microseconds(event.begin_ns);
  absl::StrAppendFormat(&text_,
                        ",{\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%d",
                        event.name, options_.process, event.thread, begin);
  switch (event.kind) {
    case TraceEvent::Kind::kSpan:
      absl::StrAppendFormat(&text_, ",\"ph\":\"X\",\"dur\":%d",
                            Microseconds(event.end_ns) - begin);
      break;
    case TraceEvent::Kind::kInstant:
      absl::StrAppend(&text_, ",\"ph\":\"i\",\"s\":\"p\"");
      break;
    case TraceEvent::Kind::kCounter:
      absl::StrAppendFormat(&text_, ",\"ph\":\"C\",\"args\":{\"%s\":%d}",
                            event.name, event.value);
      break;
  }
  if (event.argument != nullptr) {
    absl::StrAppendFormat(&text_, ",\"args\":{\"%s\":%d}", event.argument,
                          event.value);
  }
  absl::StrAppend(&text_, "}\n");
}

void TraceWriter::AppendName(absl::string_view what, int64_t thread,
                             absl::string_view name) {
  const bool is_first = written_ == 0 && text_.empty();
  absl::StrAppend(
      &text_, is_first ? "[" : ",",
      nlohmann::ordered_json({{"name", std::string(what)},
                              {"ph", "M"},
                              {"pid", options_.process},
                              {"tid", thread},
                              {"args", {{"name", std::string(name)}}}})
          .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
      "\n");
}

absl::Status TraceWriter::Flush() {
  GANDEM_RETURN_IF_ERROR(file_.Append(text_));
  written_ += static_cast<int64_t>(text_.size());
  text_.clear();
  return absl::OkStatus();
}

}  // namespace gandem
