# Tests: one program per folder, one CTest entry per source file and rank count.
#
#   ziggurat_test_program(mpi RANKS  MODULES comm train  LIBRARIES dl)
#   ziggurat_test(mpi/collectives  RANKS 1 2 3 4  LABELS mpi)
#
# The first makes the program test_mpi, whose main starts MPI. The second adds collectives_test.cpp to it, and the
# entries mpi/collectives/1 ... mpi/collectives/4, which run `test_mpi --file=mpi/collectives/collectives_test.cpp` on so many
# ranks. Without RANKS an entry is one plain process.
#
#   PROGRAM     another program than that of the entry's folder
#   SOURCE      another file than <last part of the name>_test.cpp in the current folder or in one of its subfolders
#   OPTIMISED   unlike other tests: for what computes much itself
#   LONG        label long, which scripts/test.sh leaves out; after RANKS, a list of the rank counts that are long, and of
#               entries on a GPU, 3/cuda_late
#   THREADS     label threads, for the thread sanitizer. Tests of one process are checked to start threads where they
#               say so, and nowhere else
#   CUDA        one more entry, unit/kernels/rope/cuda, on a GPU or what ZIGGURAT_CUDA=emulated has in its place; under the
#               thread sanitizer the only one, labelled threads
#   EMULATED_THREADS, EMULATED_POLLED
#               after each, a list of rank counts: for each one more entry, mpi/homes/3/emulated_threads, on a device
#               whose memory nobody may touch and whose streams run late (tests/support/device/test_processors.hpp)
#   CUDA_LATE, CUDA_THREADS
#               the same, mpi/homes/3/cuda_late, on a GPU; on an emulated one in that mode (tests/emulated_cuda)
#
# Entries on a GPU, or on what ZIGGURAT_CUDA=emulated has in its place, are labelled cuda.
#
# Under the sanitizers a test runs on one of its numbers of ranks alone, the largest up to three, else the smallest: on
# more, other values go through the same code, and many ranks on few cores mostly wait for their turn. More than eight are
# long there, and late devices have at most four.
#
# Of late devices the address sanitizer sees those that are polled, for the streams' threads touch the same addresses,
# and those with threads where a test has no other; the thread sanitizer sees those with threads alone.
#
# A source that replaces what the others use, such as malloc, has a program of its own.
#
# Targets unit_and_rank_tests, thread_tests and cuda_tests: all that tests labelled unit or mpi start, and those labelled
# threads, and cuda; long_cuda_tests: programs of which no other entries than long ones are labelled cuda.
add_custom_target(unit_and_rank_tests)
add_custom_target(thread_tests)
add_custom_target(cuda_tests)
add_custom_target(long_cuda_tests)
set(ZIGGURAT_MPI_FLAGS "--oversubscribe;--allow-run-as-root;--bind-to;none" CACHE STRING "What mpiexec takes besides -n")

# No machine file of whoever tests changes what is tested, and no network adapter: of the layers of point-to-point
# messages, Open MPI tries only that of hosts without one. The search for others takes 0.2 s at each start of a rank; the
# search for PCI devices and displays takes a third of the CPU time of MPI's start. Tests run next to each other, so they
# have more ranks than cores, but Open MPI only knows the ranks of one job: it yields the core of each rank that waits.
set(ziggurat_own_settings XDG_CONFIG_HOME=${CMAKE_BINARY_DIR}/no_config OMPI_MCA_pml=ob1 OMPI_MCA_mpi_yield_when_idle=1
  HWLOC_COMPONENTS=-linux:pci,-pci,-gl,-opencl)
