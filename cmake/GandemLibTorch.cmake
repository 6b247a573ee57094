# SPDX-License-Identifier: Apache-2.0
# gandem::torch: LibTorch from the PyPI wheel (or any LibTorch 2.11).
#
# Only ATen, c10, torch and caffe2 are on the include path, through a folder of
# links: the wheel also has google/protobuf and fmt headers, which must not
# shadow Debian's.

if(NOT GANDEM_LIBTORCH)
  # Link created by scripts/bootstrap.sh.
  set(GANDEM_LIBTORCH ${GANDEM_CACHE}/libtorch)
endif()
if(NOT EXISTS ${GANDEM_LIBTORCH}/lib/libtorch_cpu.so)
  message(FATAL_ERROR "No LibTorch in '${GANDEM_LIBTORCH}'. Run "
    "scripts/bootstrap.sh, or pass -DGANDEM_LIBTORCH=<folder with lib/ and include/>.")
endif()
file(REAL_PATH ${GANDEM_LIBTORCH} _torch)

# The wheel always has libtorch_cuda.so; on a CPU host the libraries that it
# needs are missing, and a binary linked to it would not start.
set(GANDEM_CUDA_FOUND FALSE)
if(NOT GANDEM_CUDA STREQUAL "OFF")
  set(_why "")
  if(EXISTS ${_torch}/lib/libtorch_cuda.so)
    execute_process(COMMAND ldd ${_torch}/lib/libtorch_cuda.so
                    OUTPUT_VARIABLE _ldd ERROR_QUIET)
    if(_ldd MATCHES "([^ \t\n]+) => not found")
      set(_why "its ${CMAKE_MATCH_1} is missing (scripts/bootstrap.sh --cuda)")
    endif()
  else()
    set(_why "it has no libtorch_cuda.so")
  endif()
  if(NOT _why)
    # The wheel's CUDA headers, otherwise those of an installed toolkit.
    find_path(GANDEM_CUDA_INCLUDE cuda_runtime_api.h
              PATHS ${_torch}/../nvidia/cu13/include NO_DEFAULT_PATH NO_CACHE)
    if(NOT GANDEM_CUDA_INCLUDE)
      find_package(CUDAToolkit 13 QUIET)
      if(CUDAToolkit_FOUND)
        set(GANDEM_CUDA_INCLUDE ${CUDAToolkit_INCLUDE_DIRS})
      else()
        set(_why "no CUDA 13 headers were found: install the toolkit")
      endif()
    endif()
  endif()
  if(NOT _why)
    set(GANDEM_CUDA_FOUND TRUE)
  elseif(GANDEM_CUDA STREQUAL "ON")
    message(FATAL_ERROR "GANDEM_CUDA=ON, LibTorch ${_torch}: ${_why}.")
  endif()
endif()
file(STRINGS ${_torch}/include/torch/headeronly/version.h GANDEM_TORCH_VERSION
     REGEX "^ *\"[0-9.]+\"")
string(REGEX MATCH "[0-9.]+" GANDEM_TORCH_VERSION "${GANDEM_TORCH_VERSION}")
message(STATUS "LibTorch: ${_torch} ${GANDEM_TORCH_VERSION}, CUDA: ${GANDEM_CUDA_FOUND}")

set(_links ${CMAKE_BINARY_DIR}/torch_include)
file(MAKE_DIRECTORY ${_links})
foreach(_part ATen c10 torch caffe2)
  file(CREATE_LINK ${_torch}/include/${_part} ${_links}/${_part} SYMBOLIC)
endforeach()

add_library(gandem_torch INTERFACE)
add_library(gandem::torch ALIAS gandem_torch)
# For GandemInstall.cmake: creates the folder of links below the prefix.
set(GANDEM_TORCH_FOLDER ${_torch})
set(GANDEM_TORCH_LINKS lib/gandem/torch_include)
target_include_directories(gandem_torch SYSTEM INTERFACE
  $<BUILD_INTERFACE:${_links}>
  $<BUILD_INTERFACE:${_links}/torch/csrc/api/include>
  $<INSTALL_INTERFACE:${GANDEM_TORCH_LINKS}>
  $<INSTALL_INTERFACE:${GANDEM_TORCH_LINKS}/torch/csrc/api/include>)
set_target_properties(gandem_torch PROPERTIES EXPORT_NAME torch)
target_link_libraries(gandem_torch INTERFACE
  ${_torch}/lib/libtorch_cpu.so ${_torch}/lib/libc10.so)
target_link_options(gandem_torch INTERFACE
  -Wl,-rpath,${_torch}/lib -Wl,--allow-shlib-undefined)

if(GANDEM_CUDA_FOUND)
  # CUDA kernels register themselves when libtorch_cuda.so is loaded. No symbol
  # refers to that library, so a linker could drop it.
  set(CMAKE_CXX_LINK_LIBRARY_USING_NO_AS_NEEDED_SUPPORTED TRUE)
  set(CMAKE_CXX_LINK_LIBRARY_USING_NO_AS_NEEDED
      "LINKER:--push-state,--no-as-needed" "<LINK_ITEM>" "LINKER:--pop-state")
  target_link_libraries(gandem_torch INTERFACE
    $<LINK_LIBRARY:NO_AS_NEEDED,${_torch}/lib/libtorch_cuda.so>
    ${_torch}/lib/libc10_cuda.so)
  target_include_directories(gandem_torch SYSTEM INTERFACE
    ${GANDEM_CUDA_INCLUDE})
  target_compile_definitions(gandem_torch INTERFACE GANDEM_CUDA=1)
endif()

# Precompiled models/torch.h of all folders with Torch.
file(WRITE ${CMAKE_BINARY_DIR}/torch_pch.cc "// Holds the precompiled models/torch.h.\n")
add_library(gandem_torch_pch OBJECT ${CMAKE_BINARY_DIR}/torch_pch.cc)
target_link_libraries(gandem_torch_pch PRIVATE gandem_torch gandem_flags)
target_compile_options(gandem_torch_pch PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
target_precompile_headers(gandem_torch_pch PRIVATE
  ${CMAKE_SOURCE_DIR}/models/torch.h)
