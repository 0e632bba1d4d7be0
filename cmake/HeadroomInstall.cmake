# What is installed, and where: program, library, headers, pkg-config file, CMake package, documents, shipped data.
include(CMakePackageConfigHelpers)
set(headroom_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/headroom)
set(headroom_data_dir ${CMAKE_INSTALL_DATADIR}/headroom)

install(TARGETS headroom headroom_static)
install(TARGETS headroom_shared EXPORT headroom)
install(DIRECTORY include/headroom DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h"
        PATTERN unstable EXCLUDE)

# Libraries that a static link needs are named here once more: a static library cannot say so itself.
# The prefix is told relative to the file, so that the installed tree can be moved.
file(RELATIVE_PATH headroom_pc_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" headroom_pc_up "${headroom_pc_up}")
# Not a package: a static link of libmicrohttpd needs all that GnuTLS needs.
set(headroom_pc_http)
if(MICROHTTPD_FOUND)
  set(headroom_pc_http -lmicrohttpd)
endif()
set(headroom_pc_mpi)
if(HEADROOM_WITH_MPI)
  set(headroom_pc_mpi -lmpi)
endif()
configure_file(cmake/headroom.pc.in headroom.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/headroom.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# find_package(headroom) gives headroom::headroom, the shared library.
install(EXPORT headroom NAMESPACE headroom:: FILE headroomConfig.cmake DESTINATION ${headroom_package_dir})
write_basic_package_version_file(headroomConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/headroomConfigVersion.cmake DESTINATION ${headroom_package_dir})

# Scenarios name their traces relative to themselves: the two folders keep their places.
install(DIRECTORY scenarios DESTINATION ${headroom_data_dir} FILES_MATCHING PATTERN "*.json"
        PATTERN catalog EXCLUDE)
install(DIRECTORY traces/reference DESTINATION ${headroom_data_dir}/traces)
file(GLOB headroom_schemas CONFIGURE_DEPENDS docs/reference/schemas/*.schema.json)
install(FILES ${headroom_schemas} DESTINATION ${headroom_data_dir}/docs/reference/schemas)

install(FILES docs/reference/headroom.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES docs/reference/completion/headroom.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME headroom)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
