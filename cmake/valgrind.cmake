# SPDX-License-Identifier: Apache-2.0
# The Valgrind tool (collect/valgrind), out of the archives that Debian's package `valgrind` brings along. It is a
# static program of its own and links with nothing of fathom. Where those archives are absent, or under sanitizers,
# it is left out, and everything else is built all the same.
set(FATHOM_VALGRIND_OUTPUT ${CMAKE_BINARY_DIR}/lib/fathom/valgrind)
unset(__pkg_config_checked_VALGRIND CACHE) # it may have been removed
pkg_check_modules(VALGRIND QUIET valgrind>=3.19)

function(fathom_valgrind_missing why)
  set(${why} "" PARENT_SCOPE)
  if(FATHOM_SANITIZE)
    set(${why} "not under sanitizers" PARENT_SCOPE)
  elseif(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    set(${why} "only for x86-64 Linux" PARENT_SCOPE)
  elseif(NOT VALGRIND_FOUND)
    set(${why} "pkg-config does not know valgrind 3.19 or newer (Debian package valgrind)" PARENT_SCOPE)
  else()
    pkg_get_variable(libdir valgrind libdir)
    foreach(name coregrind vex)
      if(NOT EXISTS ${libdir}/valgrind/lib${name}-amd64-linux.a)
        set(${why} "there is no ${libdir}/valgrind/lib${name}-amd64-linux.a" PARENT_SCOPE)
      endif()
    endforeach()
  endif()
endfunction()

fathom_valgrind_missing(FATHOM_NO_VALGRIND)
if(FATHOM_NO_VALGRIND)
  fathom_left_out("fathom run, any program" "valgrind" "${FATHOM_NO_VALGRIND}")
  message(STATUS "valgrind tool: LEFT OUT of this build: ${FATHOM_NO_VALGRIND}")
  return()
endif()
message(STATUS "valgrind tool: built against valgrind ${VALGRIND_VERSION}")

pkg_get_variable(FATHOM_VALGRIND_LIBDIR valgrind libdir)
pkg_get_variable(FATHOM_VALGRIND_INCLUDE valgrind includedir)
pkg_get_variable(FATHOM_VALGRIND_ADDRESS valgrind valt_load_address)
file(GLOB FATHOM_VALGRIND_SOURCES CONFIGURE_DEPENDS collect/valgrind/vg_*.c)

add_executable(fathom_valgrind ${FATHOM_VALGRIND_SOURCES})
set_target_properties(fathom_valgrind PROPERTIES
  OUTPUT_NAME fathom-amd64-linux RUNTIME_OUTPUT_DIRECTORY ${FATHOM_VALGRIND_OUTPUT}
  POSITION_INDEPENDENT_CODE OFF)
target_include_directories(fathom_valgrind SYSTEM PRIVATE ${FATHOM_VALGRIND_INCLUDE})
target_compile_definitions(fathom_valgrind PRIVATE VGA_amd64=1 VGO_linux=1 VGP_amd64_linux=1 VGPV_amd64_linux_vanilla=1)
target_compile_options(fathom_valgrind PRIVATE
  -m64 -O2 -fno-stack-protector -fno-strict-aliasing -fno-builtin -fomit-frame-pointer -fno-pie -U_FORTIFY_SOURCE)
# The core's own calls of these functions come to collect/valgrind/vg_process.c, vg_execute.c, vg_changing_code.c,
# vg_main.c and vg_allocators.c.
target_link_options(fathom_valgrind PRIVATE
  -no-pie -static -nodefaultlibs -nostartfiles -u _start
  -Wl,-Ttext-segment=${FATHOM_VALGRIND_ADDRESS} -Wl,--build-id=none -Wl,-z,noexecstack
  -Wl,--wrap=vgPlain_getenv -Wl,--wrap=vgPlain_di_notify_mmap -Wl,--wrap=vgPlain_kill_self
  -Wl,--wrap=vgPlain_exit -Wl,--wrap=vgPlain_exit_now
  -Wl,--wrap=vgPlain_client_syscall -Wl,--wrap=vgPlain_check_executable
  -Wl,--wrap=vgPlain_do_exec -Wl,--wrap=vgPlain_do_syscall -Wl,--wrap=vgPlain_translate
  -Wl,--wrap=vgPlain_mkstemp -Wl,--wrap=vgPlain_unlink
  -Wl,--wrap=vgModuleLocal_read_debuginfo_dwarf3 -Wl,--wrap=sanityCheckIRSB
  -Wl,--wrap=vgPlain_redir_notify_new_DebugInfo -Wl,--wrap=vgPlain_redir_notify_delete_DebugInfo)
set(archives ${FATHOM_VALGRIND_LIBDIR}/valgrind/libcoregrind-amd64-linux.a
             ${FATHOM_VALGRIND_LIBDIR}/valgrind/libvex-amd64-linux.a)
if(EXISTS ${FATHOM_VALGRIND_LIBDIR}/valgrind/libgcc-sup-amd64-linux.a)
  list(APPEND archives ${FATHOM_VALGRIND_LIBDIR}/valgrind/libgcc-sup-amd64-linux.a)
endif()
target_link_libraries(fathom_valgrind PRIVATE ${archives} gcc)

install(TARGETS fathom_valgrind RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/fathom/valgrind)

# A receiver of its own, for looking at what the tool sends: tests/collect/stream_dump --tool PATH -- PROGRAM.
if(FATHOM_TESTS)
  add_executable(stream_dump EXCLUDE_FROM_ALL tests/collect/stream_dump.c)
  target_include_directories(stream_dump PRIVATE ${CMAKE_SOURCE_DIR})
  set_target_properties(stream_dump PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/collect)
endif()
