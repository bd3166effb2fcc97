# SPDX-License-Identifier: Apache-2.0
# The module that counts on NVIDIA graphics cards (modules/cuda): a shared object of its own that is loaded when an
# engine asks for it. Where there is no nvcc, or under sanitizers, it is left out, and everything else is built all the
# same. Plain commands instead of CMake's language CUDA, which older CMakes get wrong for newer toolkits.
set(FATHOM_CUDA "AUTO" CACHE STRING "the CUDA module: AUTO (where nvcc is found), ON or OFF")
set(FATHOM_CUDA_ARCHITECTURES "80;90" CACHE STRING
    "compute capabilities to build the CUDA module for, from 80 on; the last one's PTX serves newer cards")
find_program(FATHOM_NVCC nvcc PATHS /usr/local/cuda/bin)

set(FATHOM_NO_CUDA "")
if(FATHOM_CUDA STREQUAL "OFF")
  set(FATHOM_NO_CUDA "FATHOM_CUDA is OFF")
elseif(NOT FATHOM_NVCC)
  set(FATHOM_NO_CUDA "there is no nvcc")
elseif(FATHOM_SANITIZE)
  set(FATHOM_NO_CUDA "not under sanitizers")
endif()
if(FATHOM_NO_CUDA)
  if(FATHOM_CUDA STREQUAL "ON")
    message(FATAL_ERROR "FATHOM_CUDA is ON, but: ${FATHOM_NO_CUDA}")
  endif()
  fathom_left_out("--engine gpu" "nvidia-cuda-toolkit" "${FATHOM_NO_CUDA}")
  message(STATUS "CUDA module: LEFT OUT of this build: ${FATHOM_NO_CUDA}")
  return()
endif()
message(STATUS "CUDA module: built with ${FATHOM_NVCC} for compute capability ${FATHOM_CUDA_ARCHITECTURES}")

set(FATHOM_CUDA_CODES)
foreach(architecture ${FATHOM_CUDA_ARCHITECTURES})
  list(APPEND FATHOM_CUDA_CODES -gencode arch=compute_${architecture},code=sm_${architecture})
endforeach()
list(GET FATHOM_CUDA_ARCHITECTURES -1 architecture)
list(APPEND FATHOM_CUDA_CODES -gencode arch=compute_${architecture},code=compute_${architecture})

set(FATHOM_CUDA_OUTPUT ${CMAKE_BINARY_DIR}/lib/fathom/fathom-cuda.so)
file(GLOB cuda_sources CONFIGURE_DEPENDS modules/cuda/*.cu)
file(GLOB cuda_headers CONFIGURE_DEPENDS modules/cuda/*.cuh)
set(objects)
foreach(source ${cuda_sources})
  get_filename_component(name ${source} NAME_WE)
  set(object ${CMAKE_BINARY_DIR}/cuda/${name}.o)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/cuda
    COMMAND ${FATHOM_NVCC} -O3 -std=c++17 ${FATHOM_CUDA_CODES} -lineinfo --expt-relaxed-constexpr
            -Xcompiler -fPIC,-fvisibility=hidden,-Wall
            -I ${CMAKE_SOURCE_DIR}/include -I ${CMAKE_SOURCE_DIR}/src -I ${CMAKE_SOURCE_DIR}/modules/cuda
            -MD -MF ${object}.d -c ${source} -o ${object}
    DEPENDS ${source} ${cuda_headers}
    DEPFILE ${object}.d
    COMMENT "CUDA ${name}.cu"
    VERBATIM)
  list(APPEND objects ${object})
endforeach()
add_custom_command(
  OUTPUT ${FATHOM_CUDA_OUTPUT}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/lib/fathom
  COMMAND ${FATHOM_NVCC} -shared ${FATHOM_CUDA_CODES} -cudart static -Xlinker -z,defs ${objects} -o ${FATHOM_CUDA_OUTPUT}
  DEPENDS ${objects}
  COMMENT "CUDA module"
  VERBATIM)
add_custom_target(fathom_cuda ALL DEPENDS ${FATHOM_CUDA_OUTPUT})
install(PROGRAMS ${FATHOM_CUDA_OUTPUT} DESTINATION ${CMAKE_INSTALL_LIBDIR}/fathom)
