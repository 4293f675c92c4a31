# CUDA, as ZIGGURAT_CUDA says: `ziggurat_cuda_sources(TARGET SOURCE...)` adds *_cuda.cu sources to a library.
#
# on         nvcc compiles them. Fused operations are spelled in our sources; an optimizer's own would not be those of
#            the host.
# emulated   the compiler of everything else does, against the stand-ins of tests/emulated_cuda
#
# Where there is NCCL, ziggurat_nccl is what its users link: headers, for NCCL, cuBLASLt and cuDNN are opened when the
# program runs, and the runtime is linked statically. So the program starts on machines without any of them.
if(ZIGGURAT_CUDA STREQUAL "on")
  if(NOT CMAKE_CUDA_COMPILER)
    find_program(nvcc nvcc HINTS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
    if(NOT nvcc)
      message(FATAL_ERROR "ZIGGURAT_CUDA=on: nvcc is not found. Install the CUDA toolkit 12.8 or newer, or set CUDA_HOME.")
    endif()
    set(CMAKE_CUDA_COMPILER ${nvcc})
  endif()
  set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
  set(CMAKE_CUDA_ARCHITECTURES "80-real;90-real;90-virtual" CACHE STRING "GPUs: compute capabilities")
  enable_language(CUDA)
  set(CMAKE_CUDA_STANDARD_REQUIRED OFF)
  # CMake before 3.30 knows no C++20 of nvcc and refuses to be asked for it, so it is said by hand. 554: a conversion to const that a const type does not need.
  string(APPEND CMAKE_CUDA_FLAGS " -std=c++20 --expt-relaxed-constexpr -fmad=false -Werror all-warnings -diag-suppress 554 -Xptxas -v")
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/cmake/kept_ptxas.sh)
  find_package(CUDAToolkit 12.8 REQUIRED)
  find_package(NCCL 2.18)
  if(NCCL_FOUND)
    add_library(ziggurat_nccl INTERFACE)
    target_link_libraries(ziggurat_nccl INTERFACE NCCL::headers)
  else()
    message(STATUS "Without NCCL, collectives of GPUs go by way of the host. NCCL_ROOT says where it is.")
  endif()
  find_package(CUDNN 9.8)
  if(NOT CUDNN_FOUND)
    message(STATUS "Without cuDNN and its frontend (scripts/setup.sh --cuda), our own kernels compute attention on GPUs.")
  endif()
elseif(ZIGGURAT_CUDA STREQUAL "emulated")
  add_subdirectory(tests/emulated_cuda)
  add_library(ziggurat_nccl INTERFACE)
endif()

function(ziggurat_cuda_sources target)
  if(ZIGGURAT_CUDA STREQUAL "off")
    return()
  endif()
  target_sources(${target} PRIVATE ${ARGN})
  if(ZIGGURAT_CUDA STREQUAL "emulated")
    set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX SKIP_UNITY_BUILD_INCLUSION ON)
    target_link_libraries(${target} PUBLIC emulated_cuda)
  else()
    target_link_libraries(${target} PUBLIC CUDA::cudart_static)
  endif()
endfunction()
