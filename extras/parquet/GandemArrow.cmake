# SPDX-License-Identifier: Apache-2.0
# gandem::parquet: Apache Arrow's C++ libraries from the PyPI wheel pyarrow.
# Only data_worker uses them, because they export symbols of OpenSSL and
# protobuf.

set(GANDEM_ARROW "" CACHE PATH
    "Folder pyarrow/ of its wheel (has libarrow.so.*); scripts/bootstrap.sh sets it")
if(NOT GANDEM_ARROW)
  # The link that scripts/bootstrap.sh leaves behind.
  set(GANDEM_ARROW ${GANDEM_CACHE}/arrow)
endif()
# A wheel has one file of each library; its name ends in the version.
foreach(_name arrow parquet)
  file(GLOB _found ${GANDEM_ARROW}/lib${_name}.so.*)
  if(NOT _found OR NOT EXISTS ${GANDEM_ARROW}/include/${_name})
    message(FATAL_ERROR "No Apache Arrow in '${GANDEM_ARROW}' "
      "(lib${_name}.so.* and include/${_name}). Run scripts/bootstrap.sh, or "
      "pass -DGANDEM_ARROW=<the folder pyarrow/ of the wheel>.")
  endif()
  list(SORT _found)
  list(GET _found 0 _library)
  file(REAL_PATH ${_library} _gandem_${_name})
endforeach()
file(REAL_PATH ${GANDEM_ARROW} _arrow)
message(STATUS "Apache Arrow: ${_arrow}")

add_library(gandem_arrow INTERFACE)
add_library(gandem::parquet ALIAS gandem_arrow)
target_include_directories(gandem_arrow SYSTEM INTERFACE ${_arrow}/include)
target_link_libraries(gandem_arrow INTERFACE
  ${_gandem_parquet} ${_gandem_arrow})
target_link_options(gandem_arrow INTERFACE
  -Wl,-rpath,${_arrow} -Wl,--allow-shlib-undefined)
