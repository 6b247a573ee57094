# SPDX-License-Identifier: Apache-2.0
# gandem_library(NAME SOURCES a.cc ... DEPS x ... [TORCH])
# gandem_binary(NAME SOURCES main.cc ... DEPS x ... [TORCH])
# gandem_tests(NAME SOURCES a_test.cc b_test.cc helper.cc ... DEPS x ... [TORCH]
#              [THREADS a_test ...] [PLAIN b_test ...] [GPU ...] [LONG ...])
#   One program. Each *_test.cc is a separate ctest, here a_test and b_test.
#   THREADS: tests of code with threads. They form the program of a build for
#   ThreadSanitizer, which must see every lock: nothing with gRPC.
#   PLAIN: not with sanitizers, because the test takes minutes or disturbs them.
#   GPU: may skip without a GPU. LONG: not in CI.
# gandem_test_helper(NAME SOURCES a.cc ... DEPS x ...)
# gandem_integration_test(a_test [THOROUGH]): a_test.py, which starts real processes.
#   THOROUGH: `scripts/test.sh --all` and CI run it, `scripts/test.sh` does not.
# gandem_fuzz_target(NAME SOURCES a_fuzzer.cc ... DEPS x ... [CORPUS folder])
# TORCH: the target sees LibTorch and shares its precompiled header.
# In extras/ these functions add the label `extra` to each test.

# All binaries together: what a user runs, without tests and benchmarks.
add_custom_target(gandem_programs)
add_custom_target(gandem_tests ALL)

function(_gandem_flags target torch)
  target_link_libraries(${target} PRIVATE gandem_flags)
  if(torch)
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
    target_precompile_headers(${target} REUSE_FROM gandem_torch_pch)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL EXECUTABLE)
      # CMake would pass -fPIE, but the header is precompiled with -fPIC.
      set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${target} PRIVATE -fPIC)
    endif()
  endif()
endfunction()

# Headers take most of the compile time; LibTorch's take 7 s per file. With
# GANDEM_UNITY several sources of a target are compiled together. Includes are
# relative to the root, so that ccache finds them in any checkout. Every source
# must also compile alone (GANDEM_UNITY=OFF).
function(_gandem_unity result name)
  set(sources ${ARGN})
  list(LENGTH sources count)
  if(NOT GANDEM_UNITY OR count LESS 2)
    set(${result} ${sources} PARENT_SCOPE)
    return()
  endif()
  # Batch sizes are as equal as possible.
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

# For libraries and binaries. Sources that are generated or have their own flags
# are compiled alone.
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

# Whether this folder is part of the product, that is, neither tests nor
# benchmarks.
function(_gandem_is_ours result)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR
             BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
  set(${result} TRUE PARENT_SCOPE)
  if(folder MATCHES "^(tests|benchmarks|extras/[^/]+/tests)")
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

# Sets `labels` for a test of this folder, with `extra` in extras/.
function(_gandem_labels result)
  set(extras ${PROJECT_SOURCE_DIR}/extras)
  cmake_path(IS_PREFIX extras ${CMAKE_CURRENT_SOURCE_DIR} extra)
  set(labels ${ARGN})
  if(extra)
    list(APPEND labels extra)
  endif()
  set(${result} "${labels}" PARENT_SCOPE)
endfunction()

