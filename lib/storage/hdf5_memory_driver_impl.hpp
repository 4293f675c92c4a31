/// HDF5 file driver that writes into a SparseImage.
#pragma once

#include "storage/hdf5_handles_impl.hpp"
#include "storage/sparse_image.hpp"

namespace ziggurat::storage {

/// Makes files that are created with `access` live in `image`, which outlives them.
/// Errors: Error{resource}
void write_into(SparseImage& image, const Hdf5Properties& access);

}  // namespace ziggurat::storage
