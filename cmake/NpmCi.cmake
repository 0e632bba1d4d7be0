# cmake -DNPM=program -DWORK=folder -P NpmCi.cmake: `npm ci` there; its words only when it fails.
execute_process(
  COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund --loglevel=error
  WORKING_DIRECTORY ${WORK}
  RESULT_VARIABLE code OUTPUT_VARIABLE words ERROR_VARIABLE words)
file(WRITE ${WORK}/npm.log "${words}")
if(NOT code EQUAL 0)
  message(FATAL_ERROR "npm ci failed in ${WORK} (${code}); the build needs the npm registry or a filled npm cache:\n"
                      "${words}")
endif()
