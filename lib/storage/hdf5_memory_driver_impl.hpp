/// HDF5 file driver that writes into a SparseImage.
#pragma once

#include "storage/hdf5_handles_impl.hpp"
#include "storage/sparse_image.hpp"

namespace ziggurat::storage {

/// Configures `access` so that files created with it are stored in `image`, which must outlive them.
/// Errors: Error{resource}
void write_into(SparseImage& image, const Hdf5Properties& access);

}  // namespace ziggurat::storage
