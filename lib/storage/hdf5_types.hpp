/// Words for the contents of HDF5 files that do not need the library's headers.
#pragma once

#include <cstdint>
#include <vector>

namespace ziggurat::storage {

/// Elements of a dataset.
enum class Hdf5Type { f32, bf16, u64, i64 };

/// Starts the library. A parallel build of it asks MPI things then, so this is called by the thread that
/// MPI knows, before another one uses this module.
void start_hdf5();
/// Frees what the library keeps for later, which grows over its first uses.
void tidy_hdf5();

}  // namespace ziggurat::storage
