// SPDX-License-Identifier: Apache-2.0
#include "pipeline/control/pipeline_trace.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files/file.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr char kFirstLine[] = "gandem_pipeline_trace 1";
constexpr double kMaxSeconds = kMaxTraceSeconds;  // of anything in it
constexpr double kMinSeconds = 1e-6;
constexpr double kMaxBytes = 1e12;  // of anything
// The simulator's time is about that of its samples.
constexpr double kMaxSamples = 2e7;

using Words = std::vector<absl::string_view>;

// A number in [low, high]; finite, since these are.
std::optional<double> NumberIn(absl::string_view text, double low,
                               double high) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value)) return std::nullopt;
  if (!(value >= low && value <= high)) return std::nullopt;
  return value;
}

struct NamedNumber {
  absl::string_view name;
  double low;
  double high;
  bool whole;
  bool required;
  double value = 0;
};

// "name=value" for each, in any order.
absl::Status ParseNamed(const Words& words, std::vector<NamedNumber>& numbers) {
  std::vector<bool> there(numbers.size());
  for (size_t i = 1; i < words.size(); ++i) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(words[i], absl::MaxSplits('=', 1));
    const auto number =
        std::ranges::find(numbers, parts.first, &NamedNumber::name);
    if (number == numbers.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", words[i], "' is none of ", words[0], "'s numbers"));
    }
    const auto value = NumberIn(parts.second, number->low, number->high);
    if (!value.has_value() || (number->whole && std::floor(*value) != *value)) {
      return absl::InvalidArgumentError(absl::StrCat(
          number->name, ": expected a ", number->whole ? "whole " : "",
          "number in [", number->low, ", ", number->high, "]"));
    }
    number->value = *value;
    there[static_cast<size_t>(number - numbers.begin())] = true;
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i].required && !there[i]) {
      return absl::InvalidArgumentError(
          absl::StrCat(words[0], ": ", numbers[i].name, "= is missing"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<PipelineJob> ParseJob(const Words& words) {
  std::vector<NamedNumber> numbers = {
      {"batch", 1, 65536, true, true},
      {"sample_bytes", 1, 1e9, true, true},
      {"stored_bytes", 1, 1e9, true, true},
      {"work_seconds", 0, 60, false, true},
      {"cores", 1, 4096, true, true},
      {"trainer_cores", 0, 4096, true, true},
  };
  GANDEM_RETURN_IF_ERROR(ParseNamed(words, numbers));
  return PipelineJob{.batch = static_cast<int64_t>(numbers[0].value),
                     .sample_bytes = static_cast<int64_t>(numbers[1].value),
                     .stored_bytes = static_cast<int64_t>(numbers[2].value),
                     .work_seconds = numbers[3].value,
                     .cores = static_cast<int64_t>(numbers[4].value),
                     .trainer_cores = static_cast<int64_t>(numbers[5].value)};
}

absl::StatusOr<LinkPart> ParseLink(const Words& words) {
  std::vector<NamedNumber> numbers = {
      {"at", 0, kMaxSeconds, false, true},
      {"latency", 0, 1000, false, true},
      {"spread", 0, 1000, false, false},
      {"bytes_per_second", 0, kMaxBytes, false, true},
      {"connection_bytes_per_second", 0, kMaxBytes, false, false},
      {"slow_share", 0, 1, false, false},
      {"slow_seconds", 0, 1000, false, false},
  };
  GANDEM_RETURN_IF_ERROR(ParseNamed(words, numbers));
  return LinkPart{.at = numbers[0].value,
                  .latency = numbers[1].value,
                  .spread = numbers[2].value,
                  .bytes_per_second = numbers[3].value,
                  .connection_bytes_per_second = numbers[4].value,
                  .slow_share = numbers[5].value,
                  .slow_seconds = numbers[6].value};
}

absl::Status OutOfOrder() {
  return absl::InvalidArgumentError("its time is before that of the last one");
}

// Reads lines one after the other.
class TraceParser {
 public:
  absl::Status Add(const Words& words) {
    if (ended_) return absl::InvalidArgumentError("there is more after `end`");
    if (words[0] == "job") return AddJob(words);
    if (words[0] == "link") return AddLink(words);
    if (words[0] == "demand" && words.size() == 3) return AddDemand(words);
    if (words[0] == "fetch" && words.size() == 4) return AddFetch(words);
    if (words[0] == "end" && words.size() == 2) return AddEnd(words);
    return absl::InvalidArgumentError(
        "expected one of job ..., link ..., demand START SECONDS, fetch START "
        "SECONDS BYTES, end SECONDS");
  }

  absl::StatusOr<PipelineTrace> Finish() &&;

 private:
  absl::Status AddJob(const Words& words) {
    GANDEM_ASSIGN_OR_RETURN(trace_.job, ParseJob(words));
    return absl::OkStatus();
  }
  absl::Status AddLink(const Words& words) {
    GANDEM_ASSIGN_OR_RETURN(const LinkPart part, ParseLink(words));
    if (!trace_.link.empty() && part.at < trace_.link.back().at) {
      return OutOfOrder();
    }
    trace_.link.push_back(part);
    return absl::OkStatus();
  }
  absl::Status AddDemand(const Words& words) {
    const auto at = NumberIn(words[1], 0, kMaxSeconds);
    const auto seconds = NumberIn(words[2], 0, kMaxSeconds);
    if (!at.has_value() || !seconds.has_value() ||
        (*seconds > 0 && *seconds < kLeastBatchSeconds)) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected demand START SECONDS, SECONDS 0 or from ",
                       kLeastBatchSeconds, " on"));
    }
    if (!trace_.demand.empty() && *at < trace_.demand.back().at) {
      return OutOfOrder();
    }
    trace_.demand.push_back({.at = *at, .batch_seconds = *seconds});
    return absl::OkStatus();
  }
  absl::Status AddFetch(const Words& words) {
    const auto at = NumberIn(words[1], 0, kMaxSeconds);
    const auto seconds = NumberIn(words[2], 0, kMaxSeconds);
    const auto bytes = NumberIn(words[3], 0, kMaxBytes);
    if (!at.has_value() || !seconds.has_value() || !bytes.has_value()) {
      return absl::InvalidArgumentError(
          "expected fetch START SECONDS BYTES, none negative");
    }
    trace_.fetches.push_back({.at = *at,
                              .seconds = *seconds,
                              .bytes = static_cast<int64_t>(*bytes)});
    return absl::OkStatus();
  }
  absl::Status AddEnd(const Words& words) {
    const auto seconds = NumberIn(words[1], kMinSeconds, kMaxSeconds);
    if (!seconds.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected end SECONDS, up to ", kMaxSeconds));
    }
    trace_.seconds = *seconds;
    ended_ = true;
    return absl::OkStatus();
  }

  PipelineTrace trace_;
  bool ended_ = false;
};

