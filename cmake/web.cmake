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
  set(inputs
      page=${FATHOM_WEB_SOURCE}/report.html
      style=${FATHOM_WEB_SOURCE}/report.css
      style_late=${FATHOM_WEB_SOURCE}/late.css
      numbers=${FATHOM_WEB_SOURCE}/numbers.js
      sampled=${FATHOM_WEB_SOURCE}/sampled.js
      plot=${FATHOM_WEB_SOURCE}/plot.js
      charts=${FATHOM_WEB_SOURCE}/charts.js
      late=${FATHOM_WEB_SOURCE}/late.js
      choice=${FATHOM_WEB_SOURCE}/choice.js
      pieces=${FATHOM_WEB_SOURCE}/pieces.js
      pairs=${FATHOM_WEB_SOURCE}/pairs.js
      source_lines=${FATHOM_WEB_SOURCE}/source-lines.js
      source=${FATHOM_WEB_SOURCE}/source.js
      objects=${FATHOM_WEB_SOURCE}/objects.js
      latencies=${FATHOM_WEB_SOURCE}/latencies.js
      parts=${FATHOM_WEB_SOURCE}/parts.js
      phases=${FATHOM_WEB_SOURCE}/phases.js
      verdict=${FATHOM_WEB_SOURCE}/verdict.js
      report=${FATHOM_WEB_SOURCE}/report.js)
  list(TRANSFORM inputs REPLACE "^[^=]*=" "" OUTPUT_VARIABLE files)
  list(JOIN inputs "|" joined)
  file(MAKE_DIRECTORY ${FATHOM_WEB_BUILD})
  add_custom_command(
    OUTPUT ${FATHOM_WEB_BUILD}/report_assets.c
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${FATHOM_WEB_BUILD}/report_assets.c "-DINPUTS=${joined}"
            -P ${CMAKE_CURRENT_LIST_DIR}/embed.cmake
    DEPENDS ${files} ${CMAKE_CURRENT_LIST_DIR}/embed.cmake
    COMMENT "Embedding the report page" VERBATIM)
  target_sources(fathom_objects PRIVATE ${FATHOM_WEB_BUILD}/report_assets.c)
  target_compile_definitions(fathom_objects PRIVATE FATHOM_HAS_REPORT=1)
endif()
