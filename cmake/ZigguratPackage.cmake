# What is installed besides the program itself (app/CMakeLists.txt), in two components, and a Debian package of one.
#
#   program        the program, what it needs to run and what explains it; a modulefile for Lmod
#   development    the libraries of lib/ with their headers, for find_package(ziggurat): cmake/package/zigguratConfig.cmake.in
#
#   cmake --install build/release --prefix PREFIX      both; PREFIX may be moved
#   cpack --config build/release/CPackConfig.cmake     ziggurat_VERSION_ARCHITECTURE.deb: the program
include(CMakePackageConfigHelpers)

set(ZIGGURAT_PACKAGE_CONTACT "Ziggurat maintainers <maintainers@ziggurat.example.org>" CACHE STRING
  "Who makes the package: name and address, as Debian writes them")
set(packaged ${CMAKE_CURRENT_BINARY_DIR}/packaged)

# ---------------------------------------------------------------- the program

install(FILES cmake/package/copyright DESTINATION share/doc/ziggurat COMPONENT program)
configure_file(cmake/package/changelog.in ${packaged}/changelog @ONLY)
install(FILES ${packaged}/changelog DESTINATION share/doc/ziggurat COMPONENT program)
install(FILES cmake/package/modulefile.lua DESTINATION share/modulefiles/ziggurat RENAME ${PROJECT_VERSION}.lua
  COMPONENT program)

# ---------------------------------------------------------------- the libraries

# Those of GPUs and of the sanitizers are for this build alone.
if(ZIGGURAT_CUDA STREQUAL off AND NOT ZIGGURAT_SANITIZE)
  get_property(modules GLOBAL PROPERTY ziggurat_modules)
  list(TRANSFORM modules PREPEND ziggurat_ OUTPUT_VARIABLE targets)
  install(TARGETS ziggurat_options ziggurat_warnings ${targets} EXPORT zigguratTargets
    ARCHIVE DESTINATION lib/ziggurat COMPONENT development
    FILE_SET HEADERS DESTINATION include/ziggurat COMPONENT development)
  foreach(module IN LISTS modules)
    set_target_properties(ziggurat_${module} PROPERTIES EXPORT_NAME ${module})
  endforeach()
  install(FILES ${PROJECT_BINARY_DIR}/lib/comm/include/comm/built_with.hpp DESTINATION include/ziggurat/comm
    COMPONENT development)
  install(FILES ${PROJECT_BINARY_DIR}/lib/device/include/device/built_for.hpp DESTINATION include/ziggurat/device
    COMPONENT development)

  set(config_folder lib/cmake/ziggurat)
  install(EXPORT zigguratTargets NAMESPACE ziggurat:: DESTINATION ${config_folder} COMPONENT development)
  configure_package_config_file(cmake/package/zigguratConfig.cmake.in ${packaged}/zigguratConfig.cmake
    INSTALL_DESTINATION ${config_folder} NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
  # Before version 1 each minor version may change what others call.
  write_basic_package_version_file(${packaged}/zigguratConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${packaged}/zigguratConfig.cmake ${packaged}/zigguratConfigVersion.cmake
    cmake/ZigguratDependencies.cmake cmake/Findlibaio.cmake DESTINATION ${config_folder} COMPONENT development)
  # The Kokkos that scripts/setup.sh has built goes along: nobody else has it.
  if(Kokkos_DIR MATCHES "^${ziggurat_own_kokkos}/")
    install(DIRECTORY ${ziggurat_own_kokkos}/include ${ziggurat_own_kokkos}/lib DESTINATION lib/ziggurat/kokkos
      COMPONENT development)
  endif()
endif()

# ---------------------------------------------------------------- the package

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ziggurat)
set(CPACK_PACKAGE_CONTACT ${ZIGGURAT_PACKAGE_CONTACT})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "trains transformer language models larger than device memory")
set(compiled_for "This one was compiled with -march=${ZIGGURAT_MARCH}.")
if(ZIGGURAT_MARCH STREQUAL native)
  set(compiled_for "This one was compiled for the processor of the machine that made it.")
endif()
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION
"Ziggurat spreads the training of a language model over the ranks of an
MPI job, and its state over the memory of devices, of hosts, and NVMe.
One YAML deck says what the model is and how it is spread; what cannot be
is refused before anything starts. Decks, descriptions of machines, a
manual page, completion for bash and a batch script for Slurm come with it.
.
${compiled_for}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME ziggurat)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# What starts ranks is no library: it has to be of the MPI that was linked.
execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE launcher ERROR_QUIET)
if(launcher MATCHES "Open MPI|OpenRTE")
  set(CPACK_DEBIAN_PACKAGE_DEPENDS openmpi-bin)
elseif(launcher MATCHES "HYDRA")
  set(CPACK_DEBIAN_PACKAGE_DEPENDS mpich)
endif()
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "bash-completion, python3-jinja2, slurm-client")
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/package/debian_files.cmake)
include(CPack)
