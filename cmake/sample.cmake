# SPDX-License-Identifier: Apache-2.0
# The runtime of `fathom sample` (collect/sample): a shared library that is preloaded into programs. It needs Zydis, which
# tells what the program's instructions do. A sanitized build of fathom does not sanitize it: it is not part of
# fathom's process.
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
  message(STATUS "sampling runtime: LEFT OUT of this build: only for x86-64 Linux")
  return()
endif()
find_path(ZYDIS_INCLUDE Zydis/Zydis.h)
find_library(ZYDIS_LIBRARY Zydis)
if(NOT ZYDIS_INCLUDE OR NOT ZYDIS_LIBRARY)
  message(STATUS "sampling runtime: LEFT OUT of this build: there is no Zydis (Debian package libzydis-dev)")
  return()
endif()
file(GLOB sample_sources CONFIGURE_DEPENDS collect/sample/*.c collect/sample/*.S)
enable_language(ASM)
add_library(fathom_sample SHARED ${sample_sources})
target_include_directories(fathom_sample PRIVATE ${CMAKE_SOURCE_DIR} SYSTEM ${ZYDIS_INCLUDE})
# Handlers and bursts use no vector registers of their own: the program's are in them.
target_compile_options(fathom_sample PRIVATE -O2 -fno-stack-protector -fno-sanitize=all -fcf-protection=none
                       $<$<COMPILE_LANGUAGE:C>:-mgeneral-regs-only>)
target_link_libraries(fathom_sample PRIVATE ${ZYDIS_LIBRARY} ${CMAKE_DL_LIBS})
target_link_options(fathom_sample PRIVATE -Wl,-z,now -Wl,-z,noexecstack -fno-sanitize=all)
set_target_properties(fathom_sample PROPERTIES OUTPUT_NAME fathom-sample C_VISIBILITY_PRESET hidden
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/fathom)
install(TARGETS fathom_sample LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/fathom)
message(STATUS "sampling runtime: built with ${ZYDIS_LIBRARY}")
