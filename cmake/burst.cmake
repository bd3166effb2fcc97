# SPDX-License-Identifier: Apache-2.0
# The translator of `fathom sample` (collect/sample/burst*.c), which runs inside programs: objects for the library that
# is loaded into them and for tests. And the reader of its logs, for fathom itself, which needs no Zydis.
add_library(fathom_burst_log OBJECT collect/sample/burst_log.c)
target_include_directories(fathom_burst_log PUBLIC ${CMAKE_SOURCE_DIR})
set(FATHOM_BURST OFF)
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  message(STATUS "not x86-64: fathom sample has no bursts here and will say so")
  return()
endif()
find_path(ZYDIS_INCLUDE Zydis/Zydis.h)
find_library(ZYDIS_LIBRARY Zydis)
if(NOT ZYDIS_INCLUDE OR NOT ZYDIS_LIBRARY)
  message(STATUS "no Zydis (libzydis-dev): fathom sample has no bursts and will say so")
  return()
endif()
set(FATHOM_BURST ON)

# The program's vector registers are live while this code runs (-mgeneral-regs-only, and nothing of libc, which the
# tests look at). A sanitized build of fathom does not sanitize it: it is not part of fathom's process.
add_library(fathom_burst OBJECT
  collect/sample/burst.c collect/sample/burst_branch.c collect/sample/burst_decode.c collect/sample/burst_describe.c
  collect/sample/burst_log.c
  collect/sample/burst_memory.c collect/sample/burst_shape.c collect/sample/burst_system_call.c
  collect/sample/burst_translate.c)
target_compile_options(fathom_burst PRIVATE -O2 -fPIC -mgeneral-regs-only -ffreestanding -fno-stack-protector
  -fno-sanitize=all -fcf-protection=none -fomit-frame-pointer -fno-lto)
target_compile_definitions(fathom_burst PRIVATE _GNU_SOURCE)
target_include_directories(fathom_burst PRIVATE ${ZYDIS_INCLUDE} PUBLIC ${CMAKE_SOURCE_DIR})
# -z now: the first call of a function, in a signal handler, must not begin to look for it.
target_link_options(fathom_burst INTERFACE LINKER:-z,now)
target_link_libraries(fathom_burst INTERFACE ${ZYDIS_LIBRARY})
