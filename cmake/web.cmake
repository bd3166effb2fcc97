# SPDX-License-Identifier: Apache-2.0
# Embeds the report page (web/) and the plotting library it uses (uPlot, pinned by web/package-lock.json) into
# the library. npm works in a copy under the build directory; the source tree stays as it is. Where npm is
# absent, or cannot fetch the package, everything else is built all the same and `fathom report` says why it
# cannot work.
option(FATHOM_REPORT "build `fathom report` (needs npm)" ON)

set(FATHOM_WEB_SOURCE ${CMAKE_SOURCE_DIR}/web)
set(FATHOM_WEB_BUILD ${CMAKE_BINARY_DIR}/web)
set(FATHOM_UPLOT ${FATHOM_WEB_BUILD}/node_modules/uplot)

function(fathom_fetch_uplot why)
  set(${why} "" PARENT_SCOPE)
  if(NOT FATHOM_REPORT)
    set(${why} "FATHOM_REPORT is off" PARENT_SCOPE)
    return()
  endif()
  find_program(FATHOM_NPM npm)
  if(NOT FATHOM_NPM)
    set(${why} "npm was not found" PARENT_SCOPE)
    return()
  endif()
  # Only a new lockfile asks npm again.
  file(SHA256 ${FATHOM_WEB_SOURCE}/package-lock.json wanted)
  set(stamp ${FATHOM_WEB_BUILD}/fetched)
  if(EXISTS ${stamp} AND EXISTS ${FATHOM_UPLOT}/dist/uPlot.iife.min.js)
    file(READ ${stamp} have)
    if(have STREQUAL wanted)
      return()
    endif()
  endif()
  file(REMOVE ${stamp})
  # Not configure_file: it would make the lockfile an input of the build files for a second time (the first is
  # below), and only in the first run of CMake.
  file(MAKE_DIRECTORY ${FATHOM_WEB_BUILD})
  foreach(file package.json package-lock.json .npmrc)
    file(COPY_FILE ${FATHOM_WEB_SOURCE}/${file} ${FATHOM_WEB_BUILD}/${file})
  endforeach()
  message(STATUS "report: fetching uPlot with npm ci")
  execute_process(
    COMMAND ${FATHOM_NPM} ci --omit=dev --ignore-scripts --no-progress --prefer-offline --fetch-retries=2
            --fetch-timeout=30000
    WORKING_DIRECTORY ${FATHOM_WEB_BUILD} TIMEOUT 180
    RESULT_VARIABLE result OUTPUT_FILE ${FATHOM_WEB_BUILD}/npm.log ERROR_FILE ${FATHOM_WEB_BUILD}/npm.log)
  if(NOT result EQUAL 0 OR NOT EXISTS ${FATHOM_UPLOT}/dist/uPlot.iife.min.js)
    set(${why} "npm ci could not fetch uPlot (see ${FATHOM_WEB_BUILD}/npm.log)" PARENT_SCOPE)
    return()
  endif()
  file(WRITE ${stamp} ${wanted})
endfunction()

# The only place where a file of web/ becomes an input of the build files.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${FATHOM_WEB_SOURCE}/package-lock.json)
fathom_fetch_uplot(FATHOM_NO_REPORT)
# As long as this file is there, the Makefile configures anew: a network that was down may be up again.
set(FATHOM_LEFT_OUT ${FATHOM_WEB_BUILD}/left-out)
if(FATHOM_NO_REPORT)
  fathom_left_out("fathom report, page" "npm" "${FATHOM_NO_REPORT}")
  message(STATUS "report: `fathom report` is LEFT OUT of this build: ${FATHOM_NO_REPORT}")
  file(WRITE ${FATHOM_LEFT_OUT} "${FATHOM_NO_REPORT}\n")
  set_source_files_properties(src/view/report/report.c PROPERTIES COMPILE_DEFINITIONS
                              "FATHOM_NO_REPORT=\"${FATHOM_NO_REPORT}\"")
else()
  file(REMOVE ${FATHOM_LEFT_OUT})
  message(STATUS "report: `fathom report` is built in")
  set(inputs
      page=${FATHOM_WEB_SOURCE}/report.html
      style=${FATHOM_WEB_SOURCE}/report.css
      style_late=${FATHOM_WEB_SOURCE}/late.css
      numbers=${FATHOM_WEB_SOURCE}/numbers.js
      sampled=${FATHOM_WEB_SOURCE}/sampled.js
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
      report=${FATHOM_WEB_SOURCE}/report.js
      uplot_style=${FATHOM_UPLOT}/dist/uPlot.min.css
      uplot_script=${FATHOM_UPLOT}/dist/uPlot.iife.min.js
      uplot_license=${FATHOM_UPLOT}/LICENSE)
  list(TRANSFORM inputs REPLACE "^[^=]*=" "" OUTPUT_VARIABLE files)
  list(JOIN inputs "|" joined)
  add_custom_command(
    OUTPUT ${FATHOM_WEB_BUILD}/report_assets.c
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${FATHOM_WEB_BUILD}/report_assets.c "-DINPUTS=${joined}"
            -P ${CMAKE_CURRENT_LIST_DIR}/embed.cmake
    DEPENDS ${files} ${CMAKE_CURRENT_LIST_DIR}/embed.cmake
    COMMENT "Embedding the report page" VERBATIM)
  target_sources(fathom_objects PRIVATE ${FATHOM_WEB_BUILD}/report_assets.c)
  target_compile_definitions(fathom_objects PRIVATE FATHOM_HAS_REPORT=1)
endif()