# For code that waits for people, files and messages: -O3 gains nothing there
# and takes a third more compile time.
function(gandem_control_flags target)
  # With -O1 g++ 12 warns of uninitialized variables in Abseil's templates.
  target_compile_options(${target} PRIVATE
    -O1 $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
endfunction()

# Calls gandem_control_flags() for targets of folders with only such code.
function(_gandem_folder_flags target)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR
             BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
  if(folder MATCHES "^(control_plane|scaling_manager|deploy)")
    gandem_control_flags(${target})
  endif()
endfunction()

# Sets `result` to sources that hold the bytes of files. Each argument is
# FILE:NAME; the bytes are gandem::internal::NAME (GandemEmbed.cmake).
function(gandem_embed result)
  set(sources)
  foreach(part ${ARGN})
    string(REPLACE ":" ";" part ${part})
    list(GET part 0 file)
    list(GET part 1 name)
    set(input ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded_${name}.cc)
    add_custom_command(
      OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -D INPUT=${input} -D OUTPUT=${output}
              -D NAME=${name} -P ${CMAKE_SOURCE_DIR}/cmake/GandemEmbed.cmake
      DEPENDS ${input} ${CMAKE_SOURCE_DIR}/cmake/GandemEmbed.cmake
      COMMENT "Embedding ${file}")
    list(APPEND sources ${output})
  endforeach()
  set(${result} ${sources} PARENT_SCOPE)
endfunction()

function(gandem_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TORCH" "" "SOURCES;DEPS")
  _gandem_sources(sources ${name} ${arg_SOURCES})
  add_library(${name} STATIC ${sources})
  _gandem_folder_flags(${name})
  target_link_libraries(${name} PUBLIC ${arg_DEPS})
  if(arg_TORCH)
    target_link_libraries(${name} PUBLIC gandem::torch)
  endif()
  _gandem_flags(${name} "${arg_TORCH}")
  if(GANDEM_FUZZ)
    # The fuzzer needs this coverage code. Tests are built without it, because
    # it doubles the compile time.
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
  _gandem_folder_flags(${name})
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

# Flags of all test code, which favor compile time over the speed of tests.
function(_gandem_test_flags target torch)
  _gandem_flags(${target} "${torch}")
  if(torch)
    # The precompiled header cannot be used without optimization.
    target_compile_options(${target} PRIVATE -O1)
  else()
    target_compile_options(${target} PRIVATE -O0)
    if(TARGET gandem_test_pch)
      target_compile_options(${target} PRIVATE -fpch-preprocess)
      target_precompile_headers(${target} REUSE_FROM gandem_test_pch)
    endif()
  endif()
endfunction()

# Adds the ctest `name`, which runs the tests of `source` in `program`. The rule
# known_tests of tests/repository/rules.py reads the list of sources.
function(_gandem_add_test name program source labels)
  add_test(NAME ${name} COMMAND ${program} --tests_of=${source})
  set(timeout 600)  # ends hanging tests; long enough for a busy machine
  if("long" IN_LIST labels)
    set(timeout 1800)
  endif()
  _gandem_labels(labels ${labels})
  set_tests_properties(${name} PROPERTIES
    TIMEOUT ${timeout} LABELS "${labels}"
    ENVIRONMENT "GANDEM_SOURCE_DIR=${CMAKE_SOURCE_DIR};GANDEM_BIN_DIR=${CMAKE_BINARY_DIR}/bin;GANDEM_TEST_PYTHON=${GANDEM_TEST_PYTHON}")
  # A skipped test counts as failed, unless a GPU is missing.
  if("gpu" IN_LIST labels)
    set_property(TEST ${name} PROPERTY SKIP_REGULAR_EXPRESSION
                 "\\[  PASSED  \\] 0 tests\\.\n\\[  SKIPPED \\]")
  else()
    set_property(TEST ${name} PROPERTY FAIL_REGULAR_EXPRESSION
                 "\\[  SKIPPED \\]")
  endif()
  cmake_path(ABSOLUTE_PATH source)
  set_property(GLOBAL APPEND PROPERTY GANDEM_TEST_SOURCES "${name} ${source}")
endfunction()

function(gandem_tests name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TORCH" ""
                        "SOURCES;DEPS;THREADS;PLAIN;GPU;LONG")
  if(NOT GANDEM_TEST_PYTHON)
    list(FILTER arg_SOURCES EXCLUDE REGEX "_python_test\\.cc$")
  endif()
  set(program ${name})
  if(GANDEM_SANITIZE STREQUAL "thread")
    set(program thread_tests)
    if(NOT arg_THREADS)
      return()
    endif()
    set(sources)
    foreach(source ${arg_SOURCES})
      cmake_path(GET source STEM test)
      if(test IN_LIST arg_THREADS OR NOT test MATCHES "_test$")
        list(APPEND sources ${source})
      endif()
    endforeach()
    set(arg_SOURCES ${sources})
  endif()
  _gandem_sources(units ${name} ${arg_SOURCES})
  if(program STREQUAL name)
    add_executable(${name} ${units})
    set_target_properties(${name} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    add_dependencies(gandem_tests ${name})
    target_link_libraries(${name} PUBLIC gandem_test_main)
  else()
    add_library(${name} OBJECT ${units})
    set_property(GLOBAL APPEND PROPERTY GANDEM_THREAD_TESTS ${name})
  endif()
  target_link_libraries(${name} PUBLIC ${arg_DEPS} gandem_testing GTest::gmock)
  if(arg_TORCH)
    target_link_libraries(${name} PUBLIC gandem::torch)
  endif()
  _gandem_test_flags(${name} "${arg_TORCH}")
  foreach(source ${arg_SOURCES})
    cmake_path(GET source STEM test)
    set(labels)
    foreach(label PLAIN GPU LONG)
      if(test IN_LIST arg_${label})
        string(TOLOWER ${label} label)
        list(APPEND labels ${label})
      endif()
    endforeach()
    if(test MATCHES "_test$")
      if(TEST ${test})  # a contract test in two programs
        string(APPEND test "_of_${name}")
      endif()
      _gandem_add_test(${test} ${program} ${source} "${labels}")
    endif()
  endforeach()
endfunction()

# A program that tests start, in their folder. Helpers with gRPC are not built
# for ThreadSanitizer.
function(gandem_test_helper name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS")
  gandem_binary(${name} SOURCES ${arg_SOURCES} DEPS ${arg_DEPS})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(NOT GANDEM_SANITIZE STREQUAL "thread" OR NOT arg_DEPS MATCHES "rpc|ring")
    add_dependencies(gandem_tests ${name})
  endif()
endfunction()

# Call after all gandem_tests(): makes thread_tests of a ThreadSanitizer build.
function(gandem_thread_tests)
  get_property(parts GLOBAL PROPERTY GANDEM_THREAD_TESTS)
  add_executable(thread_tests)
  set_target_properties(thread_tests PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(thread_tests PRIVATE ${parts} gandem_test_main)
  add_dependencies(gandem_tests thread_tests)
endfunction()

# A test with Python's unittest (standard library only). The limit ends hanging
# tests; the slowest one takes five minutes on a busy machine.
function(gandem_integration_test file)
  cmake_parse_arguments(PARSE_ARGV 1 arg "THOROUGH" "" "")
  find_program(GANDEM_PYTHON NAMES python3 REQUIRED)
  cmake_path(GET file FILENAME name)
  set(labels integration)
  if(arg_THOROUGH)
    list(APPEND labels thorough)
  endif()
  _gandem_labels(labels ${labels})
  # A C++ test may have the same name.
  add_test(NAME integration_${name}
    COMMAND ${GANDEM_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/${file}.py -v)
  set_tests_properties(integration_${name} PROPERTIES
    TIMEOUT 1800 LABELS "${labels}"
    ENVIRONMENT "GANDEM_SOURCE_DIR=${CMAKE_SOURCE_DIR};GANDEM_BIN_DIR=${CMAKE_BINARY_DIR}/bin;PYTHONDONTWRITEBYTECODE=1;PYTHONPATH=${CMAKE_SOURCE_DIR}/tests/integration")
endfunction()

# A libFuzzer program and a ctest that runs it for GANDEM_FUZZ_SECONDS, only in
# a clang build with a sanitizer (see scripts/check_sanitizers.sh). The test has
# a fixed seed, so that it is reproducible; scripts/fuzz.sh uses new seeds.
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
  _gandem_labels(labels fuzz)
  set_tests_properties(${name} PROPERTIES
    TIMEOUT ${timeout} WORKING_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz
    LABELS "${labels}")
endfunction()
