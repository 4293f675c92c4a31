# One library per folder of lib/, made of all its sources.
#
#   ziggurat_module(comm
#     DEPENDS layout tensor         # the modules whose headers its own headers include
#     PRIVATE_DEPENDS base          # and those that only its sources include; no other may be included
#     FOLDERS node mpi              # subfolders whose files belong to it as well
#     LIBRARIES MPI::MPI_CXX)       # third party, for its sources
#
# Gives the target ziggurat::comm. Building all_verify_interface_header_sets compiles every header alone.
function(ziggurat_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPENDS;PRIVATE_DEPENDS;FOLDERS;LIBRARIES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "ziggurat_module(${name}): unknown '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  set(header_patterns "*.hpp")
  set(source_patterns "*.cpp")
  foreach(folder IN LISTS arg_FOLDERS)
    list(APPEND header_patterns "${folder}/*.hpp")
    list(APPEND source_patterns "${folder}/*.cpp")
  endforeach()
  file(GLOB headers CONFIGURE_DEPENDS ${header_patterns})
  # Private to the sources of one library, whose headers they include.
  list(FILTER headers EXCLUDE REGEX "_(host|impl)\\.hpp$")
  file(GLOB sources CONFIGURE_DEPENDS ${source_patterns})
  set(kind PUBLIC)
  if(sources)
    add_library(ziggurat_${name} STATIC ${sources})
    target_link_libraries(ziggurat_${name} PRIVATE ziggurat_warnings)
    set_target_properties(ziggurat_${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  else()
    add_library(ziggurat_${name} INTERFACE)
    set(kind INTERFACE)
  endif()
  add_library(ziggurat::${name} ALIAS ziggurat_${name})
  target_sources(ziggurat_${name}
    ${kind} FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/lib" FILES ${headers})
  list(TRANSFORM arg_DEPENDS PREPEND ziggurat::)
  list(TRANSFORM arg_PRIVATE_DEPENDS PREPEND ziggurat::)
  target_link_libraries(ziggurat_${name} ${kind} ziggurat_options ${arg_DEPENDS})
  if(sources)
    target_link_libraries(ziggurat_${name} PRIVATE ${arg_PRIVATE_DEPENDS} ${arg_LIBRARIES})
  endif()
  target_compile_features(ziggurat_${name} ${kind} cxx_std_20)
endfunction()
