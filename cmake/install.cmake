# SPDX-License-Identifier: Apache-2.0
# What make install puts where: program, library (static and shared), public headers, pkg-config file, CMake package,
# man pages (where scdoc is there to make them), completions of bash, zsh and fish.
install(TARGETS fathom RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS fathom_static fathom_shared EXPORT fathomTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/fathom DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

# The prefix may be chosen as late as `cmake --install --prefix`: the file is completed then, and says where it is
# by its own place, so that an installed tree can be moved as a whole.
file(RELATIVE_PATH FATHOM_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/fathom.pc.in fathom.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/fathom.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# find_package(fathom): the targets fathom::fathom (shared) and fathom::fathom_static, as docs/LIBRARY.md says.
include(CMakePackageConfigHelpers)
set(FATHOM_PACKAGE ${CMAKE_INSTALL_LIBDIR}/cmake/fathom)
# A program of another 0.y does not fit, as by the SONAME.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/fathomConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT fathomTargets NAMESPACE fathom:: DESTINATION ${FATHOM_PACKAGE})
install(FILES cmake/fathomConfig.cmake ${CMAKE_BINARY_DIR}/fathomConfigVersion.cmake DESTINATION ${FATHOM_PACKAGE})

# Completions and the manual's OPTIONS are made of the program's own table.
set(FATHOM_OPTIONS ${CMAKE_BINARY_DIR}/completions/options)
add_custom_command(
  OUTPUT ${FATHOM_OPTIONS}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/completions ${CMAKE_BINARY_DIR}/man
  COMMAND sh -c "'$<TARGET_FILE:fathom>' help options > '${FATHOM_OPTIONS}'"
  DEPENDS fathom
  COMMENT "table of options"
  VERBATIM)
set(FATHOM_COMPLETIONS)
foreach(shell bash zsh fish)
  set(made ${CMAKE_BINARY_DIR}/completions/fathom.${shell})
  add_custom_command(
    OUTPUT ${made}
    COMMAND sh -c "awk -f '${CMAKE_SOURCE_DIR}/completions/${shell}.awk' '${FATHOM_OPTIONS}' > '${made}'"
    DEPENDS ${FATHOM_OPTIONS} completions/${shell}.awk
    COMMENT "completion of ${shell}"
    VERBATIM)
  list(APPEND FATHOM_COMPLETIONS ${made})
endforeach()
add_custom_target(completions ALL DEPENDS ${FATHOM_COMPLETIONS})
install(FILES ${CMAKE_BINARY_DIR}/completions/fathom.bash
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME fathom)
install(FILES ${CMAKE_BINARY_DIR}/completions/fathom.zsh
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _fathom)
install(FILES ${CMAKE_BINARY_DIR}/completions/fathom.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

find_program(SCDOC scdoc)
file(GLOB FATHOM_MAN_SOURCES CONFIGURE_DEPENDS man/*.scd)
if(SCDOC)
  set(man_pages)
  foreach(source ${FATHOM_MAN_SOURCES})
    get_filename_component(page ${source} NAME_WLE) # fathom-analyze.1
    set(made ${CMAKE_BINARY_DIR}/man/${page})
    add_custom_command(
      OUTPUT ${made}
      COMMAND sh "${CMAKE_SOURCE_DIR}/scripts/manual-page.sh" "${source}" "${FATHOM_OPTIONS}" "${made}.scd"
      COMMAND sh -c "'${SCDOC}' < '${made}.scd' > '${made}'"
      DEPENDS ${source} ${FATHOM_OPTIONS} man/options.txt scripts/manual-page.sh
      COMMENT "man page ${page}"
      VERBATIM)
    list(APPEND man_pages ${made})
  endforeach()
  # `man fathom-c++`: the page's own name has no +, which not every tool takes.
  set(made ${CMAKE_BINARY_DIR}/man/fathom-c++.1)
  file(WRITE ${made} ".so man1/fathom-cxx.1\n")
  list(APPEND man_pages ${made})
  add_custom_target(man ALL DEPENDS ${man_pages})
  install(FILES ${man_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
else()
  message(STATUS "no scdoc here: man pages are left out (Debian package scdoc)")
  fathom_left_out("manual pages" "scdoc" "there is no scdoc")
endif()
