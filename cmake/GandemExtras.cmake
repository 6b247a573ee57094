# SPDX-License-Identifier: Apache-2.0
# Registration of the folders in extras/, which the core neither includes nor
# names.
#   gandem_extra_list(LIBRARY HEADER TYPE FUNCTION)  for the core: HEADER
#     declares std::vector<TYPE> FUNCTION(), and LIBRARY gets its definition.
#   gandem_extra(FUNCTION ELEMENT LIBRARY)           for an extra: adds TYPE
#     ELEMENT(), defined in LIBRARY, to the list FUNCTION().
#   gandem_write_extra_lists()                       after the last extra.
# A list calls its elements by name, so that the linker keeps the object files
# of an extra and no code runs before main().

function(gandem_extra_list library header type function)
  set_property(GLOBAL APPEND PROPERTY GANDEM_EXTRA_LISTS ${function})
  set_property(GLOBAL PROPERTY ${function}_LIBRARY ${library})
  set_property(GLOBAL PROPERTY ${function}_HEADER ${header})
  set_property(GLOBAL PROPERTY ${function}_TYPE ${type})
endfunction()

function(gandem_extra function element library)
  set_property(GLOBAL APPEND PROPERTY ${function}_ELEMENTS ${element})
  get_property(core GLOBAL PROPERTY ${function}_LIBRARY)
  # The two libraries refer to each other: CMake repeats both on the command
  # line of linkers that need it.
  target_link_libraries(${core} PUBLIC ${library})
endfunction()

function(gandem_write_extra_lists)
  get_property(functions GLOBAL PROPERTY GANDEM_EXTRA_LISTS)
  foreach(function ${functions})
    foreach(what LIBRARY HEADER TYPE ELEMENTS)
      get_property(${what} GLOBAL PROPERTY ${function}_${what})
    endforeach()
    set(declarations "")
    foreach(element ${ELEMENTS})
      string(APPEND declarations "${TYPE} ${element}();\n")
    endforeach()
    list(TRANSFORM ELEMENTS APPEND "()")
    list(JOIN ELEMENTS ", " elements)
    set(source ${PROJECT_BINARY_DIR}/extras/${function}.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "// Made by GandemExtras.cmake.
#include \"${HEADER}\"

namespace gandem {
${declarations}
std::vector<${TYPE}> ${function}() { return {${elements}}; }
}  // namespace gandem
" @ONLY)
    target_sources(${LIBRARY} PRIVATE ${source})
  endforeach()
endfunction()
