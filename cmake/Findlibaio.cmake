# libaio, which has no file of its own for CMake. Gives the target libaio::libaio.
find_path(libaio_INCLUDE_DIR libaio.h)
find_library(libaio_LIBRARY aio)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(libaio REQUIRED_VARS libaio_LIBRARY libaio_INCLUDE_DIR)
mark_as_advanced(libaio_INCLUDE_DIR libaio_LIBRARY)
if(libaio_FOUND AND NOT TARGET libaio::libaio)
  add_library(libaio::libaio UNKNOWN IMPORTED)
  set_target_properties(libaio::libaio PROPERTIES
    IMPORTED_LOCATION "${libaio_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${libaio_INCLUDE_DIR}")
endif()
