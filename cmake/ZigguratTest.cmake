# Tests: one program per folder, one CTest entry per source file and rank count.
#
#   ziggurat_test_program(mpi RANKS  MODULES comm train  LIBRARIES dl)
#   ziggurat_test(mpi/collectives  RANKS 1 2 3 4  LABELS mpi  TIMEOUT 60)
#
# The first makes the program test_mpi, whose main starts MPI. The second adds collectives_test.cpp to it, and the
# entries mpi/collectives/1 ... mpi/collectives/4, which run `test_mpi --file=mpi/collectives_test.cpp` on so many
# ranks. Without RANKS an entry is one plain process.
#
#   PROGRAM     another program than that of the entry's folder
#   SOURCE      another file than <last part of the name>_test.cpp in the current folder
#   OPTIMISED   also under the sanitizers: for what computes much itself
#   LONG        label long, which scripts/test.sh leaves out; after RANKS, a list of the rank counts that are long
#   THREADS     label threads, for the thread sanitizer. Tests of one process are checked to start threads where they
#               say so, and nowhere else
#   DELAYED_THREADS, DELAYED_POLLED
#               after each, a list of rank counts: for each one more entry, mpi/homes/3/delayed_threads, on a device
#               whose memory nobody may touch and whose streams run late (tests/support/test_processors.hpp)
#
# Under the thread sanitizer a test runs on one number of ranks alone, the largest of its own up to three, else the smallest.
#
# A source that replaces what the others use, such as malloc, has a program of its own.
#
# Targets unit_and_rank_tests and thread_tests: all that tests labelled unit or mpi start, and those labelled threads.
add_custom_target(unit_and_rank_tests)
add_custom_target(thread_tests)
set(ZIGGURAT_MPI_FLAGS "--oversubscribe;--allow-run-as-root;--bind-to;none" CACHE STRING "What mpiexec takes besides -n")

set(ziggurat_test_environment OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive OMPI_MCA_btl_base_warn_component_unused=0
  PROJECT_SOURCE_DIR=${PROJECT_SOURCE_DIR} ZIGGURAT_BINARY=${CMAKE_BINARY_DIR}/bin/ziggurat)
# Under the sanitizers a test ends at the first finding.
set(suppressions ${PROJECT_SOURCE_DIR}/scripts/sanitizers)
if(ZIGGURAT_SANITIZE MATCHES thread)
  # It does not follow the barriers of OpenMP's threads.
  list(APPEND ziggurat_test_environment OMP_THREAD_LIMIT=1
    TSAN_OPTIONS=halt_on_error=1:suppressions=${suppressions}/thread.supp)
elseif(ZIGGURAT_SANITIZE)
  list(APPEND ziggurat_test_environment UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
    LSAN_OPTIONS=suppressions=${suppressions}/leaks.supp:print_suppressions=0)
endif()

function(ziggurat_test_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "RANKS" "" "MODULES;LIBRARIES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "ziggurat_test_program(${name}): unknown '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  string(REPLACE "/" "_" target "test_${name}")
  add_executable(${target})
  list(TRANSFORM arg_MODULES PREPEND ziggurat::)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE ziggurat_options ziggurat_warnings ziggurat_test_options ${arg_MODULES}
    ${arg_LIBRARIES} GTest::gtest GTest::gmock $<IF:$<BOOL:${arg_RANKS}>,ziggurat_rank_main,ziggurat_test_main>)
  target_precompile_headers(${target} REUSE_FROM ziggurat_test_headers)
endfunction()

