# SPDX-License-Identifier: Apache-2.0
# gandem_library(NAME SOURCES a.cc ... DEPS x ... [TORCH])
# gandem_binary(NAME SOURCES main.cc ... DEPS x ... [TORCH])
# gandem_test(NAME SOURCES a_test.cc ... DEPS x ... [TORCH] [LABELS l ...]
#             [TIMEOUT s])
# gandem_tests(NAME SOURCES a_test.cc b_test.cc ... DEPS x ... [TORCH]
#              [PLAIN b_test ...]):
#   one program; each *_test.cc in it is a test of its own, a_test and b_test
# gandem_integration_test(a_test): a_test.py, which starts real processes
# gandem_fuzz_target(NAME SOURCES a_fuzzer.cc ... DEPS x ... [CORPUS folder])
# TORCH: the target sees LibTorch and shares its precompiled header.
# Labels with a meaning: `long` (not in CI), `gpu` (may skip where none is),
# `plain` (not with sanitizers: takes minutes, or disturbs them), `extra` (of a
# folder in extras/, which these functions add by themselves).

# All binaries together: what a user runs, without tests and benchmarks.
add_custom_target(gandem_programs)
add_custom_target(gandem_tests)

function(_gandem_flags target torch)
  target_link_libraries(${target} PRIVATE gandem_flags)
  if(torch)
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
    target_precompile_headers(${target} REUSE_FROM gandem_torch_pch)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL EXECUTABLE)
      # CMake would pass -fPIE, and the header is bound to -fPIC.
      set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${target} PRIVATE -fPIC)
    endif()
  endif()
endfunction()

# Most of a compiler's time goes into headers, and LibTorch's take 7 s however
# small the file is: with GANDEM_UNITY the sources of a target are compiled some
# at a time. Includes are written from the root, so that ccache finds them in any
# checkout. Every source stays one that compiles alone (GANDEM_UNITY=OFF).
function(_gandem_unity result name)
  set(sources ${ARGN})
  list(LENGTH sources count)
  if(NOT GANDEM_UNITY OR count LESS 2)
    set(${result} ${sources} PARENT_SCOPE)
    return()
  endif()
  # Of equal size, as near as it goes.
  math(EXPR batches "(${count} + ${GANDEM_UNITY_FILES} - 1) / ${GANDEM_UNITY_FILES}")
  math(EXPR size "(${count} + ${batches} - 1) / ${batches}")
  math(EXPR last "${count} - 1")
  set(units)
  foreach(first RANGE 0 ${last} ${size})
    list(SUBLIST sources ${first} ${size} batch)
    set(text "// Made by GandemTarget.cmake.\n")
    foreach(source ${batch})
      cmake_path(ABSOLUTE_PATH source NORMALIZE)
      foreach(root ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
        cmake_path(IS_PREFIX root ${source} is_below)
        if(is_below)
          cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${root})
        endif()
      endforeach()
      string(APPEND text "#include \"${source}\"\n")
    endforeach()
    set(unit ${CMAKE_CURRENT_BINARY_DIR}/${name}_from${first}.cc)
    file(CONFIGURE OUTPUT ${unit} CONTENT "${text}" @ONLY)
    list(APPEND units ${unit})
  endforeach()
  set(${result} ${units} PARENT_SCOPE)
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

# With libraries and binaries; sources that are generated or have flags of their
# own stay alone.
function(_gandem_sources result name)
  set(alone)
  set(together)
  foreach(source ${ARGN})
    get_source_file_property(generated ${source} GENERATED)
    get_source_file_property(flags ${source} COMPILE_DEFINITIONS)
    if(generated OR flags)
      list(APPEND alone ${source})
    else()
      list(APPEND together ${source})
    endif()
  endforeach()
  _gandem_unity(units ${name} ${together})
  set(${result} ${units} ${alone} PARENT_SCOPE)
endfunction()

# Whether this folder is of what a user gets, that is neither tests nor
# benchmarks.
function(_gandem_is_ours result)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR
             BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
  set(${result} TRUE PARENT_SCOPE)
  if(folder MATCHES "^(tests|benchmarks|extras/[^/]+/tests)")
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

# `labels` of a test of this folder, and `extra` in extras/.
function(_gandem_labels result)
  set(extras ${PROJECT_SOURCE_DIR}/extras)
  cmake_path(IS_PREFIX extras ${CMAKE_CURRENT_SOURCE_DIR} extra)
  set(labels ${ARGN})
  if(extra)
    list(APPEND labels extra)
  endif()
  set(${result} "${labels}" PARENT_SCOPE)
endfunction()

# Code that waits for people, files and messages gains nothing from -O3, which
# takes a third more of the compiler's time.
function(gandem_control_flags target)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR
             BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
  if(folder MATCHES "^(control_plane|scaling_manager|deploy|proto)")
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()

