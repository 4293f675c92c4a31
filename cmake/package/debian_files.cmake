# Called by CPack before it makes a Debian package: there pages are compressed, libraries lie where the system looks for them,
# and a modulefile is of no use.
file(GLOB_RECURSE files ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*)
foreach(file IN LISTS files)
  if(file MATCHES "/(man1/[^/]*\\.1|doc/ziggurat/changelog)$")
    execute_process(COMMAND gzip -9n ${file} COMMAND_ERROR_IS_FATAL ANY)
  elseif(file MATCHES "/bin/ziggurat$")
    file(RPATH_REMOVE FILE ${file})
  elseif(file MATCHES "/share/modulefiles/")
    string(REGEX REPLACE "/share/modulefiles/.*" "/share/modulefiles" folder ${file})
    file(REMOVE_RECURSE ${folder})
  endif()
endforeach()
