# SPDX-License-Identifier: Apache-2.0
# The runtime of `fathom sample` (collect/sample): a shared library that is preloaded into programs, with the translator of
# cmake/burst.cmake in it. A sanitized build of fathom does not sanitize it: it is not part of fathom's process.
if(NOT FATHOM_BURST)
  return()
endif()
file(GLOB sample_sources CONFIGURE_DEPENDS collect/sample/*.c)
list(FILTER sample_sources EXCLUDE REGEX "/burst[^/]*$")
add_library(fathom_sample SHARED ${sample_sources})
# No vector registers: what runs after a burst must not change those of the program before they are stored.
target_compile_options(fathom_sample PRIVATE -O2 -mgeneral-regs-only -fno-stack-protector -fno-sanitize=all
                                             -fcf-protection=none)
target_link_libraries(fathom_sample PRIVATE fathom_burst ${CMAKE_DL_LIBS})
target_link_options(fathom_sample PRIVATE -fno-sanitize=all -Wl,-z,noexecstack)
set_target_properties(fathom_sample PROPERTIES OUTPUT_NAME fathom-sample C_VISIBILITY_PRESET hidden
                                               LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/fathom)
install(TARGETS fathom_sample LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/fathom)
message(STATUS "sampling runtime: built with ${ZYDIS_LIBRARY}")
