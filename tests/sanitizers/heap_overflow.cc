// SPDX-License-Identifier: Apache-2.0
//
// A planted bug: reads one element past the end of an allocation.
#include <vector>

int main(int argc, char**) {
  const std::vector<int> values(4, 1);
  return values.data()[argc + 3];
}
