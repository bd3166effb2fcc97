# SPDX-License-Identifier: Apache-2.0
# The front end of `fathom static` for C and C++ (modules/clang): loaded on request, so that the program itself needs no
# libclang. Any of the versions 14 to 20 will do, the newest that is there.
set(FATHOM_CLANG_OUTPUT ${CMAKE_BINARY_DIR}/lib/fathom)
set(candidates)
foreach(version RANGE 20 14 -1)
  list(APPEND candidates /usr/lib/llvm-${version})
endforeach()
find_program(LLVM_CONFIG NAMES llvm-config)
if(LLVM_CONFIG)
  execute_process(COMMAND ${LLVM_CONFIG} --prefix OUTPUT_VARIABLE llvm_prefix OUTPUT_STRIP_TRAILING_WHITESPACE
                  ERROR_QUIET)
  list(APPEND candidates ${llvm_prefix})
endif()
list(APPEND candidates /usr /usr/local)
unset(CLANG_C_INCLUDE CACHE)
unset(CLANG_C_LIBRARY CACHE)
foreach(prefix ${candidates})
  find_path(CLANG_C_INCLUDE clang-c/Index.h PATHS ${prefix}/include NO_DEFAULT_PATH)
  find_library(CLANG_C_LIBRARY NAMES clang PATHS ${prefix}/lib ${prefix}/lib64 NO_DEFAULT_PATH)
  if(CLANG_C_INCLUDE AND CLANG_C_LIBRARY)
    set(CLANG_C_PREFIX ${prefix})
    break()
  endif()
  unset(CLANG_C_INCLUDE CACHE)
  unset(CLANG_C_LIBRARY CACHE)
endforeach()

if(CLANG_C_PREFIX)
  file(GLOB clang_sources CONFIGURE_DEPENDS modules/clang/*.c)
  # The middle of all front ends is compiled into the module, as what it needs of base is.
  add_library(fathom_clang MODULE ${clang_sources} src/static/front/front_form.c src/static/front/front_assume.c
              src/static/front/front_tree.c src/static/front/front_trips.c src/static/front/front_print.c
              src/base/error.c src/base/memory.c src/base/control_group.c src/base/table.c)
  target_include_directories(fathom_clang PRIVATE src include modules/clang)
  target_include_directories(fathom_clang SYSTEM PRIVATE ${CLANG_C_INCLUDE})
  target_link_libraries(fathom_clang PRIVATE ${CLANG_C_LIBRARY} PkgConfig::XXHASH)
  # The compiler's own headers (stddef.h): libclang looks for them beside itself, which fails where it was moved.
  file(GLOB clang_headers ${CLANG_C_PREFIX}/lib/clang/*/include/stddef.h)
  if(clang_headers)
    list(GET clang_headers -1 clang_headers)
    string(REGEX REPLACE "/include/stddef.h$" "" clang_headers ${clang_headers})
    target_compile_definitions(fathom_clang PRIVATE FATHOM_CLANG_HEADERS="${clang_headers}")
  endif()
  set_target_properties(fathom_clang PROPERTIES PREFIX "" OUTPUT_NAME fathom-clang C_VISIBILITY_PRESET hidden
                                                LIBRARY_OUTPUT_DIRECTORY ${FATHOM_CLANG_OUTPUT})
  install(TARGETS fathom_clang LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/fathom)
  message(STATUS "front end for C and C++: built against libclang of ${CLANG_C_PREFIX}")
else()
  fathom_left_out("fathom static, C, C++" "libclang-dev" "there is no libclang")
  message(STATUS "front end for C and C++: LEFT OUT of this build: there is no libclang (Debian package libclang-dev)")
endif()