set(ziggurat_test_environment ${ziggurat_own_settings} OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive OMPI_MCA_btl_base_warn_component_unused=0
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

# ziggurat_find_file(variable name): absolute path of a file in the current folder or in one of its subfolders. An error if
# the number of such files is not 1.
function(ziggurat_find_file variable name)
  get_filename_component(found ${name} ABSOLUTE)
  if(NOT EXISTS ${found})
    file(GLOB found ${CMAKE_CURRENT_SOURCE_DIR}/*/${name})
  endif()
  list(LENGTH found number)
  if(NOT number EQUAL 1)
    message(FATAL_ERROR "${number} files ${name} in ${CMAKE_CURRENT_SOURCE_DIR} and its subfolders, not 1: ${found}")
  endif()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

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
  cmake_parse_arguments(PARSE_ARGV 1 arg "OPTIMISED;THREADS;CUDA" "PROGRAM;SOURCE"
    "RANKS;LABELS;LONG;EMULATED_THREADS;EMULATED_POLLED;CUDA_LATE;CUDA_THREADS")
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

  string(REPLACE "/" "_" target "test_${arg_PROGRAM}")
  ziggurat_find_file(source ${arg_SOURCE})
  file(RELATIVE_PATH file ${PROJECT_SOURCE_DIR}/tests ${source})
  target_sources(${target} PRIVATE ${source})
  if(arg_OPTIMISED)
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -O1 SKIP_PRECOMPILE_HEADERS ON)
  endif()
  if(arg_LABELS MATCHES "unit|mpi")
    add_dependencies(unit_and_rank_tests ${target})
  endif()
  if(ZIGGURAT_CUDA STREQUAL "off")
    set(arg_CUDA OFF)
    set(arg_CUDA_LATE)
    set(arg_CUDA_THREADS)
  endif()
  set(only_cuda OFF)
  if(arg_CUDA AND ZIGGURAT_SANITIZE MATCHES thread AND NOT arg_THREADS)
    set(only_cuda ON)
    set(arg_THREADS ON)  # to the sanitizer those of a block are threads
  endif()
  if(arg_THREADS)
    add_dependencies(thread_tests ${target})
  endif()
  list(TRANSFORM arg_CUDA_LATE APPEND /cuda_late OUTPUT_VARIABLE on_cuda)
  list(TRANSFORM arg_CUDA_THREADS APPEND /cuda_threads OUTPUT_VARIABLE on_threads)
  list(APPEND on_cuda ${on_threads})
  if(on_cuda)
    add_dependencies(long_cuda_tests ${target})
    list(REMOVE_ITEM on_cuda ${arg_LONG})
  endif()
  if(arg_CUDA OR on_cuda OR cuda IN_LIST arg_LABELS)
    add_dependencies(cuda_tests ${target})
  endif()

  if(arg_RANKS AND ZIGGURAT_SANITIZE)
    list(SORT arg_RANKS COMPARE NATURAL)
    list(GET arg_RANKS 0 chosen)
    foreach(ranks IN LISTS arg_RANKS)
      if(ranks LESS_EQUAL 3)
        set(chosen ${ranks})
      endif()
    endforeach()
    set(arg_RANKS ${chosen})
    if(chosen GREATER 8)
      list(APPEND arg_LONG ${chosen})
    endif()
    list(FILTER arg_EMULATED_THREADS EXCLUDE REGEX "^[5-9]$")
    list(FILTER arg_EMULATED_POLLED EXCLUDE REGEX "^[5-9]$")
    list(FILTER arg_CUDA_LATE EXCLUDE REGEX "^[5-9]$")
  endif()
  list(TRANSFORM arg_RANKS PREPEND "${name}/" OUTPUT_VARIABLE entries)
  if(ZIGGURAT_SANITIZE MATCHES thread)
    set(arg_EMULATED_POLLED)
    set(arg_CUDA_LATE)
  elseif(ZIGGURAT_SANITIZE)
    if(arg_EMULATED_POLLED)
      set(arg_EMULATED_THREADS)
    endif()
    if(arg_CUDA_LATE)
      set(arg_CUDA_THREADS)
    endif()
  endif()
  foreach(device IN ITEMS emulated_threads emulated_polled cuda_late cuda_threads)
    string(TOUPPER ${device} upper)
    foreach(ranks IN LISTS arg_${upper})
      list(APPEND entries ${name}/${ranks}/${device})
    endforeach()
  endforeach()
  set(has_ranks ON)
  if(NOT entries)
    set(has_ranks OFF)
    set(entries ${name})
  endif()
  if(only_cuda)
    set(entries)
  endif()
  if(arg_CUDA)
    list(APPEND entries ${name}/cuda)
  endif()
  foreach(entry IN LISTS entries)
    set(ranks 1)
    set(launcher)
    set(environment ${ziggurat_test_environment})
    if(has_ranks)
      string(REGEX REPLACE "^${name}/([0-9]+).*" "\\1" ranks ${entry})
      if(entry MATCHES "/(emulated_[a-z]+)$")
        list(APPEND environment ZIGGURAT_TEST_DEVICE=${CMAKE_MATCH_1})
      elseif(entry MATCHES "/cuda_([a-z]+)$")
        list(APPEND environment ZIGGURAT_TEST_DEVICE=cuda ZIGGURAT_EMULATED_CUDA=${CMAKE_MATCH_1})
      endif()
      set(launcher ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${ZIGGURAT_MPI_FLAGS})
    endif()
    if(entry STREQUAL "${name}/cuda")
      list(APPEND environment ZIGGURAT_TEST_DEVICE=cuda)
    elseif(NOT has_ranks AND NOT ZIGGURAT_SANITIZE)
      list(APPEND environment ZIGGURAT_TEST_THREADS=$<IF:$<BOOL:${arg_THREADS}>,yes,no>)
    endif()
    if(ZIGGURAT_SANITIZE MATCHES address)
      # Open MPI keeps memory by design.
      list(APPEND environment ASAN_OPTIONS=detect_leaks=$<IF:$<BOOL:${has_ranks}>,0,1>)
    endif()
    set(labels ${arg_LABELS})
    string(REPLACE "${name}/" "" way ${entry})
    if(LONG IN_LIST arg_KEYWORDS_MISSING_VALUES OR way IN_LIST arg_LONG)
      list(APPEND labels long)
    endif()
    if(arg_THREADS)
      list(APPEND labels threads)
    endif()
    if(entry MATCHES "/cuda(_[a-z]+)?$")
      list(APPEND labels cuda)
    endif()
    add_test(NAME ${entry} COMMAND ${launcher} $<TARGET_FILE:${target}> --file=${file})
    set_tests_properties(${entry} PROPERTIES
      LABELS "${labels}" PROCESSORS ${ranks} ENVIRONMENT "${environment}")
  endforeach()
endfunction()

# ziggurat_unit_tests(train  MODULES train base  [LIBRARIES ...]  [OPTIMISED all | held_pieces] [THREADS console]  [CUDA rope]):
# program and entries of all *_test.cpp of the current folder, unit/train, and its subfolders. THREADS: those that start
# threads; under the thread sanitizer the program has no others but those of CUDA.
function(ziggurat_unit_tests module)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "MODULES;LIBRARIES;OPTIMISED;THREADS;CUDA")
  ziggurat_test_program(unit/${module} MODULES ${arg_MODULES} LIBRARIES ${arg_LIBRARIES})
  file(GLOB sources CONFIGURE_DEPENDS *_test.cpp */*_test.cpp)
  foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    string(REGEX REPLACE "_test$" "" name ${name})
    set(options)
    if(arg_OPTIMISED STREQUAL all OR name IN_LIST arg_OPTIMISED)
      list(APPEND options OPTIMISED)
    endif()
    if(name IN_LIST arg_THREADS)
      list(APPEND options THREADS)
    elseif(arg_THREADS AND ZIGGURAT_SANITIZE MATCHES thread
        AND (ZIGGURAT_CUDA STREQUAL "off" OR NOT name IN_LIST arg_CUDA))
      continue()
    endif()
    if(name IN_LIST arg_CUDA)
      list(APPEND options CUDA)
    endif()
    ziggurat_test(unit/${module}/${name} LABELS unit ${options})
  endforeach()
endfunction()

# ziggurat_script(e2e/docs  docs_test.py  [argument ...] [PYTHON python] [PROCESSORS n] [LABELS ...] [ENVIRONMENT ...]): an
# entry that runs a script of the current folder or of one of its subfolders. The script exits with 77 if a program that it
# compares with is not installed.
function(ziggurat_script name script)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "PYTHON;PROCESSORS" "LABELS;ENVIRONMENT")
  if(NOT arg_PYTHON)
    set(arg_PYTHON ${Python3_EXECUTABLE})
  endif()
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 1)
  endif()
  ziggurat_find_file(path ${script})  # a missing script fails here, because the gate does not run all tests
  add_test(NAME ${name} COMMAND ${arg_PYTHON} ${path} ${arg_UNPARSED_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES LABELS "e2e;${arg_LABELS}"  PROCESSORS ${arg_PROCESSORS}  SKIP_RETURN_CODE 77
    ENVIRONMENT "${ziggurat_own_settings};${arg_ENVIRONMENT}")
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
    endif()
  endforeach()
endfunction()
