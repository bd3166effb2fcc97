# SPDX-License-Identifier: Apache-2.0
# The runtime of `fathom cc` (collect/cc), in the three variants that it is linked in: dynamic programs, static
# programs, shared libraries. Each becomes one object whose inner names nobody sees, in an archive; beside them
# lie what the compilers and the linker are told: lib/fathom/cc in the build and where fathom is installed.
set(FATHOM_CC_PLACE fathom/cc)
target_compile_definitions(fathom_objects PRIVATE FATHOM_CC_INSTALLED="${CMAKE_INSTALL_LIBDIR}/${FATHOM_CC_PLACE}")
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  message(STATUS "not x86-64: fathom cc has no runtime here and will say so")
  return()
endif()
enable_language(ASM)

set(cc_directory ${CMAKE_BINARY_DIR}/lib/${FATHOM_CC_PLACE})
set(cc_core hooks.S access.c annotations.c atomics.c channel.c context.c filter.c module.c process.c strings.c)
set(cc_program heap.c signal.c ends.c)
# Nothing may come between a hook and the code around it (and no loop may become a call of memcpy, see runtime.h). A
# sanitized build of fathom does not sanitize the runtime: it is not part of fathom's process.
set(cc_flags -O2 -fPIC -ffreestanding -fno-stack-protector -fno-sanitize=all -fcf-protection=none -fno-function-sections -fno-data-sections
             -fomit-frame-pointer -fno-lto -g0)

# fathom_cc_variant(NAME ARCHIVE DEFINITION TLS SOURCES…): TLS is how thread-local storage is reached, local-exec
# where that is the program's own.
function(fathom_cc_variant name archive definition tls)
  list(TRANSFORM ARGN PREPEND ${CMAKE_SOURCE_DIR}/collect/cc/)
  add_library(fathom_cc_${name} OBJECT ${ARGN})
  target_compile_options(fathom_cc_${name} PRIVATE ${cc_flags} -ftls-model=${tls})
  target_compile_definitions(fathom_cc_${name} PRIVATE ${definition})
  set(object ${CMAKE_CURRENT_BINARY_DIR}/fathom_cc_${name}.o)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${CMAKE_LINKER} -r -o ${object} $<TARGET_OBJECTS:fathom_cc_${name}>
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${object}
    COMMAND ${CMAKE_OBJCOPY} --globalize-symbol=__fathom_anchor ${object}
    DEPENDS fathom_cc_${name} $<TARGET_OBJECTS:fathom_cc_${name}>
    COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_command(
    OUTPUT ${cc_directory}/${archive}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${cc_directory}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${cc_directory}/${archive}
    COMMAND ${CMAKE_AR} rcs ${cc_directory}/${archive} ${object} $<TARGET_OBJECTS:fathom_cc_operators>
    DEPENDS ${object} fathom_cc_operators $<TARGET_OBJECTS:fathom_cc_operators>
    COMMAND_EXPAND_LISTS VERBATIM)
endfunction()

add_library(fathom_cc_operators OBJECT collect/cc/operators.c collect/cc/personality_cxx.c)
target_compile_options(fathom_cc_operators PRIVATE ${cc_flags} -fexceptions)
# gcc's name for the archive that -fsanitize=thread links: found first by -L, it takes that one's place.
fathom_cc_variant(program libtsan.a FM_VARIANT_PROGRAM local-exec ${cc_core} ${cc_program})
fathom_cc_variant(static libtsan_static.a FM_VARIANT_STATIC local-exec ${cc_core} ${cc_program})
fathom_cc_variant(library libtsan_library.a FM_VARIANT_LIBRARY initial-exec ${cc_core})
set(cc_made ${cc_directory}/libtsan.a ${cc_directory}/libtsan_static.a ${cc_directory}/libtsan_library.a)

foreach(file gcc.specs gcc-early.specs early.s inline.s wraps wraps-static wraps-library exports)
  add_custom_command(
    OUTPUT ${cc_directory}/${file}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${cc_directory}
    COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/collect/cc/${file} ${cc_directory}/${file}
    DEPENDS ${CMAKE_SOURCE_DIR}/collect/cc/${file}
    VERBATIM)
  list(APPEND cc_made ${cc_directory}/${file})
endforeach()

# The plug-in, for each gcc whose headers for plug-ins are there (collect/gcc): named by its version, as gcc loads none
# that was built for another. Without one for the gcc at hand `fathom cc` does without.
file(GLOB gccs RELATIVE /usr/bin /usr/bin/gcc-[0-9] /usr/bin/gcc-[0-9][0-9])
find_program(FATHOM_CXX NAMES g++ c++ DOC "compiles the plug-in for gcc")
set(cc_plugins)
foreach(gcc gcc ${gccs})
  execute_process(COMMAND ${gcc} -dumpfullversion OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${gcc} -print-file-name=plugin OUTPUT_VARIABLE place OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(plugin ${cc_directory}/gcc-${version}.so)
  if(NOT FATHOM_CXX OR NOT EXISTS ${place}/include/gcc-plugin.h OR plugin IN_LIST cc_plugins)
    continue()
  endif()
  add_custom_command(
    OUTPUT ${plugin}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${cc_directory}
    COMMAND ${FATHOM_CXX} -shared -fPIC -O2 -fno-rtti -fno-exceptions -Wall -Wextra
            -isystem ${place}/include ${CMAKE_SOURCE_DIR}/collect/gcc/late_hooks.cc -o ${plugin}
    DEPENDS ${CMAKE_SOURCE_DIR}/collect/gcc/late_hooks.cc
    VERBATIM)
  list(APPEND cc_plugins ${plugin})
endforeach()
if(NOT cc_plugins)
  fathom_left_out("fathom cc by gcc, vectors" "gcc-12-plugin-dev" "there are no headers for plug-ins of gcc")
endif()
list(APPEND cc_made ${cc_plugins})
add_custom_target(fathom_cc ALL DEPENDS ${cc_made})
install(FILES ${cc_made} DESTINATION ${CMAKE_INSTALL_LIBDIR}/${FATHOM_CC_PLACE})
