# SPDX-License-Identifier: Apache-2.0
# Build options, and the flags of all targets.

option(GANDEM_BUILD_TESTS "Build the tests" ON)
option(GANDEM_BUILD_BENCHMARKS "Build the benchmarks" ON)
option(GANDEM_TORCH "Build the folders that need LibTorch" ON)
option(GANDEM_EXTRAS "Build extras/, not only the core" ON)
option(GANDEM_UNITY "Compile several sources at a time" ON)
option(GANDEM_PYTHON_WORKER "Build gandem._worker, for networks of the user's own" OFF)
set(GANDEM_UNITY_FILES 8 CACHE STRING "How many sources, at most")
set(GANDEM_CUDA AUTO CACHE STRING
    "Link LibTorch's CUDA half: ON, OFF, or AUTO (where it and a toolkit are)")
set_property(CACHE GANDEM_CUDA PROPERTY STRINGS AUTO ON OFF)
set(GANDEM_SANITIZE "" CACHE STRING
    "Sanitizers for our own code, as in -fsanitize= (Torch-free folders only)")
option(GANDEM_FUZZ "Build the fuzz targets (clang only)" OFF)
# The tests replay each corpus and search briefly. scripts/fuzz.sh searches for
# hours.
set(GANDEM_FUZZ_SECONDS 3 CACHE STRING
    "Seconds for which ctest runs each fuzz target")
set(GANDEM_TEST_PYTHON "" CACHE FILEPATH
    "Python with the packages tensorboard and safetensors, for the tests")
set(GANDEM_LIBTORCH "" CACHE PATH
    "Folder of LibTorch (has lib/libtorch_cpu.so); scripts/bootstrap.sh sets it")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# Python loads a shared library of all worker code (GANDEM_PYTHON_WORKER). With
# position-independent code, that library needs no second build.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

find_program(GANDEM_CCACHE ccache)
if(GANDEM_CCACHE)
  # ccache needs these settings to cache precompiled headers; see "Precompiled
  # headers" in the ccache manual. base_dir lets two checkouts share objects.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${GANDEM_CCACHE})
endif()
find_program(GANDEM_LLD ld.lld)
if(GANDEM_LLD)
  add_link_options(-fuse-ld=lld)
endif()

add_library(gandem_flags INTERFACE)
target_compile_options(gandem_flags INTERFACE
  -fno-semantic-interposition
  -Wall -Wextra -Werror -Werror=unused-result
  -pthread  # everywhere: precompiled headers depend on _REENTRANT
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety -Wthread-safety-beta>)
target_include_directories(gandem_flags INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}> $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}>)
if(GANDEM_SANITIZE)
  # The flags apply to the whole build, including generated code.
  add_compile_options(-fsanitize=${GANDEM_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all -g1)
  add_link_options(-fsanitize=${GANDEM_SANITIZE})
endif()
if(GANDEM_FUZZ AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "GANDEM_FUZZ needs clang: -DCMAKE_CXX_COMPILER=clang++")
endif()
