// SPDX-License-Identifier: Apache-2.0
#include "common/config/data_shape.h"

#include "proto/config.pb.h"

namespace gandem {

DataShape DataShapeOf(const DataConfig& data) {
  // IDX images have one channel.
  return {.image = {.channels = 1,
                    .height = data.image_size(),
                    .width = data.image_size()},
          .num_classes = data.num_classes()};
}

}  // namespace gandem
