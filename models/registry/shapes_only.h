// SPDX-License-Identifier: Apache-2.0
//
// Networks without values, for code that only counts parameters and operations.
// Tensors that are created while a ShapesOnly lives are on LibTorch's meta
// device: they have shapes and types but no memory, and a pass over them
// computes shapes only.
//
//   const auto generator = [&] {
//     const ShapesOnly shapes;
//     return MakeGenerator(config, data);
//   }();
//
// For networks of gandem's own families. Networks of users may read values in
// their constructors, which tensors without memory refuse.
//
// Owner: a scope. Thread safety: changes the calling thread only.
#pragma once

#include <c10/core/impl/LocalDispatchKeySet.h>

namespace gandem {

class ShapesOnly {
 public:
  ShapesOnly();

 private:
  const c10::impl::IncludeDispatchKeyGuard include_;
};

}  // namespace gandem
