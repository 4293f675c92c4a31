/// Layout of an HDF5 file in memory, so that its data can be written without the library.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/hdf5_types.hpp"
#include "storage/sparse_image.hpp"

namespace ziggurat::storage {

/// A box of a virtual dataset, and the whole dataset of another file that contains its elements.
struct Hdf5Part {
    std::string file;     ///< name of a file in the same directory
    std::string dataset;  ///< path in it
    std::vector<std::int64_t> begin;
    std::vector<std::int64_t> extent;
};

/// Builder of an HDF5 1.10 file: the library determines the layout and writes its metadata into memory.
///
/// The caller writes the bytes of the datasets at the returned offsets. The same calls give the same bytes.
/// Objects are named by their path; missing parent groups are created.
///
/// Only one object exists at a time in a process; other threads wait, because the library is not thread-safe.
///
/// Errors: Error{resource} if memory is short or the library reports an error
class Hdf5Image {
  public:
    /// \param aligned_from_bytes  datasets of this size and larger start at a page; smaller ones are packed
    /// \param objects             approximate number of datasets, to keep the metadata in one block, so that
    ///                            the large datasets follow each other without gaps
    Hdf5Image(std::int64_t aligned_from_bytes, std::int64_t objects);
    ~Hdf5Image();
    Hdf5Image(const Hdf5Image&) = delete;
    Hdf5Image& operator=(const Hdf5Image&) = delete;

    /// Adds a contiguous dataset; returns the offset of its bytes in the file.
    std::int64_t reserve(const std::string& path, Hdf5Type type, std::span<const std::int64_t> shape);

    /// Adds a virtual dataset, whose elements are in other files; missing elements are NaN.
    void map(const std::string& path,
             Hdf5Type type,
             std::span<const std::int64_t> shape,
             std::span<const Hdf5Part> parts);

    /// Adds a dataset of one string.
    void write_text(const std::string& path, const std::string& text);

    void set_attribute(const std::string& path, const char* name, std::int64_t value);
    void set_attribute(const std::string& path, const char* name, const std::string& value);
    void set_attribute(const std::string& path, const char* name, std::span<const std::int64_t> values);

    /// Returns the finished file without the bytes of the reserved datasets. It must be the last call.
    SparseImage finish();

  private:
    struct Open;
    std::unique_ptr<Open> open_;
};

}  // namespace ziggurat::storage
