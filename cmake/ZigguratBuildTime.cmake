# What keeps a build from nothing short.
#
#   ziggurat_precompiled(TARGET)         headers of the standard library that most sources include are compiled once,
#                                        which saves a quarter of the time; neither ours nor those of third parties
#   ziggurat_computes_nothing(TARGET)    what reads, writes and prints is not worth optimising much
option(ZIGGURAT_PRECOMPILE "Compile headers of the standard library once, for all sources" ON)

if(ZIGGURAT_PRECOMPILE)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/std_headers.cpp CONTENT "")
  add_library(ziggurat_std_headers OBJECT ${PROJECT_BINARY_DIR}/std_headers.cpp)
  target_link_libraries(ziggurat_std_headers PRIVATE ziggurat_options ziggurat_warnings)
  target_precompile_headers(ziggurat_std_headers PRIVATE <algorithm> <array> <cmath> <cstdint> <filesystem> <functional>
    <map> <memory> <optional> <set> <span> <string> <string_view> <utility> <variant> <vector>)
endif()

function(ziggurat_precompiled target)
  # OpenMP's macros would have to be the same in what is compiled once.
  get_target_property(libraries ${target} LINK_LIBRARIES)
  if(ZIGGURAT_PRECOMPILE AND NOT "OpenMP::OpenMP_CXX" IN_LIST libraries)
    target_precompile_headers(${target} REUSE_FROM ziggurat_std_headers)
  endif()
endfunction()

function(ziggurat_computes_nothing target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()
