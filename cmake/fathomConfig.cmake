# SPDX-License-Identifier: Apache-2.0
# find_package(fathom): fathom::fathom is the shared library. fathom::fathom_static needs the libraries below it as well:
# they are looked for, and only who links it finds out that one is missing.
find_package(Threads QUIET)
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(ZSTD QUIET IMPORTED_TARGET libzstd)
  pkg_check_modules(ZLIB QUIET IMPORTED_TARGET zlib)
  pkg_check_modules(XXHASH QUIET IMPORTED_TARGET libxxhash)
  pkg_check_modules(HWLOC QUIET IMPORTED_TARGET hwloc)
  pkg_check_modules(LIBDW QUIET IMPORTED_TARGET libdw libelf)
  pkg_check_modules(ISL QUIET IMPORTED_TARGET isl)
  pkg_check_modules(GMP QUIET IMPORTED_TARGET gmp)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/fathomTargets.cmake)