function(gandem_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TORCH" "" "SOURCES;DEPS")
  _gandem_sources(sources ${name} ${arg_SOURCES})
  add_library(${name} STATIC ${sources})
  gandem_control_flags(${name})
  target_link_libraries(${name} PUBLIC ${arg_DEPS})
  if(arg_TORCH)
    target_link_libraries(${name} PUBLIC gandem::torch)
  endif()
  _gandem_flags(${name} "${arg_TORCH}")
  if(GANDEM_FUZZ)
    # What the fuzzer follows; in tests it would double the compiler's time.
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  _gandem_is_ours(ours)
  if(ours)
    set_property(GLOBAL APPEND PROPERTY GANDEM_LIBRARIES ${name})
  endif()
endfunction()

function(gandem_binary name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TORCH" "" "SOURCES;DEPS")
  _gandem_sources(sources ${name} ${arg_SOURCES})
  add_executable(${name} ${sources})
  gandem_control_flags(${name})
  target_link_libraries(${name} PRIVATE ${arg_DEPS})
  if(arg_TORCH)
    target_link_libraries(${name} PRIVATE gandem::torch)
  endif()
  _gandem_flags(${name} "${arg_TORCH}")
  _gandem_is_ours(ours)
  if(ours)
    add_dependencies(gandem_programs ${name})
    set_property(GLOBAL APPEND PROPERTY GANDEM_PROGRAMS ${name})
  endif()
endfunction()

# The program of tests `name`. `built`: FALSE where this build leaves it out.
function(_gandem_test_program built name torch sources deps)
  _gandem_sources(units ${name} ${sources})
  add_executable(${name} ${units})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${deps} gandem_test_main GTest::gmock)
  if(torch)
    target_link_libraries(${name} PRIVATE gandem::torch)
  endif()
  _gandem_flags(${name} "${torch}")
  # Tests are compiled more often than they are waited for. The precompiled
  # header is not for what is not optimized at all.
  if(torch)
    target_compile_options(${name} PRIVATE -O1)
  else()
    target_compile_options(${name} PRIVATE -O0)
  endif()
  set(${built} TRUE PARENT_SCOPE)
  if(GANDEM_SANITIZE STREQUAL "thread")
    # ThreadSanitizer must see every lock; Debian's gRPC hides its own.
    _gandem_links(grpc gRPC::grpc++ ${deps})
    if(grpc)
      set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
      set(${built} FALSE PARENT_SCOPE)
      return()
    endif()
  endif()
  add_dependencies(gandem_tests ${name})
endfunction()

# ctest's test `name`; the sources that it runs are listed for known_tests of
# tests/repository/rules.py.
function(_gandem_add_test name timeout labels sources)
  add_test(NAME ${name} COMMAND ${ARGN})
  if(NOT timeout)
    set(timeout 300)  # ends what hangs, also on a busy machine
  endif()
  _gandem_labels(labels ${labels})
  set_tests_properties(${name} PROPERTIES
    TIMEOUT ${timeout} LABELS "${labels}"
    ENVIRONMENT "GANDEM_SOURCE_DIR=${CMAKE_SOURCE_DIR};GANDEM_BIN_DIR=${CMAKE_BINARY_DIR}/bin")
  # A skipped test is a failed one; only a missing GPU is a reason to skip.
  if("gpu" IN_LIST labels)
    set_property(TEST ${name} PROPERTY SKIP_REGULAR_EXPRESSION
                 "\\[  PASSED  \\] 0 tests\\.\n\\[  SKIPPED \\]")
  else()
    set_property(TEST ${name} PROPERTY FAIL_REGULAR_EXPRESSION
                 "\\[  SKIPPED \\]")
  endif()
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source)
    set_property(GLOBAL APPEND PROPERTY GANDEM_TEST_SOURCES "${name} ${source}")
  endforeach()
endfunction()

function(gandem_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TORCH" "TIMEOUT" "SOURCES;DEPS;LABELS")
  _gandem_test_program(built ${name} "${arg_TORCH}" "${arg_SOURCES}"
                       "${arg_DEPS}")
  if(built)
    _gandem_add_test(${name} "${arg_TIMEOUT}" "${arg_LABELS}"
                     "${arg_SOURCES}" ${name})
  endif()
endfunction()

function(gandem_tests name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TORCH" "" "SOURCES;DEPS;PLAIN")
  _gandem_test_program(built ${name} "${arg_TORCH}" "${arg_SOURCES}"
                       "${arg_DEPS}")
  foreach(source ${arg_SOURCES})
    cmake_path(GET source STEM test)
    set(labels "")
    if(test IN_LIST arg_PLAIN)
      set(labels plain)
    endif()
    if(built AND test MATCHES "_test$")
      _gandem_add_test(${test} "" "${labels}" ${source}
                       ${name} --tests_of=${source})
    endif()
  endforeach()
endfunction()

# A test in Python's unittest (standard library only). The limit ends what hangs:
# the slowest takes five minutes, on a busy machine.
function(gandem_integration_test file)
  find_program(GANDEM_PYTHON NAMES python3 REQUIRED)
  cmake_path(GET file FILENAME name)
  _gandem_labels(labels integration)
  # A C++ test may have the same name.
  add_test(NAME integration_${name}
    COMMAND ${GANDEM_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/${file}.py -v)
  set_tests_properties(integration_${name} PROPERTIES
    TIMEOUT 1800 LABELS "${labels}"
    ENVIRONMENT "GANDEM_SOURCE_DIR=${CMAKE_SOURCE_DIR};GANDEM_BIN_DIR=${CMAKE_BINARY_DIR}/bin;PYTHONDONTWRITEBYTECODE=1;PYTHONPATH=${CMAKE_SOURCE_DIR}/tests/integration")
endfunction()

# A libFuzzer program and a ctest that runs it for GANDEM_FUZZ_SECONDS. Only in
# a clang build with a sanitizer (scripts/check_sanitizers.sh makes one). The
# test makes the same draws each time, so that a change passes or fails by what
# it does; scripts/fuzz.sh searches with new ones.
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
    COMMAND ${name} -seed=1 -max_total_time=${GANDEM_FUZZ_SECONDS}
            -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 ${found} ${seeds})
  math(EXPR timeout "${GANDEM_FUZZ_SECONDS} + 60")
  set_tests_properties(${name} PROPERTIES
    TIMEOUT ${timeout} WORKING_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz
    LABELS fuzz)
endfunction()
