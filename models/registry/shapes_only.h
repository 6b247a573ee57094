// SPDX-License-Identifier: Apache-2.0
//
// Makes networks without values, to count parameters and operations. Tensors
// created in the scope of a ShapesOnly are on LibTorch's meta device: they have
// shapes and types but no memory, and passes compute only shapes.
//
//   const auto generator = [&] {
//     const ShapesOnly shapes;
//     return MakeGenerator(config, data);
//   }();
//
// For gandem's own families only. User networks may read values in their
// constructors, which fails without memory.
//
// Owner: a scope. Thread safety: affects only the calling thread.
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
