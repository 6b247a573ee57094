# SPDX-License-Identifier: Apache-2.0
# All external libraries. LibTorch has its own target here, because its
# TorchConfig.cmake requires a CUDA toolkit even for a CPU build.

find_package(Threads REQUIRED)
find_package(Protobuf REQUIRED)
find_package(absl REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)  # libjpeg-turbo
find_package(CURL 7.85 REQUIRED)
find_library(GANDEM_WEBP webp REQUIRED)
find_library(GANDEM_ISAL isal REQUIRED)
find_library(GANDEM_HWLOC hwloc REQUIRED)
# TCMalloc replaces malloc in programs with workers. The Python module keeps
# glibc's malloc, which is already in use when the module is loaded. TCMalloc is
# as fast, its peak memory is up to a fifth lower, and the peak varies little
# between runs, so that it can be predicted (docs/performance.md).
find_library(GANDEM_TCMALLOC tcmalloc_minimal REQUIRED)
if(GANDEM_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(GANDEM_BUILD_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()

# The folder of scripts/bootstrap.sh's downloads, chosen as in scripts/lib.sh:
# an empty variable counts as unset.
if(NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
  set(GANDEM_CACHE $ENV{XDG_CACHE_HOME}/gandem)
else()
  set(GANDEM_CACHE $ENV{HOME}/.cache/gandem)
endif()
if(GANDEM_TORCH)
  include(GandemLibTorch)
endif()
include(GandemNccl)
