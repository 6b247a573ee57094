# SPDX-License-Identifier: Apache-2.0
# gandem_library(NAME SOURCES a.cc ... DEPS x ... [TORCH])
# gandem_binary(NAME SOURCES main.cc ... DEPS x ... [TORCH])
# gandem_test(NAME SOURCES a_test.cc ... DEPS x ... [TORCH] [LABELS l ...]
#             [TIMEOUT s])
# TORCH: the target sees LibTorch and shares its precompiled header.

function(_gandem_flags target torch)
  target_link_libraries(${target} PRIVATE gandem_flags)
  if(torch)
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
    target_precompile_headers(${target} REUSE_FROM gandem_torch_pch)
  endif()
endfunction()

function(gandem_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TORCH" "" "SOURCES;DEPS")
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC ${arg_DEPS})
  if(arg_TORCH)
    target_link_libraries(${name} PUBLIC gandem::torch)
  endif()
  _gandem_flags(${name} "${arg_TORCH}")
endfunction()

function(gandem_binary name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TORCH" "" "SOURCES;DEPS")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPS})
  if(arg_TORCH)
    target_link_libraries(${name} PRIVATE gandem::torch)
  endif()
  _gandem_flags(${name} "${arg_TORCH}")
endfunction()

function(gandem_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TORCH" "TIMEOUT" "SOURCES;DEPS;LABELS")
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${arg_DEPS} GTest::gmock GTest::gtest_main)
  if(arg_TORCH)
    target_link_libraries(${name} PRIVATE gandem::torch)
  endif()
  _gandem_flags(${name} "${arg_TORCH}")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES
    TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}"
    ENVIRONMENT "GANDEM_SOURCE_DIR=${CMAKE_SOURCE_DIR};GANDEM_BIN_DIR=${CMAKE_BINARY_DIR}/bin")
endfunction()
