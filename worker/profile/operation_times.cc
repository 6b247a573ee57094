// SPDX-License-Identifier: Apache-2.0
#include "worker/profile/operation_times.h"

#include "absl/strings/string_view.h"
#include "common/config/fused_feedback.h"

namespace gandem {
namespace {

// Returns UNKNOWN for a span that is not an operation, or depends on the role.
OperationTime::Operation PlainOperation(absl::string_view name) {
  constexpr struct {
    absl::string_view name;
    OperationTime::Operation operation;
  } kNames[] = {{"make images", OperationTime::MAKE_IMAGES},
                {"forward", OperationTime::FORWARD},
                {"forward real", OperationTime::REAL},
                {"forward generated", OperationTime::GENERATED},
                {"update", OperationTime::UPDATE},
                {"average", OperationTime::UPDATE},
                {"copy critic", OperationTime::CAPTURE_CRITIC},
                {"load critic", OperationTime::LOAD_CRITIC}};
  for (const auto& entry : kNames) {
    if (entry.name == name) return entry.operation;
  }
  return OperationTime::UNKNOWN;
}

// Returns the operation of the span "judge".
OperationTime::Operation JudgeOperation(ScheduleConfig::FeedbackMode feedback) {
  if (feedback == ScheduleConfig::FUSED) {
    return OperationTime::GENERATED;
  }
  return AnswersImages(feedback) ? OperationTime::ANSWER : OperationTime::JUDGE;
}

bool IsDiscriminatorPass(OperationTime::Operation operation) {
  return operation == OperationTime::REAL ||
         operation == OperationTime::GENERATED;
}

}  // namespace

OperationSeconds SumOfSpans(std::span<const TraceEvent> events,
                            ScheduleConfig::FeedbackMode feedback) {
  OperationSeconds sums;
  // Forward pass without its backward pass yet.
  OperationTime::Operation pass = OperationTime::UNKNOWN;
  for (const TraceEvent& event : events) {
    if (event.kind != TraceEvent::Kind::kSpan) continue;
    const absl::string_view name = event.name;
    OperationTime::Operation operation = PlainOperation(name);
    if (name == "judge") operation = JudgeOperation(feedback);
    if (name == "backward") {
      // Each pass has one backward pass. With alternating roles, the next one
      // may belong to the generator.
      operation = IsDiscriminatorPass(pass) ? pass : OperationTime::BACKWARD;
      pass = OperationTime::UNKNOWN;
    } else if (operation != OperationTime::UNKNOWN && name != "judge") {
      pass = operation;
    }
    if (operation == OperationTime::UNKNOWN) continue;
    sums[operation] +=
        static_cast<double>(event.end_ns - event.begin_ns) * 1e-9;
  }
  return sums;
}

void ShortenTo(double seconds, std::vector<OperationTime>& times) {
  double sum = 0;
  for (const OperationTime& time : times) sum += time.median_seconds();
  if (sum <= seconds) return;
  const double factor = seconds / sum;
  for (OperationTime& time : times) {
    time.set_median_seconds(factor * time.median_seconds());
    time.set_low_seconds(factor * time.low_seconds());
    time.set_high_seconds(factor * time.high_seconds());
  }
}

}  // namespace gandem
