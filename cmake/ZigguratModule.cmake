# One library per folder of lib/, made of all its sources.
#
#   ziggurat_module(comm
#     DEPENDS layout tensor         # the modules whose headers its own headers include
#     PRIVATE_DEPENDS base          # and those that only its sources include; no other may be included
#     FOLDERS node "mpi: node"      # subfolders, and of those before it the ones that a subfolder may include
#     TEST_FOLDERS "verify: node"   # the same, as a library of its own, ziggurat::comm_verify, that only tests link, and
#                                   # a program that is built to be tested (ZIGGURAT_DEVICE)
#     CUDA_FOLDERS cuda             # folders of *_cuda.cu, compiled where ZIGGURAT_CUDA is not off
#     NCCL_FOLDERS nccl             # the same, where there is NCCL too
#     PRIVATE_FOLDERS stream        # headers of its sources alone, which need not compile on every processor
#     ALONE limits.cpp rules/*.cpp  # what is never compiled together with its folder (ZIGGURAT_TOGETHER)
#     LIBRARIES MPI::MPI_CXX)       # third party, for its sources
#
# Gives the target ziggurat::comm. scripts/check_layers.py holds modules and folders to what is said here. Building
# all_verify_interface_header_sets compiles every header alone.
#
# With ZIGGURAT_TOGETHER the compiler takes the sources of a folder as one, which halves the time of a build from
# nothing: for the sanitizers. A name that two sources of a folder have in their anonymous namespaces then clashes:
# rename it, or say ALONE.
option(ZIGGURAT_TOGETHER "Compile the sources of a folder together" OFF)

function(ziggurat_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" ""
    "DEPENDS;PRIVATE_DEPENDS;FOLDERS;TEST_FOLDERS;CUDA_FOLDERS;NCCL_FOLDERS;PRIVATE_FOLDERS;ALONE;LIBRARIES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "ziggurat_module(${name}): unknown '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  list(TRANSFORM arg_DEPENDS PREPEND ziggurat::)
  list(TRANSFORM arg_PRIVATE_DEPENDS PREPEND ziggurat::)
  list(TRANSFORM arg_FOLDERS REPLACE " *:.*" "")
  list(TRANSFORM arg_TEST_FOLDERS REPLACE " *:.*" "")
  if(arg_ALONE)
    file(GLOB alone CONFIGURE_DEPENDS ${arg_ALONE})
    set_source_files_properties(${alone} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  set_property(GLOBAL APPEND PROPERTY ziggurat_modules ${name})  # for ZigguratPackage.cmake
  _ziggurat_library(${name} "${arg_DEPENDS}" "${arg_PRIVATE_DEPENDS};${arg_LIBRARIES}" . ${arg_FOLDERS})
  if(arg_CUDA_FOLDERS)
    list(TRANSFORM arg_CUDA_FOLDERS REPLACE " *:.*" "")
    list(TRANSFORM arg_CUDA_FOLDERS APPEND /*_cuda.cu OUTPUT_VARIABLE cuda_patterns)
    file(GLOB cuda_sources CONFIGURE_DEPENDS ${cuda_patterns})
    ziggurat_cuda_sources(ziggurat_${name} ${cuda_sources})
  endif()
  if(arg_NCCL_FOLDERS AND TARGET ziggurat_nccl)
    list(TRANSFORM arg_NCCL_FOLDERS REPLACE " *:.*" "")
    list(TRANSFORM arg_NCCL_FOLDERS APPEND /*_cuda.cu OUTPUT_VARIABLE nccl_patterns)
    file(GLOB nccl_sources CONFIGURE_DEPENDS ${nccl_patterns})
    ziggurat_cuda_sources(ziggurat_${name} ${nccl_sources})
    target_link_libraries(ziggurat_${name} PRIVATE ziggurat_nccl)
  endif()
  if(ZIGGURAT_BUILD_TESTS OR ZIGGURAT_DEVICE STREQUAL emulated_host)
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
  list(FILTER headers EXCLUDE REGEX "_(host|impl|cuda)\\.hpp$")
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
    if(ZIGGURAT_TOGETHER)
      _ziggurat_compile_together(ziggurat_${name} ${sources})
    endif()
  endif()
  target_compile_features(ziggurat_${name} ${kind} cxx_std_20)
endfunction()

# Sources of one folder are one for the compiler; those with options of their own stay alone.
function(_ziggurat_compile_together target)
  foreach(source IN LISTS ARGN)
    get_filename_component(folder ${source} DIRECTORY)
    file(RELATIVE_PATH folder ${CMAKE_CURRENT_SOURCE_DIR} ${folder})
    string(MAKE_C_IDENTIFIER "in_${folder}" group)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  target_compile_options(${target} PRIVATE -Wno-subobject-linkage)  # what is anonymous is so in any case
endfunction()
