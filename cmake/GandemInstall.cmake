# SPDX-License-Identifier: Apache-2.0
# `cmake --install build --prefix P`: installs programs, recipes, and the
# package for find_package(gandem) (docs/library.md). Programs are copied
# unchanged and find LibTorch and Arrow where the build found them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(_programs GLOBAL PROPERTY GANDEM_PROGRAMS)
foreach(_program ${_programs})
  install(PROGRAMS $<TARGET_FILE:${_program}> DESTINATION bin)
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/recipes/ DESTINATION share/gandem/recipes
        FILES_MATCHING PATTERN "*.textproto")

# The public headers: gandem/, and those of the workers if workers are built.
set(_headers ${PROJECT_SOURCE_DIR}/gandem/scaling_manager.h)
set(_outside gandem_flags)
if(GANDEM_NCCL_FOUND)
  list(APPEND _outside gandem_nccl)
endif()
if(GANDEM_TORCH)
  list(APPEND _headers ${PROJECT_SOURCE_DIR}/gandem/own_networks.h
                       ${PROJECT_SOURCE_DIR}/gandem/worker.h)
  list(APPEND _outside gandem_torch)
  # Links to LibTorch's own headers only (see GandemLibTorch.cmake).
  install(CODE "
    set(_links \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${GANDEM_TORCH_LINKS}\")
    file(MAKE_DIRECTORY \${_links})
    foreach(_part ATen c10 torch caffe2)
      file(CREATE_LINK ${GANDEM_TORCH_FOLDER}/include/\${_part} \${_links}/\${_part}
           SYMBOLIC)
    endforeach()")
endif()
install(FILES ${_headers} DESTINATION include/gandem)

# A program that links a public library also links the libraries below it.
get_property(_libraries GLOBAL PROPERTY GANDEM_LIBRARIES)
install(TARGETS ${_libraries} ${_outside} EXPORT gandem
        ARCHIVE DESTINATION lib/gandem)
install(EXPORT gandem NAMESPACE gandem:: FILE gandemTargets.cmake
        DESTINATION lib/cmake/gandem)
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/gandemConfig.cmake.in
  ${PROJECT_BINARY_DIR}/gandemConfig.cmake
  INSTALL_DESTINATION lib/cmake/gandem)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/gandemConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/gandemConfig.cmake
              ${PROJECT_BINARY_DIR}/gandemConfigVersion.cmake
        DESTINATION lib/cmake/gandem)
