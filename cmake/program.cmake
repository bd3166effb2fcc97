# The program: sees include/ only, not src/, so that it lives on the public headers alone.
file(GLOB FATHOM_PROGRAM_SOURCES CONFIGURE_DEPENDS src/cli/*.c)
add_executable(fathom ${FATHOM_PROGRAM_SOURCES})
target_include_directories(fathom PRIVATE src/cli)
target_link_libraries(fathom PRIVATE fathom_static)
target_compile_options(fathom PRIVATE ${FATHOM_FRAMES})
set_target_properties(fathom PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
