// SPDX-License-Identifier: Apache-2.0
//
// write_events FOLDER FIRST_STEP LAST_STEP: writes scalars and one image,
// prints "written" and waits for the end of its input (tensorboard_test.py).
#include <cstdlib>
#include <iostream>
#include <string>

#include "absl/time/clock.h"
#include "common/check.h"
#include "common/files/event_writer.h"
#include "common/files/png.h"

int main(int, char** argv) {
  const int64_t first = std::atoll(argv[2]);
  const int64_t last = std::atoll(argv[3]);
  const auto writer = *gandem::EventWriter::Open(argv[1], first, absl::Now());
  for (int64_t step = first; step <= last; ++step) {
    const gandem::EventWriter::Scalar scalars[] = {
        {"loss/generator", static_cast<double>(step) / 2},
        {"first_step", static_cast<double>(first)}};
    GANDEM_CHECK_OK(writer->AddScalars(step, absl::Now(), scalars));
  }
  const gandem::PixelImage image = {
      .channels = 1, .height = 2, .width = 3, .pixels = {0, 1, 2, 3, 4, 5}};
  GANDEM_CHECK_OK(writer->AddImage(last, absl::Now(), "samples",
                                   *gandem::EncodePng(image)));
  std::cout << "written" << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {
  }
}
