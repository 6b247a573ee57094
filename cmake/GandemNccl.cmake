# SPDX-License-Identifier: Apache-2.0
# gandem::nccl: NCCL and the CUDA runtime, for collective/nccl_collective.cc.
# They come from LibTorch's wheels, because a process must not load two copies,
# or from an installed toolkit. GANDEM_CUDA selects as for LibTorch.

set(GANDEM_NCCL_FOUND FALSE)
set(_why "")
if(GANDEM_CUDA STREQUAL "OFF")
  set(_why "GANDEM_CUDA=OFF")
elseif(GANDEM_SANITIZE)
  set(_why "its libraries know no sanitizer")
else()
  set(_wheels)
  if(GANDEM_CUDA_FOUND)
    set(_wheels ${_torch}/../nvidia)
  endif()
  find_package(CUDAToolkit 13 QUIET)
  foreach(_file cuda_runtime_api nccl)
    find_path(GANDEM_${_file}_INCLUDE ${_file}.h
              PATHS ${_wheels}/cu13/include ${_wheels}/nccl/include
                    ${CUDAToolkit_INCLUDE_DIRS} NO_DEFAULT_PATH NO_CACHE)
    if(NOT GANDEM_${_file}_INCLUDE)
      string(APPEND _why "${_file}.h is missing; ")
    endif()
  endforeach()
  foreach(_name cudart nccl)
    find_library(GANDEM_${_name}_LIBRARY
                 NAMES ${_name} lib${_name}.so.13 lib${_name}.so.2
                 PATHS ${_wheels}/cu13/lib ${_wheels}/nccl/lib
                       ${CUDAToolkit_LIBRARY_DIR} NO_DEFAULT_PATH NO_CACHE)
    if(NOT GANDEM_${_name}_LIBRARY)
      string(APPEND _why "lib${_name}.so is missing; ")
    endif()
  endforeach()
  if(NOT _why)
    set(GANDEM_NCCL_FOUND TRUE)
  elseif(GANDEM_CUDA STREQUAL "ON")
    message(FATAL_ERROR "GANDEM_CUDA=ON, NCCL: ${_why}install a CUDA 13 "
      "toolkit with NCCL.")
  endif()
endif()
message(STATUS "NCCL: ${GANDEM_NCCL_FOUND} ${GANDEM_nccl_LIBRARY} ${_why}")

if(GANDEM_NCCL_FOUND)
  add_library(gandem_nccl INTERFACE)
  add_library(gandem::nccl ALIAS gandem_nccl)
  target_include_directories(gandem_nccl SYSTEM INTERFACE
    ${GANDEM_cuda_runtime_api_INCLUDE} ${GANDEM_nccl_INCLUDE})
  target_link_libraries(gandem_nccl INTERFACE
    ${GANDEM_nccl_LIBRARY} ${GANDEM_cudart_LIBRARY})
  target_compile_definitions(gandem_nccl INTERFACE GANDEM_NCCL=1)
endif()
