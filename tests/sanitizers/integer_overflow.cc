// SPDX-License-Identifier: Apache-2.0
//
// A planted bug: overflows a signed integer.
#include <limits>

int main(int argc, char**) {
  return std::numeric_limits<int>::max() + argc > 0 ? 0 : 1;
}