// As few as give the same number again.
std::string Digits(double value) {
  std::array<char, 32> text;
  return {text.data(),
          std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

double SamplesOf(const PipelineTrace& trace) {
  double batches = 0;
  for (size_t i = 0; i < trace.demand.size(); ++i) {
    const DemandPart& part = trace.demand[i];
    const double end =
        i + 1 < trace.demand.size() ? trace.demand[i + 1].at : trace.seconds;
    if (part.batch_seconds == 0) continue;
    batches += std::max(0.0, std::min(end, trace.seconds) - part.at) /
                   part.batch_seconds +
               1;
  }
  return batches * static_cast<double>(trace.job.batch);
}

absl::StatusOr<PipelineTrace> TraceParser::Finish() && {
  if (trace_.job.batch == 0) {
    return absl::InvalidArgumentError("there is no line `job`");
  }
  if (!ended_) {  // the recording was cut off
    for (const FetchRecord& fetch : trace_.fetches) {
      trace_.seconds = std::max(trace_.seconds, fetch.at + fetch.seconds);
    }
    if (trace_.seconds > 0) {
      trace_.seconds = std::clamp(trace_.seconds, kMinSeconds, kMaxSeconds);
    }
  }
  if (trace_.seconds == 0) {
    return absl::InvalidArgumentError("there is no line `end`");
  }
  if (trace_.link.empty() == trace_.fetches.empty()) {
    return absl::InvalidArgumentError(
        "expected either lines `link` or lines `fetch`");
  }
  if (!trace_.link.empty() && trace_.link.front().at != 0) {
    return absl::InvalidArgumentError("the first `link` is not at=0");
  }
  if (trace_.demand.empty()) {
    return absl::InvalidArgumentError(
        "there is no line `demand`: the trainer took less than two batches");
  }
  if (SamplesOf(trace_) > kMaxSamples) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the trainer takes more than ", kMaxSamples,
        " samples; cut the trace with a line `end` that comes earlier"));
  }
  return std::move(trace_);
}

}  // namespace

