# libheadroom, static and shared: the union of the folders.
set(headroom_parts hr_base hr_sim hr_policies hr_traces hr_report hr_scenarios hr_plan hr_serve)

# For the program and the tests: its objects' internal symbols can be reached.
add_library(headroom_static STATIC)
target_link_libraries(headroom_static PUBLIC ${headroom_parts})

# For other programs: only what is marked HR_API is visible. `headroom` in the installed package.
add_library(headroom_shared SHARED)
target_link_libraries(headroom_shared PRIVATE ${headroom_parts})
target_include_directories(headroom_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(headroom_shared PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                      EXPORT_NAME headroom)
set_target_properties(headroom_static headroom_shared PROPERTIES OUTPUT_NAME headroom)
# What a run and the reading of a trace execute is optimised across files; the rest would only make the link longer.
headroom_lto_use(hr_base hr_sim hr_policies hr_traces headroom_static)
headroom_lto_skip(headroom_shared)
