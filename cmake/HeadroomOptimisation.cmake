# Link-time optimisation of the program. Objects are "fat", so that the installed static library serves any linker, and
# the shared library and the tests can link without optimising all over again.
option(HEADROOM_LTO "Link-time optimisation" OFF)

function(headroom_lto_use)
  if(NOT HEADROOM_LTO OR NOT CMAKE_C_COMPILER_ID STREQUAL "GNU") # only gcc makes fat objects here
    return()
  endif()
  include(CheckIPOSupported)
  check_ipo_supported(RESULT works OUTPUT reason LANGUAGES C)
  if(NOT works)
    message(STATUS "No link-time optimisation: ${reason}")
    return()
  endif()
  foreach(target ${ARGN})
    set_target_properties(${target} PROPERTIES INTERPROCEDURAL_OPTIMIZATION ON)
    target_compile_options(${target} PRIVATE -ffat-lto-objects)
  endforeach()
endfunction()

# headroom_lto_skip(TARGET): links fat objects as they are.
function(headroom_lto_skip target)
  target_link_options(${target} PRIVATE $<$<AND:$<BOOL:${HEADROOM_LTO}>,$<C_COMPILER_ID:GNU>>:-fno-lto>)
endfunction()
