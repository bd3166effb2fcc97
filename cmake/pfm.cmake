# SPDX-License-Identifier: Apache-2.0
# Names of events of performance counters (modules/pfm), by libpfm4: loaded on request, so that the program itself does
# not need it. Without it, `fathom sample` knows the events that the kernel names.
find_path(PFM_INCLUDE perfmon/pfmlib_perf_event.h)
find_library(PFM_LIBRARY pfm)
if(PFM_INCLUDE AND PFM_LIBRARY)
  add_library(fathom_pfm MODULE modules/pfm/pfm_module.c)
  target_include_directories(fathom_pfm PRIVATE src include)
  target_include_directories(fathom_pfm SYSTEM PRIVATE ${PFM_INCLUDE})
  target_link_libraries(fathom_pfm PRIVATE ${PFM_LIBRARY})
  set_target_properties(fathom_pfm PROPERTIES PREFIX "" OUTPUT_NAME fathom-pfm C_VISIBILITY_PRESET hidden
                                              LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/fathom)
  install(TARGETS fathom_pfm LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/fathom)
  message(STATUS "events of performance counters: built against ${PFM_LIBRARY}")
else()
  fathom_left_out("sample --sampler pmu, names" "libpfm4-dev" "there is no libpfm4")
  message(STATUS "events of performance counters: LEFT OUT of this build: there is no libpfm4 (Debian package libpfm4-dev)")
endif()
