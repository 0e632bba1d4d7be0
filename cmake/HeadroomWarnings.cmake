# Flags that every target of the project shares.
add_library(headroom_flags INTERFACE)
target_compile_options(headroom_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
  -Wno-missing-field-initializers # structs grow at their end; what is not named is zero
  -Wdouble-promotion -Wpointer-arith -Wwrite-strings -Wundef
  -ffp-contract=off # the same doubles from every compiler and level
  $<$<BOOL:${HEADROOM_WERROR}>:-Werror>)
target_compile_definitions(headroom_flags INTERFACE _XOPEN_SOURCE=700)
target_include_directories(headroom_flags INTERFACE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR})

# headroom_folder(NAME folder USES targets): all sources below a folder as one object library.
function(headroom_folder folder)
  cmake_parse_arguments(ARG "" "" "USES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.c)
  add_library(hr_${folder} OBJECT ${sources})
  target_link_libraries(hr_${folder} PUBLIC headroom_flags ${ARG_USES})
endfunction()
