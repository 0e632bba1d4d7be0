# Run by CPack when the packages are written: the members of these archives have the mask of the build in their modes.
foreach(package ${CPACK_PACKAGE_FILES})
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C
            sed -i "s/\\( $ENV{SOURCE_DATE_EPOCH}  0     0     100\\)6[0-7][0-7]  /\\1644  /" ${package}
    COMMAND_ERROR_IS_FATAL ANY)
endforeach()
