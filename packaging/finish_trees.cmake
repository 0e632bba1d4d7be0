# Run by CPack after the files of all components are installed, and before they are packed.
foreach(component ${CPACK_COMPONENTS_ALL})
  string(TOUPPER ${component} name)
  execute_process(
    COMMAND sh ${CPACK_HEADROOM_PACKAGING}/finish_tree ${CPACK_TEMPORARY_DIRECTORY}/${component}
            ${CPACK_DEBIAN_${name}_PACKAGE_NAME} ${CPACK_PACKAGE_VERSION}
    COMMAND_ERROR_IS_FATAL ANY)
endforeach()
