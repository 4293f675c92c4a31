# One program per test source; one CTest entry per rank count.
#
#   ziggurat_test(mpi/collectives  SOURCE mpi/collectives_test.cpp  MODULES comm
#     RANKS 1 2 3 4  LABELS mpi  TIMEOUT 60)
#
# makes mpi/collectives/1 ... mpi/collectives/4. Without RANKS it is one plain process. OPTIMISED, also under the
# sanitizers: for what computes much itself.
#
# Target unit_and_rank_tests: all that tests labelled unit or mpi start.
add_custom_target(unit_and_rank_tests)
set(ZIGGURAT_MPI_FLAGS "--oversubscribe;--allow-run-as-root;--bind-to;none" CACHE STRING "What mpiexec takes besides -n")

function(ziggurat_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OPTIMISED" "SOURCE;TIMEOUT" "MODULES;RANKS;LABELS;LIBRARIES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "ziggurat_test(${name}): unknown '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)  # against hangs only: no test depends on time
  endif()

  string(REPLACE "/" "_" target "test_${name}")
  add_executable(${target} ${arg_SOURCE})
  list(TRANSFORM arg_MODULES PREPEND ziggurat::)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE ziggurat_options ziggurat_warnings ${arg_MODULES} ${arg_LIBRARIES}
    GTest::gtest GTest::gmock $<IF:$<BOOL:${arg_RANKS}>,ziggurat_rank_main,ziggurat_test_main>)

  if(arg_LABELS MATCHES "unit|mpi")
    add_dependencies(unit_and_rank_tests ${target})
  endif()
  if(arg_OPTIMISED AND ZIGGURAT_SANITIZE)
    target_compile_options(${target} PRIVATE -O1)
  else()
    target_link_libraries(${target} PRIVATE ziggurat_test_options)
    target_precompile_headers(${target} REUSE_FROM ziggurat_test_headers)
  endif()

  set(entries ${name})
  if(arg_RANKS)
    list(TRANSFORM arg_RANKS PREPEND "${name}/" OUTPUT_VARIABLE entries)
  endif()
  foreach(entry IN LISTS entries)
    set(ranks 1)
    set(launcher)
    if(arg_RANKS)
      get_filename_component(ranks ${entry} NAME)
      set(launcher ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${ZIGGURAT_MPI_FLAGS})
    endif()
    add_test(NAME ${entry} COMMAND ${launcher} $<TARGET_FILE:${target}>)
    set_tests_properties(${entry} PROPERTIES
      LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} PROCESSORS ${ranks}
      ENVIRONMENT "OMP_NUM_THREADS=2;OMP_WAIT_POLICY=passive;OMPI_MCA_btl_base_warn_component_unused=0;PROJECT_SOURCE_DIR=${PROJECT_SOURCE_DIR};ZIGGURAT_BINARY=${CMAKE_BINARY_DIR}/bin/ziggurat")
  endforeach()
endfunction()
