# Every library that Ziggurat uses, found once. Nothing is downloaded; scripts/setup.sh installs what is missing.
# What the user brings (CMAKE_PREFIX_PATH, <Package>_ROOT, <Package>_DIR) is found before what the system has.
# OpenMP is needed by Kokkos' OpenMP backend and by `omp simd`.
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(Threads REQUIRED)
find_package(MPI REQUIRED COMPONENTS CXX)
find_package(dnnl REQUIRED CONFIG)
if(NOT TARGET dnnl::dnnl)
  add_library(dnnl::dnnl ALIAS DNNL::dnnl)
endif()
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(fmt REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(oniguruma REQUIRED IMPORTED_TARGET oniguruma)
pkg_check_modules(sentencepiece IMPORTED_TARGET sentencepiece)  # without it, tokenizers of that kind are refused
# The serial library suffices, for each writer has a file of its own; a parallel one does as well.
find_package(HDF5 1.10.5 REQUIRED COMPONENTS C)
find_package(libaio REQUIRED)
if(ZIGGURAT_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(ZIGGURAT_BUILD_PERF)
  find_package(benchmark REQUIRED)
endif()

# Kokkos: the user's, else the one that scripts/setup.sh built, else the system's (Debian's has no threads).
# Where the last configuration found one of the latter two must not keep the user's from being seen.
set(ziggurat_own_kokkos ${PROJECT_SOURCE_DIR}/build/dependencies/kokkos)
if(Kokkos_DIR MATCHES "^(${PROJECT_SOURCE_DIR}/build/dependencies|/usr/lib)/")
  unset(Kokkos_DIR CACHE)
endif()
find_package(Kokkos QUIET NO_SYSTEM_ENVIRONMENT_PATH NO_CMAKE_SYSTEM_PATH)
if(NOT Kokkos_FOUND)
  find_package(Kokkos QUIET PATHS ${ziggurat_own_kokkos} NO_DEFAULT_PATH)
endif()
if(NOT Kokkos_FOUND)
  find_package(Kokkos QUIET)
endif()
if(NOT Kokkos_FOUND)
  message(FATAL_ERROR "Kokkos is not found. Run scripts/setup.sh, or bring one: -DKokkos_ROOT=/its/prefix")
endif()
message(STATUS "Kokkos ${Kokkos_VERSION} with ${Kokkos_DEVICES}: ${Kokkos_DIR}")

# Debian's Kokkos 3.4 names an include folder that does not exist.
get_target_property(kokkos_includes Kokkos::kokkos INTERFACE_INCLUDE_DIRECTORIES)
if("${kokkos_includes}" MATCHES "/usr/lib/include")
  set_target_properties(Kokkos::kokkos PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${Kokkos_INCLUDE_DIRS}")
endif()
