# Read by CPack first. Each package has a summary of its own, not that of the project. All files of a package have the time of the last commit, so that two builds give the same bytes.
if(NOT DEFINED ENV{SOURCE_DATE_EPOCH})
  execute_process(COMMAND git -C ${CPACK_HEADROOM_PACKAGING} log -1 --format=%ct
                  OUTPUT_VARIABLE epoch ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT epoch) # not from git
    file(TIMESTAMP ${CPACK_HEADROOM_PACKAGING}/../CHANGELOG.md epoch "%s" UTC)
  endif()
  set(ENV{SOURCE_DATE_EPOCH} ${epoch})
endif()
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${CPACK_DEFAULT_PACKAGE_DESCRIPTION_SUMMARY}")
