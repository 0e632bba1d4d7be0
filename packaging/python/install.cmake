# Part of the installation of the component `python`: compiles the module and writes the package of Python.
set(folder $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/lib/python3/dist-packages)
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
          ${headroom_python} ${headroom_source}/python/build_backend/headroom_backend.py ${headroom_library} ${folder}
  COMMAND_ERROR_IS_FATAL ANY)
