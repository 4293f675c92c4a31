/// Types for the contents of HDF5 files, without the library's headers.
#pragma once

#include <cstdint>
#include <vector>

namespace ziggurat::storage {

/// Element type of a dataset.
enum class Hdf5Type { f32, bf16, u64, i64 };

/// Initializes the library. Call it on the main MPI thread, before other threads use this module.
///
/// A parallel build of the library calls MPI functions during its initialization.
void start_hdf5();
/// Frees the free lists of the library, which grow over its first uses.
void tidy_hdf5();

}  // namespace ziggurat::storage
