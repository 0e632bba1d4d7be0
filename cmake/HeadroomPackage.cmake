# The target `package`: the program, the library, its development files and the Python module as packages of Debian.
# What each holds is said by COMPONENT in HeadroomInstall.cmake. See packaging/README.md.
set(packaging ${CMAKE_SOURCE_DIR}/packaging)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME headroom)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "Headroom maintainers <maintainers@headroom.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program library dev)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
# The time of the files, and what the policy of Debian wants beyond what is installed by hand.
set(CPACK_PROJECT_CONFIG_FILE ${packaging}/settings.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${packaging}/finish_trees.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${packaging}/finish_files.cmake)
set(CPACK_HEADROOM_PACKAGING ${packaging})
# The source archive is the target `dist`, since it holds the bundled pages.
set(CPACK_SOURCE_OUTPUT_CONFIG_FILE ${CMAKE_BINARY_DIR}/CPackSourceUnused.cmake)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

# headroom_deb(COMPONENT package section summary description)
macro(headroom_deb component package section summary description)
  string(TOUPPER ${component} name)
  set(CPACK_DEBIAN_${name}_PACKAGE_NAME ${package})
  set(CPACK_DEBIAN_${name}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${name}_DESCRIPTION "${summary}\n${description}")
endmacro()

headroom_deb(program headroom science "simulator and capacity planner for GPU clusters"
  "Headroom replays a trace of jobs on a described cluster and answers what it\ncosts, how long jobs wait, and which capacity meets given goals.\n\nThis package contains the program with its page for the browser, scenarios,\nsmall traces, the manual page and the documentation.")
headroom_deb(library libheadroom${PROJECT_VERSION_MAJOR} libs "simulator of GPU clusters (shared library)"
  "Headroom replays a trace of jobs on a described cluster.\n\nThis package contains the shared library for other programs.")
headroom_deb(dev libheadroom-dev libdevel "simulator of GPU clusters (development files)"
  "Headroom replays a trace of jobs on a described cluster.\n\nThis package contains the headers, the static library, and the files for\npkg-config and CMake.")
headroom_deb(python python3-headroom python "simulator and capacity planner for GPU clusters (Python)"
  "Headroom replays a trace of jobs on a described cluster.\n\nThis package contains the Python module: runs with results as data frames,\nplans, sweeps, and policies that are written in Python.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "python3-headroom, xdg-utils")
# What packages of programs that link the library depend on.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/shlibs @ONLY
     CONTENT "libheadroom @PROJECT_VERSION_MAJOR@ libheadroom@PROJECT_VERSION_MAJOR@ (= @PROJECT_VERSION@)\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${packaging}/library/triggers ${CMAKE_BINARY_DIR}/shlibs)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
string(JOIN ", " CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libheadroom${PROJECT_VERSION_MAJOR} (= ${PROJECT_VERSION})"
       libgsl-dev libglpk-dev libcsv-dev libcjson-dev libyaml-dev zlib1g-dev libzstd-dev libxxhash-dev nettle-dev
       libsqlite3-dev)
if(MICROHTTPD_FOUND)
  string(APPEND CPACK_DEBIAN_DEV_PACKAGE_DEPENDS ", libmicrohttpd-dev")
endif()
if(HEADROOM_WITH_MPI)
  string(APPEND CPACK_DEBIAN_DEV_PACKAGE_DEPENDS ", libopenmpi-dev")
endif()

# The Python module is compiled when it is packaged, for the Python of Debian.
set(headroom_python /usr/bin/python3)
execute_process(
  COMMAND ${headroom_python} -c "import cffi, os, sys, sysconfig
assert os.path.exists(sysconfig.get_path('include') + '/Python.h')
print('%d.%d %d.%d' % (sys.version_info[0], sys.version_info[1], sys.version_info[0], sys.version_info[1] + 1))"
  RESULT_VARIABLE code OUTPUT_VARIABLE versions ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
if(code EQUAL 0)
  list(APPEND CPACK_COMPONENTS_ALL python)
  separate_arguments(versions)
  list(GET versions 0 this)
  list(GET versions 1 next)
  string(JOIN ", " CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "libheadroom${PROJECT_VERSION_MAJOR} (= ${PROJECT_VERSION})"
         "python3 (>= ${this})" "python3 (<< ${next})" python3-cffi python3-cffi-backend)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS "python3-numpy, python3-pandas")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${packaging}/python/postinst ${packaging}/python/prerm)
  install(CODE "set(headroom_python ${headroom_python})\nset(headroom_source ${CMAKE_SOURCE_DIR})
set(headroom_library ${CMAKE_BINARY_DIR})\ninclude(${packaging}/python/install.cmake)"
          COMPONENT python EXCLUDE_FROM_ALL)
else()
  message(STATUS "python3-cffi or python3-dev is missing: 'package' will make no python3-headroom")
endif()
include(CPack)

# The source archive, with the bundled pages: it builds without network, node and npm.
if(TARGET report_page AND TARGET planner_page)
  add_custom_target(dist
    COMMAND ${packaging}/dist ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} ${PROJECT_VERSION}
    DEPENDS report_page planner_page USES_TERMINAL VERBATIM)
endif()
