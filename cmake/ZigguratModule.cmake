# One library per folder of lib/, made of all its sources.
#
#   ziggurat_module(comm
#     DEPENDS layout tensor         # the modules whose headers its own headers include
#     PRIVATE_DEPENDS base          # and those that only its sources include; no other may be included
#     FOLDERS node "mpi: node"      # subfolders, and of those before it the ones that a subfolder may include
#     TEST_FOLDERS "verify: node"   # the same, as a library of its own, ziggurat::comm_verify, that only tests link, and
#                                   # a program that is built to be tested (ZIGGURAT_DEVICE)
#     PRIVATE_FOLDERS stream        # headers of its sources alone, which need not compile on every processor
#     LIBRARIES MPI::MPI_CXX)       # third party, for its sources
#
# Gives the target ziggurat::comm. scripts/check_layers.py holds modules and folders to what is said here. Building
# all_verify_interface_header_sets compiles every header alone.
function(ziggurat_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPENDS;PRIVATE_DEPENDS;FOLDERS;TEST_FOLDERS;PRIVATE_FOLDERS;LIBRARIES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "ziggurat_module(${name}): unknown '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  list(TRANSFORM arg_DEPENDS PREPEND ziggurat::)
  list(TRANSFORM arg_PRIVATE_DEPENDS PREPEND ziggurat::)
  list(TRANSFORM arg_FOLDERS REPLACE " *:.*" "")
  list(TRANSFORM arg_TEST_FOLDERS REPLACE " *:.*" "")
  _ziggurat_library(${name} "${arg_DEPENDS}" "${arg_PRIVATE_DEPENDS};${arg_LIBRARIES}" . ${arg_FOLDERS})
  if(ZIGGURAT_BUILD_TESTS OR ZIGGURAT_DEVICE STREQUAL delayed_host)
    foreach(folder IN LISTS arg_TEST_FOLDERS)
      _ziggurat_library(${name}_${folder} ziggurat::${name} "${arg_PRIVATE_DEPENDS}" ${folder})
    endforeach()
  endif()
endfunction()

# The library of all sources in the folders that follow the named arguments.
function(_ziggurat_library name depends private_depends)
  list(TRANSFORM ARGN APPEND /*.hpp OUTPUT_VARIABLE header_patterns)
  list(TRANSFORM ARGN APPEND /*.cpp OUTPUT_VARIABLE source_patterns)
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
  target_link_libraries(ziggurat_${name} ${kind} ziggurat_options ${depends})
  if(sources)
    target_link_libraries(ziggurat_${name} PRIVATE ${private_depends})
    ziggurat_precompiled(ziggurat_${name})
  endif()
  target_compile_features(ziggurat_${name} ${kind} cxx_std_20)
endfunction()
