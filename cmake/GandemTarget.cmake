# SPDX-License-Identifier: Apache-2.0
# gandem_library(NAME SOURCES a.cc ... DEPS x ... [TORCH])
# gandem_binary(NAME SOURCES main.cc ... DEPS x ... [TORCH])
# gandem_test(NAME SOURCES a_test.cc ... DEPS x ... [TORCH] [LABELS l ...]
#             [TIMEOUT s])
# gandem_fuzz_target(NAME SOURCES a_fuzzer.cc ... DEPS x ... [CORPUS folder])
# TORCH: the target sees LibTorch and shares its precompiled header.
# Labels with a meaning: `long` (not in CI), `gpu` (may skip where none is),
# `plain` (takes minutes with a sanitizer, and has nothing for it to find).

# All binaries together: what a user runs, without tests and benchmarks.
add_custom_target(gandem_programs)
add_custom_target(gandem_tests)

function(_gandem_flags target torch)
  target_link_libraries(${target} PRIVATE gandem_flags)
  if(torch)
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
    target_precompile_headers(${target} REUSE_FROM gandem_torch_pch)
  endif()
endfunction()

# Whether `library` is among `deps` or what they are linked to, at any depth.
function(_gandem_links result library)
  set(queue ${ARGN})
  set(seen)
  set(${result} FALSE PARENT_SCOPE)
  while(queue)
    list(POP_FRONT queue item)
    if(item STREQUAL library)
      set(${result} TRUE PARENT_SCOPE)
      return()
    endif()
    if(item IN_LIST seen OR NOT TARGET ${item})
      continue()
    endif()
    list(APPEND seen ${item})
    get_target_property(next ${item} INTERFACE_LINK_LIBRARIES)
    if(next)
      list(APPEND queue ${next})
    endif()
  endwhile()
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
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR
             BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
  if(NOT folder MATCHES "^(tests|benchmarks)")
    add_dependencies(gandem_programs ${name})
    set_property(GLOBAL APPEND PROPERTY GANDEM_PROGRAMS ${name})
  endif()
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
  if(GANDEM_SANITIZE STREQUAL "thread")
    # ThreadSanitizer must see every lock; Debian's gRPC hides its own.
    _gandem_links(grpc gRPC::grpc++ ${arg_DEPS})
    if(grpc)
      set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
      return()
    endif()
  endif()
  add_dependencies(gandem_tests ${name})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES
    TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}"
    ENVIRONMENT "GANDEM_SOURCE_DIR=${CMAKE_SOURCE_DIR};GANDEM_BIN_DIR=${CMAKE_BINARY_DIR}/bin")
  # A skipped test is a failed one; only a missing GPU is a reason to skip.
  if("gpu" IN_LIST arg_LABELS)
    set_property(TEST ${name} PROPERTY SKIP_REGULAR_EXPRESSION
                 "\\[  PASSED  \\] 0 tests\\.\n\\[  SKIPPED \\]")
  else()
    set_property(TEST ${name} PROPERTY FAIL_REGULAR_EXPRESSION
                 "\\[  SKIPPED \\]")
  endif()
endfunction()

# A libFuzzer program and a ctest that runs it for GANDEM_FUZZ_SECONDS. Only in
# a clang build with a sanitizer (scripts/check_sanitizers.sh makes one).
function(gandem_fuzz_target name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "CORPUS" "SOURCES;DEPS")
  if(NOT GANDEM_FUZZ)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${arg_DEPS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  _gandem_flags(${name} FALSE)
  # New inputs go to the first folder; the committed seeds are only read.
  set(found ${CMAKE_BINARY_DIR}/fuzz/${name})
  file(MAKE_DIRECTORY ${found})
  set(seeds)
  if(arg_CORPUS)
    cmake_path(ABSOLUTE_PATH arg_CORPUS OUTPUT_VARIABLE seeds)
  endif()
  add_test(NAME ${name}
    COMMAND ${name} -max_total_time=${GANDEM_FUZZ_SECONDS} -timeout=10
            -rss_limit_mb=2048 -print_final_stats=1 ${found} ${seeds})
  math(EXPR timeout "${GANDEM_FUZZ_SECONDS} + 60")
  set_tests_properties(${name} PROPERTIES
    TIMEOUT ${timeout} WORKING_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
endfunction()
