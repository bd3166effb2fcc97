# libfathom: every room under src/ but the cli. A new .c file in a room is picked up by itself.
file(GLOB FATHOM_LIBRARY_SOURCES CONFIGURE_DEPENDS
     src/base/*.c src/process/*.c src/collect/*.c src/sample/*.c src/program/*.c collect/sample/burst_log.c src/trace/*.c src/trace/*/*.c
     src/engine/*.c src/engine/*/*.c
     src/analyzer/*.c src/cluster/*.c src/profile/*.c src/profile/*/*.c src/static/*.c src/static/*/*.c src/symbols/*.c src/model/*.c
     src/view/*.c src/view/*/*.c src/job/*.c src/compile/*.c)
add_library(fathom_objects OBJECT ${FATHOM_LIBRARY_SOURCES})
target_include_directories(fathom_objects PRIVATE src ${CMAKE_SOURCE_DIR} PUBLIC include) # collect/protocol.h
target_compile_definitions(fathom_objects PRIVATE FATHOM_VERSION="${PROJECT_VERSION}")
set(FATHOM_NEEDS Threads::Threads PkgConfig::ZSTD PkgConfig::ZLIB PkgConfig::XXHASH PkgConfig::HWLOC PkgConfig::LIBDW
                 PkgConfig::ISL PkgConfig::GMP m)
target_link_libraries(fathom_objects PRIVATE ${FATHOM_NEEDS})
# Stacks may be small (ulimit -s): large arrays are not for them. Sanitizers add to every frame.
if(NOT FATHOM_SANITIZE)
  set(FATHOM_FRAMES -Wframe-larger-than=16384)
endif()
target_compile_options(fathom_objects PRIVATE ${FATHOM_FRAMES})
include(cmake/web.cmake)

# Every 0.y has a SONAME of its own, libfathom.so.0.y (docs/LIBRARY.md).
add_library(fathom_static STATIC $<TARGET_OBJECTS:fathom_objects>)
target_link_libraries(fathom_static PUBLIC ${FATHOM_NEEDS})
set_target_properties(fathom_static PROPERTIES OUTPUT_NAME fathom EXPORT_NAME fathom_static)
add_library(fathom_shared SHARED $<TARGET_OBJECTS:fathom_objects>)
target_link_libraries(fathom_shared PRIVATE ${FATHOM_NEEDS})
set_target_properties(fathom_shared PROPERTIES OUTPUT_NAME fathom EXPORT_NAME fathom VERSION ${PROJECT_VERSION}
                                               SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
foreach(library fathom_static fathom_shared)
  target_include_directories(${library} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>)
endforeach()

# The hot loops of `exact`, once per instruction set; chosen at run time (src/engine/exact/exact.c).
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(src/engine/exact/exact_avx512.c PROPERTIES COMPILE_OPTIONS
                              "${FATHOM_KERNEL_OPTIMIZATION};-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mavx512cd;-mavx2;-mbmi;-mbmi2;-mlzcnt;-mpopcnt")
  set_source_files_properties(src/engine/exact/exact_avx2.c PROPERTIES COMPILE_OPTIONS
                              "${FATHOM_KERNEL_OPTIMIZATION};-mavx2;-mbmi;-mbmi2;-mlzcnt;-mpopcnt")
  set_source_files_properties(src/trace/lines/text_avx512.c PROPERTIES COMPILE_OPTIONS
                              "${FATHOM_KERNEL_OPTIMIZATION};-mavx512f;-mavx512bw;-mavx512vl;-mavx512vbmi2;-mavx2;-mbmi;-mbmi2;-mlzcnt;-mpopcnt")
  set_source_files_properties(src/trace/lines/text_avx2.c PROPERTIES COMPILE_OPTIONS
                              "${FATHOM_KERNEL_OPTIMIZATION};-mavx2;-mbmi;-mbmi2;-mlzcnt;-mpopcnt")
  set_source_files_properties(src/engine/exact/exact_portable.c PROPERTIES COMPILE_OPTIONS "${FATHOM_KERNEL_OPTIMIZATION}")
endif()
