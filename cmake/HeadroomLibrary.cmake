# libheadroom, static and shared: the union of the folders.
set(headroom_parts hr_sim hr_policies hr_traces hr_report hr_scenarios)
foreach(kind STATIC SHARED)
  string(TOLOWER ${kind} suffix)
  add_library(headroom_${suffix} ${kind})
  target_link_libraries(headroom_${suffix} PUBLIC ${headroom_parts})
  set_target_properties(headroom_${suffix} PROPERTIES OUTPUT_NAME headroom VERSION ${PROJECT_VERSION}
                        SOVERSION ${PROJECT_VERSION_MAJOR})
endforeach()
