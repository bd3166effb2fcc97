# SPDX-License-Identifier: Apache-2.0
# Modules for MPI (modules/mpi), one for each that is there: loaded on request, so that the program itself needs none.
set(FATHOM_MPI_OUTPUT ${CMAKE_BINARY_DIR}/lib/fathom)
set(FATHOM_MPI_FOUND "")

function(fathom_mpi name module)
  pkg_check_modules(MPI_${name} QUIET IMPORTED_TARGET ${module})
  if(NOT MPI_${name}_FOUND)
    fathom_left_out("analyze --mpi, ${name}" "lib${name}-dev" "pkg-config does not know ${module}")
    message(STATUS "MPI module for ${name}: LEFT OUT of this build: pkg-config does not know ${module}")
    return()
  endif()
  add_library(fathom_${name} MODULE modules/mpi/mpi_transport.c)
  target_include_directories(fathom_${name} PRIVATE src include)
  target_include_directories(fathom_${name} SYSTEM PRIVATE ${MPI_${name}_INCLUDE_DIRS})
  target_link_libraries(fathom_${name} PRIVATE PkgConfig::MPI_${name})
  set_target_properties(fathom_${name} PROPERTIES PREFIX "" OUTPUT_NAME fathom-${name} C_VISIBILITY_PRESET hidden
                                                  LIBRARY_OUTPUT_DIRECTORY ${FATHOM_MPI_OUTPUT})
  install(TARGETS fathom_${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/fathom)
  message(STATUS "MPI module for ${name}: built against ${MPI_${name}_VERSION}")
endfunction()

fathom_mpi(openmpi ompi-c)
fathom_mpi(mpich mpich)
