# Writes OUTPUT, a header with the commit of SOURCE ("unknown" outside a clone).
# Does not rewrite the file if its content is unchanged.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${CMAKE_COMMAND} -E env GIT_OPTIONAL_LOCKS=0
  git -C ${SOURCE} describe --always --dirty --abbrev=9 --exclude=*
  OUTPUT_VARIABLE hash OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed OR NOT EXISTS ${SOURCE}/.git)
  set(hash unknown)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT
"#pragma once\n\nnamespace ziggurat::app {\n\ninline constexpr const char* git_hash = \"@hash@\";\n\n}\n")
