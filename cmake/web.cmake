# SPDX-License-Identifier: Apache-2.0
# Embeds the report page (web/) into the library: a template, its styles and its scripts, all of them ours. Nothing is
# fetched, here or by the page.
option(FATHOM_REPORT "build `fathom report`" ON)

set(FATHOM_WEB_SOURCE ${CMAKE_SOURCE_DIR}/web)
set(FATHOM_WEB_BUILD ${CMAKE_BINARY_DIR}/web)

if(NOT FATHOM_REPORT)
  fathom_left_out("fathom report, page" "none" "FATHOM_REPORT is off")
  message(STATUS "report: `fathom report` is LEFT OUT of this build: FATHOM_REPORT is off")
else()
  file(GLOB files CONFIGURE_DEPENDS ${FATHOM_WEB_SOURCE}/*)
  file(MAKE_DIRECTORY ${FATHOM_WEB_BUILD})
  add_custom_command(
    OUTPUT ${FATHOM_WEB_BUILD}/report_assets.c
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${FATHOM_WEB_BUILD}/report_assets.c -DTEMPLATE=${FATHOM_WEB_SOURCE}/report.html
            -P ${CMAKE_CURRENT_LIST_DIR}/embed.cmake
    DEPENDS ${files} ${CMAKE_CURRENT_LIST_DIR}/embed.cmake
    COMMENT "Embedding the report page" VERBATIM)
  target_sources(fathom_objects PRIVATE ${FATHOM_WEB_BUILD}/report_assets.c)
  target_compile_definitions(fathom_objects PRIVATE FATHOM_HAS_REPORT=1)
endif()