absl::StatusOr<PipelineTrace> ParsePipelineTrace(absl::string_view text) {
  TraceParser parser;
  int64_t number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (number == 1) {
      if (line == kFirstLine) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("the first line is not '", kFirstLine,
                       "': no pipeline trace, or of another version"));
    }
    if (line.empty() || line[0] == '#') continue;
    const Words words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    const absl::Status status = parser.Add(words);
    if (!status.ok()) return Annotate(status, absl::StrCat("line ", number));
  }
  return std::move(parser).Finish();
}

absl::StatusOr<PipelineTrace> ReadPipelineTrace(const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMaxTraceText));
  absl::StatusOr<PipelineTrace> trace = ParsePipelineTrace(text);
  if (!trace.ok()) return Annotate(trace.status(), path);
  return trace;
}

std::string TraceHead(const PipelineJob& job) {
  return absl::StrCat(
      kFirstLine, "\njob batch=", job.batch, " sample_bytes=", job.sample_bytes,
      " stored_bytes=", job.stored_bytes,
      " work_seconds=", Digits(job.work_seconds), " cores=", job.cores,
      " trainer_cores=", job.trainer_cores, "\n");
}

std::string TraceLine(const LinkPart& part) {
  std::string line = absl::StrCat(
      "link at=", Digits(part.at), " latency=", Digits(part.latency),
      " spread=", Digits(part.spread),
      " bytes_per_second=", Digits(part.bytes_per_second));
  if (part.connection_bytes_per_second > 0) {
    absl::StrAppend(&line, " connection_bytes_per_second=",
                    Digits(part.connection_bytes_per_second));
  }
  if (part.slow_share > 0 || part.slow_seconds > 0) {
    absl::StrAppend(&line, " slow_share=", Digits(part.slow_share),
                    " slow_seconds=", Digits(part.slow_seconds));
  }
  return line + "\n";
}

std::string TraceLine(const DemandPart& part) {
  return absl::StrCat("demand ", Digits(part.at), " ",
                      Digits(part.batch_seconds), "\n");
}

std::string TraceLine(const FetchRecord& fetch) {
  return absl::StrCat("fetch ", Digits(fetch.at), " ", Digits(fetch.seconds),
                      " ", fetch.bytes, "\n");
}

std::string TraceEnd(double seconds) {
  return absl::StrCat(
      "end ", Digits(std::clamp(seconds, kMinSeconds, kMaxSeconds)), "\n");
}

std::string PipelineTraceText(const PipelineTrace& trace) {
  std::string text = TraceHead(trace.job);
  for (const LinkPart& part : trace.link) text += TraceLine(part);
  for (const DemandPart& part : trace.demand) text += TraceLine(part);
  for (const FetchRecord& fetch : trace.fetches) text += TraceLine(fetch);
  return text + TraceEnd(trace.seconds);
}

}  // namespace gandem
