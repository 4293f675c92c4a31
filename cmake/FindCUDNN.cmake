# Headers of cuDNN (CUDNN_ROOT, else beside the CUDA toolkit, else the system's) and of its frontend
# (CUDNN_FRONTEND_ROOT, else what scripts/setup.sh --cuda brings). Gives the target CUDNN::headers: the library is opened
# when the program runs, and not linked.
find_path(CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
find_path(CUDNN_FRONTEND_INCLUDE_DIR cudnn_frontend.h
  HINTS ${CUDNN_FRONTEND_ROOT} $ENV{CUDNN_FRONTEND_ROOT} ${PROJECT_SOURCE_DIR}/build/dependencies/cudnn_frontend
  PATH_SUFFIXES include)
foreach(header cudnn_version.h cudnn_version_v9.h)
  if(CUDNN_INCLUDE_DIR AND EXISTS ${CUDNN_INCLUDE_DIR}/${header} AND NOT CUDNN_VERSION)
    file(STRINGS ${CUDNN_INCLUDE_DIR}/${header} numbers REGEX "^#define CUDNN_(MAJOR|MINOR|PATCHLEVEL) [0-9]+")
    string(REGEX REPLACE "[^0-9;]" "" numbers "${numbers}")
    list(JOIN numbers "." CUDNN_VERSION)
  endif()
endforeach()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CUDNN REQUIRED_VARS CUDNN_FRONTEND_INCLUDE_DIR CUDNN_INCLUDE_DIR VERSION_VAR CUDNN_VERSION)
mark_as_advanced(CUDNN_INCLUDE_DIR CUDNN_FRONTEND_INCLUDE_DIR)
if(CUDNN_FOUND AND NOT TARGET CUDNN::headers)
  add_library(CUDNN::headers INTERFACE IMPORTED)
  set_target_properties(CUDNN::headers PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${CUDNN_FRONTEND_INCLUDE_DIR};${CUDNN_INCLUDE_DIR}")
endif()
