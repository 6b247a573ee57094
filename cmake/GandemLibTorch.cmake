# SPDX-License-Identifier: Apache-2.0
# gandem::torch: LibTorch from the PyPI wheel (or any LibTorch 2.11).
#
# Only ATen, c10, torch and caffe2 are shown to our include path, through a
# folder of links: the wheel also carries google/protobuf and fmt headers that
# must not shadow Debian's.

if(NOT GANDEM_LIBTORCH)
  set(GANDEM_LIBTORCH $ENV{HOME}/.cache/gandem/libtorch-2.11.0/torch)
endif()
if(NOT EXISTS ${GANDEM_LIBTORCH}/lib/libtorch_cpu.so)
  message(FATAL_ERROR "No LibTorch in '${GANDEM_LIBTORCH}'. Run "
    "scripts/bootstrap.sh, or pass -DGANDEM_LIBTORCH=<folder with lib/ and include/>.")
endif()

set(_links ${CMAKE_BINARY_DIR}/torch_include)
file(MAKE_DIRECTORY ${_links})
foreach(_part ATen c10 torch caffe2)
  file(CREATE_LINK ${GANDEM_LIBTORCH}/include/${_part} ${_links}/${_part} SYMBOLIC)
endforeach()

add_library(gandem_torch INTERFACE)
add_library(gandem::torch ALIAS gandem_torch)
target_include_directories(gandem_torch SYSTEM INTERFACE
  ${_links} ${_links}/torch/csrc/api/include)
target_link_libraries(gandem_torch INTERFACE
  ${GANDEM_LIBTORCH}/lib/libtorch_cpu.so ${GANDEM_LIBTORCH}/lib/libc10.so)
target_link_options(gandem_torch INTERFACE
  -Wl,-rpath,${GANDEM_LIBTORCH}/lib -Wl,--allow-shlib-undefined)

# One precompiled torch/torch.h for all Torch folders: 15 s a file without it.
file(WRITE ${CMAKE_BINARY_DIR}/torch_pch.cc "// Holds the precompiled torch/torch.h.\n")
add_library(gandem_torch_pch OBJECT ${CMAKE_BINARY_DIR}/torch_pch.cc)
target_link_libraries(gandem_torch_pch PRIVATE gandem_torch gandem_flags)
target_compile_options(gandem_torch_pch PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
target_precompile_headers(gandem_torch_pch PRIVATE <torch/torch.h>)
