# The page of `headroom report`: one HTML file, bundled at build time from report/web and the chart library that npm
# gives.
# Sets HEADROOM_PAGE_HTML to the file that the target report_page makes; empty where node or npm is missing.
find_program(NODE_PROGRAM NAMES node nodejs)
find_program(NPM_PROGRAM NAMES npm)

# headroom_npm_ci(SOURCE folder WORK folder STAMP file): the packages of SOURCE's lock file, in WORK/node_modules,
# whenever that lock file changes. What npm says is kept in WORK/npm.log, and told when it fails.
function(headroom_npm_ci)
  cmake_parse_arguments(ARG "" "SOURCE;WORK;STAMP" "" ${ARGN})
  set(given ${ARG_SOURCE}/package.json ${ARG_SOURCE}/package-lock.json)
  add_custom_command(
    OUTPUT ${ARG_STAMP}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${ARG_WORK}
    COMMAND ${CMAKE_COMMAND} -E copy ${given} ${ARG_WORK}
    COMMAND ${CMAKE_COMMAND} -DNPM=${NPM_PROGRAM} -DWORK=${ARG_WORK} -P ${CMAKE_SOURCE_DIR}/cmake/NpmCi.cmake
    COMMAND ${CMAKE_COMMAND} -E touch ${ARG_STAMP}
    DEPENDS ${given} ${CMAKE_SOURCE_DIR}/cmake/NpmCi.cmake
    COMMENT "Fetching the packages of ${ARG_SOURCE}" VERBATIM)
endfunction()

set(HEADROOM_PAGE "" CACHE FILEPATH "A page that another build of this tree has bundled; empty: bundle it")

# The source archive holds the pages, bundled (packaging/dist).
set(headroom_bundle ${CMAKE_SOURCE_DIR}/bundle)
set(HEADROOM_PAGE_HTML "")
if(HEADROOM_PAGE)
  set(HEADROOM_PAGE_HTML ${HEADROOM_PAGE})
elseif(EXISTS ${headroom_bundle}/page.html)
  set(HEADROOM_PAGE_HTML ${headroom_bundle}/page.html)
elseif(NODE_PROGRAM AND NPM_PROGRAM)
  set(HEADROOM_PAGE_HTML ${CMAKE_BINARY_DIR}/report/web/page.html)
  set(work ${CMAKE_BINARY_DIR}/report/web)
  set(source ${CMAKE_SOURCE_DIR}/report/web)
  file(GLOB_RECURSE parts CONFIGURE_DEPENDS ${source}/src/*.js ${source}/style/*.css)
  headroom_npm_ci(SOURCE ${source} WORK ${work} STAMP ${work}/packages.stamp)
  add_custom_command(
    OUTPUT ${HEADROOM_PAGE_HTML}
    COMMAND ${NODE_PROGRAM} ${source}/build.mjs ${source} ${work}/node_modules ${HEADROOM_PAGE_HTML}
    DEPENDS ${work}/packages.stamp ${source}/build.mjs ${source}/template.html ${parts}
    COMMENT "Bundling the report page" VERBATIM)
  add_custom_target(report_page DEPENDS ${HEADROOM_PAGE_HTML})
else()
  message(NOTICE "-- No node or no npm: this build will have no pages (headroom serve, headroom report, --report). "
                 "Install the packages nodejs and npm and configure again, or build from the source archive.")
endif()
