// SPDX-License-Identifier: Apache-2.0
//
// The core's families of networks (docs/extending.md).
//
// Owner, thread safety, errors: see family.h.
#pragma once

#include "models/families/family.h"

namespace gandem {

// One line a family, in the order of NetworkConfig's fields: Mlp stands for the
// function MlpFamily of mlp.cc.
#define GANDEM_NETWORK_FAMILIES(FAMILY) \
  FAMILY(Mlp)                           \
  FAMILY(Dcgan)                         \
  FAMILY(Sndcgan)                       \
  FAMILY(Sngan)                         \
  FAMILY(KerasDcgan)                    \
  FAMILY(WganGp)                        \
  FAMILY(Pix2pix)                       \
  FAMILY(Sagan)                         \
  FAMILY(Biggan)                        \
  FAMILY(Dcgan5)                        \
  FAMILY(Python)

#define GANDEM_DECLARE_FAMILY(name) NetworkFamily name##Family();
GANDEM_NETWORK_FAMILIES(GANDEM_DECLARE_FAMILY)
#undef GANDEM_DECLARE_FAMILY

}  // namespace gandem
