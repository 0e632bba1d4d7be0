# What is installed, and where: program, library, headers, pkg-config file, CMake package, documents, shipped data.
include(CMakePackageConfigHelpers)
set(headroom_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/headroom)
set(headroom_data_dir ${CMAKE_INSTALL_DATADIR}/headroom)

# COMPONENT: the Debian package (HeadroomPackage.cmake). An installation by hand contains all but the Python module.
install(TARGETS headroom COMPONENT program)
install(TARGETS headroom_static COMPONENT dev)
install(TARGETS headroom_shared EXPORT headroom LIBRARY COMPONENT library NAMELINK_COMPONENT dev)
install(DIRECTORY include/headroom DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev FILES_MATCHING PATTERN "*.h"
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
install(FILES ${CMAKE_BINARY_DIR}/headroom.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

# find_package(headroom) gives headroom::headroom, the shared library.
install(EXPORT headroom NAMESPACE headroom:: FILE headroomConfig.cmake DESTINATION ${headroom_package_dir}
        COMPONENT dev)
write_basic_package_version_file(headroomConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/headroomConfigVersion.cmake DESTINATION ${headroom_package_dir} COMPONENT dev)

# Scenarios name their traces relative to themselves: the two folders keep their places. The catalogue is part of the
# program; its files are installed for those who read them or change a copy.
install(DIRECTORY scenarios DESTINATION ${headroom_data_dir} COMPONENT program FILES_MATCHING PATTERN "*.json"
        PATTERN "catalog/*.csv" PATTERN build EXCLUDE PATTERN schema EXCLUDE PATTERN draft EXCLUDE
        PATTERN import EXCLUDE PATTERN conform EXCLUDE)
install(DIRECTORY traces/reference DESTINATION ${headroom_data_dir}/traces COMPONENT program USE_SOURCE_PERMISSIONS)
file(GLOB headroom_schemas CONFIGURE_DEPENDS docs/reference/schemas/*.schema.json)
install(FILES ${headroom_schemas} DESTINATION ${headroom_data_dir}/docs/reference/schemas COMPONENT program)

install(FILES docs/reference/headroom.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
install(FILES docs/reference/completion/headroom.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME headroom COMPONENT program)
install(FILES docs/reference/completion/_headroom DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
        COMPONENT program)
install(FILES docs/reference/completion/headroom.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
        COMPONENT program)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program
        FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png" PATTERN "*.json" PATTERN "examples/*"
        PATTERN schemas EXCLUDE PATTERN completion EXCLUDE)