function(ziggurat_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OPTIMISED;THREADS" "PROGRAM;SOURCE;TIMEOUT"
    "RANKS;LABELS;LONG;DELAYED_THREADS;DELAYED_POLLED")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "ziggurat_test(${name}): unknown '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  get_filename_component(folder ${name} DIRECTORY)
  get_filename_component(base ${name} NAME)
  if(NOT arg_PROGRAM)
    set(arg_PROGRAM ${folder})
  endif()
  if(NOT arg_SOURCE)
    set(arg_SOURCE ${base}_test.cpp)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)  # against hangs only: no test depends on time
  endif()

  string(REPLACE "/" "_" target "test_${arg_PROGRAM}")
  get_filename_component(source ${arg_SOURCE} ABSOLUTE)
  file(RELATIVE_PATH file ${PROJECT_SOURCE_DIR}/tests ${source})
  target_sources(${target} PRIVATE ${source})
  if(arg_OPTIMISED AND ZIGGURAT_SANITIZE)
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -O1 SKIP_PRECOMPILE_HEADERS ON)
  endif()
  if(arg_LABELS MATCHES "unit|mpi")
    add_dependencies(unit_and_rank_tests ${target})
  endif()
  if(arg_THREADS)
    add_dependencies(thread_tests ${target})
  endif()

  if(arg_RANKS AND ZIGGURAT_SANITIZE MATCHES thread)
    list(SORT arg_RANKS COMPARE NATURAL)
    list(GET arg_RANKS 0 chosen)
    foreach(ranks IN LISTS arg_RANKS)
      if(ranks LESS_EQUAL 3)
        set(chosen ${ranks})
      endif()
    endforeach()
    set(arg_RANKS ${chosen})
  endif()
  list(TRANSFORM arg_RANKS PREPEND "${name}/" OUTPUT_VARIABLE entries)
  foreach(kind IN ITEMS threads polled)
    string(TOUPPER ${kind} upper)
    foreach(ranks IN LISTS arg_DELAYED_${upper})
      list(APPEND entries ${name}/${ranks}/delayed_${kind})
    endforeach()
  endforeach()
  set(has_ranks ON)
  if(NOT entries)
    set(has_ranks OFF)
    set(entries ${name})
  endif()
  foreach(entry IN LISTS entries)
    set(ranks 1)
    set(launcher)
    set(environment ${ziggurat_test_environment})
    if(has_ranks)
      string(REGEX REPLACE "^${name}/([0-9]+).*" "\\1" ranks ${entry})
      if(entry MATCHES "/(delayed_[a-z]+)$")
        list(APPEND environment ZIGGURAT_TEST_DEVICE=${CMAKE_MATCH_1})
      endif()
      set(launcher ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${ZIGGURAT_MPI_FLAGS})
    endif()
    if(NOT has_ranks AND NOT ZIGGURAT_SANITIZE)
      list(APPEND environment ZIGGURAT_TEST_THREADS=$<IF:$<BOOL:${arg_THREADS}>,yes,no>)
    endif()
    if(ZIGGURAT_SANITIZE MATCHES address)
      # Open MPI keeps memory by design.
      list(APPEND environment ASAN_OPTIONS=detect_leaks=$<IF:$<BOOL:${has_ranks}>,0,1>)
    endif()
    set(labels ${arg_LABELS})
    if(LONG IN_LIST arg_KEYWORDS_MISSING_VALUES OR ranks IN_LIST arg_LONG)
      list(APPEND labels long)
    endif()
    if(arg_THREADS)
      list(APPEND labels threads)
    endif()
    add_test(NAME ${entry} COMMAND ${launcher} $<TARGET_FILE:${target}> --file=${file})
    set_tests_properties(${entry} PROPERTIES
      LABELS "${labels}" TIMEOUT ${arg_TIMEOUT} PROCESSORS ${ranks} ENVIRONMENT "${environment}")
  endforeach()
endfunction()

# ziggurat_unit_tests(train  MODULES train base  [LIBRARIES ...]  [OPTIMISED] [THREADS console requests]): program and
# entries of all *_test.cpp of the current folder, unit/train. THREADS: those that start threads; under the thread
# sanitizer the program has no others.
function(ziggurat_unit_tests module)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OPTIMISED" "" "MODULES;LIBRARIES;THREADS")
  ziggurat_test_program(unit/${module} MODULES ${arg_MODULES} LIBRARIES ${arg_LIBRARIES})
  file(GLOB sources CONFIGURE_DEPENDS *_test.cpp)
  foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    string(REGEX REPLACE "_test$" "" name ${name})
    set(options)
    if(arg_OPTIMISED)
      list(APPEND options OPTIMISED)
    endif()
    if(name IN_LIST arg_THREADS)
      list(APPEND options THREADS)
    elseif(arg_THREADS AND ZIGGURAT_SANITIZE MATCHES thread)
      continue()
    endif()
    ziggurat_test(unit/${module}/${name} LABELS unit ${options})
  endforeach()
endfunction()

# ziggurat_test_seconds(e2e/readme 85  e2e/slurm 65 ...): about how long tests take. The longest begin first, so that no
# core waits in the end for one that began last; CTest itself knows that only where it has run them before.
function(ziggurat_test_seconds)
  while(ARGN)
    list(POP_FRONT ARGN name seconds)
    set_tests_properties(${name} PROPERTIES COST ${seconds})
  endwhile()
endfunction()

# ziggurat_counted_tests(fuzz/fuzz/7 ...): entries that try as many cases as the environment says. scripts/test.sh --long
# asks for hundreds.
function(ziggurat_counted_tests)
  foreach(entry IN LISTS ARGN)
    if(TEST ${entry})  # the thread sanitizer's build has not all
      set_property(TEST ${entry} APPEND PROPERTY LABELS counted)
      set_tests_properties(${entry} PROPERTIES TIMEOUT 14400)
    endif()
  endforeach()
endfunction()
