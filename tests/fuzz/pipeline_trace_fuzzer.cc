// SPDX-License-Identifier: Apache-2.0
//
// The reader of pipeline traces on any text.
#include <cstddef>
#include <cstdint>

#include "common/check.h"
#include "pipeline/control/link_of_fetches.h"
#include "pipeline/control/pipeline_trace.h"
#include "tests/fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gandem;
  const auto trace = ParsePipelineTrace(TextOf(data, size));
  if (!trace.ok()) return 0;
  // What was read can be written, and is read again in the same way.
  const std::string text = PipelineTraceText(*trace);
  const auto again = ParsePipelineTrace(text);
  GANDEM_CHECK(again.ok());
  GANDEM_CHECK(*again == *trace);
  const auto link = LinkOf(*trace);
  GANDEM_CHECK(!link.empty() && link.front().at == 0);
  return 0;
}
