# Every library that Ziggurat uses, found once. Nothing is downloaded; scripts/setup.sh installs what is missing.
# What the user brings (CMAKE_PREFIX_PATH, <Package>_ROOT, <Package>_DIR) is found before what the system has.
#
# Others who find_package(ziggurat) need the same: this file is installed beside zigguratConfig.cmake, which sets
# ziggurat_is_dependency. What is missing there makes ziggurat not found, with the reason.
include(CMakeFindDependencyMacro)
macro(ziggurat_find)
  if(ziggurat_is_dependency)
    find_dependency(${ARGN})
  else()
    find_package(${ARGN} REQUIRED)
  endif()
endmacro()

# OpenMP is needed by Kokkos' OpenMP backend and by `omp simd`.
ziggurat_find(OpenMP COMPONENTS CXX)
ziggurat_find(Threads)
ziggurat_find(MPI COMPONENTS CXX)
ziggurat_find(dnnl CONFIG)
if(NOT TARGET dnnl::dnnl)
  add_library(dnnl::dnnl ALIAS DNNL::dnnl)
endif()
ziggurat_find(yaml-cpp)
ziggurat_find(nlohmann_json)
ziggurat_find(fmt)
ziggurat_find(PkgConfig)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(oniguruma REQUIRED IMPORTED_TARGET oniguruma)
ziggurat_find(ZLIB)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(sentencepiece IMPORTED_TARGET sentencepiece)  # without it, tokenizers of that kind are refused
# The serial library suffices, for each writer has a file of its own; a parallel one does as well.
ziggurat_find(HDF5 1.10.5 COMPONENTS C)
ziggurat_find(libaio)
if(ZIGGURAT_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(ZIGGURAT_BUILD_PERF)
  find_package(benchmark REQUIRED)
endif()

# Kokkos: the user's, else the one that scripts/setup.sh built, else the system's (Debian's has no threads).
# Where the last configuration found one of the latter two must not keep the user's from being seen.
if(NOT ziggurat_is_dependency)
  set(ziggurat_own_kokkos ${PROJECT_SOURCE_DIR}/build/dependencies/kokkos)
endif()
if(Kokkos_DIR MATCHES "^(${PROJECT_SOURCE_DIR}/build/dependencies|/usr/lib)/")
  unset(Kokkos_DIR CACHE)
endif()
if(ziggurat_is_dependency)  # where one lies beside the libraries, they were compiled with it
  find_package(Kokkos QUIET PATHS ${ziggurat_own_kokkos} NO_DEFAULT_PATH)
endif()
if(NOT Kokkos_FOUND)
  find_package(Kokkos QUIET NO_SYSTEM_ENVIRONMENT_PATH NO_CMAKE_SYSTEM_PATH)
endif()
if(NOT Kokkos_FOUND)
  find_package(Kokkos QUIET PATHS ${ziggurat_own_kokkos} NO_DEFAULT_PATH)
endif()
if(NOT Kokkos_FOUND)
  find_package(Kokkos QUIET)
endif()
if(NOT Kokkos_FOUND AND ziggurat_is_dependency)
  set(ziggurat_FOUND OFF)
  set(ziggurat_NOT_FOUND_MESSAGE "Kokkos is not found. Set Kokkos_ROOT to its prefix.")
  return()
elseif(NOT Kokkos_FOUND)
  message(FATAL_ERROR "Kokkos is not found. Run scripts/setup.sh, or bring one: -DKokkos_ROOT=/its/prefix")
endif()
message(STATUS "Kokkos ${Kokkos_VERSION} with ${Kokkos_DEVICES}: ${Kokkos_DIR}")

# Debian's Kokkos 3.4 names an include folder that does not exist.
get_target_property(kokkos_includes Kokkos::kokkos INTERFACE_INCLUDE_DIRECTORIES)
if("${kokkos_includes}" MATCHES "/usr/lib/include")
  set_target_properties(Kokkos::kokkos PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${Kokkos_INCLUDE_DIRS}")
endif()
