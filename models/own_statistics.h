// SPDX-License-Identifier: Apache-2.0
//
// Networks whose batch norm is not ours (layers/batch_norm.h): those of users
// in Python (families/network_host.h). Standing statistics are gathered in it.
//
// Owner: none. Thread safety, errors: the network's.
#pragma once

namespace gandem {

class GathersStatistics {
 public:
  virtual ~GathersStatistics() = default;
  // Batch norm has seen no batch. From now on its running statistics are the
  // mean over the batches of passes in kTrain, each of the same weight.
  // False: no layer has running statistics, and nothing has changed.
  virtual bool GatherStatisticsAfresh() = 0;
};

}  // namespace gandem
