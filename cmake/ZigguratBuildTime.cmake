# What keeps a build from nothing short.
#
#   ziggurat_precompiled(TARGET)         headers of the standard library that most sources include are compiled once,
#                                        which saves a quarter of the time; neither ours nor those of third parties
#   ziggurat_computes_nothing(TARGET)    what reads, writes and prints is not worth optimising much
#   ziggurat_tests_compute_little(TARGET)    under the sanitizers it is not optimised: that halves the time to compile
#                                        it there, and tests spend theirs elsewhere. All checks stay
#   ziggurat_handles_addresses(TARGET)    what cuts objects out of raw memory keeps the undefined-behaviour sanitizer's
#                                        checks of each access, such as that of alignment
option(ZIGGURAT_PRECOMPILE "Compile headers of the standard library once, for all sources" ON)

if(ZIGGURAT_PRECOMPILE)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/std_headers.cpp CONTENT "")
  add_library(ziggurat_std_headers OBJECT ${PROJECT_BINARY_DIR}/std_headers.cpp)
  target_link_libraries(ziggurat_std_headers PRIVATE ziggurat_options ziggurat_warnings)
  target_precompile_headers(ziggurat_std_headers PRIVATE <algorithm> <array> <cmath> <cstdint> <filesystem> <functional>
    <map> <memory> <optional> <set> <span> <string> <string_view> <utility> <variant> <vector>)
  if(ZIGGURAT_SANITIZE)
    add_library(ziggurat_std_headers_unoptimised OBJECT ${PROJECT_BINARY_DIR}/std_headers.cpp)
    target_link_libraries(ziggurat_std_headers_unoptimised PRIVATE ziggurat_options ziggurat_warnings)
    target_compile_options(ziggurat_std_headers_unoptimised PRIVATE -O0)
    get_target_property(headers ziggurat_std_headers PRECOMPILE_HEADERS)
    target_precompile_headers(ziggurat_std_headers_unoptimised PRIVATE ${headers})
  endif()
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
  ziggurat_tests_compute_little(${target})
endfunction()

function(ziggurat_tests_compute_little target)
  if(ZIGGURAT_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
    get_target_property(precompiled ${target} PRECOMPILE_HEADERS_REUSE_FROM)
    if(precompiled)
      set_target_properties(${target} PROPERTIES PRECOMPILE_HEADERS_REUSE_FROM ziggurat_std_headers_unoptimised)
    endif()
  endif()
endfunction()

function(ziggurat_handles_addresses target)
  set_target_properties(${target} PROPERTIES HANDLES_ADDRESSES ON)  # ZigguratWarnings.cmake asks
endfunction()
