/// An HDF5 file laid out in memory, so that its data can be written without the library.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/hdf5_types.hpp"
#include "storage/sparse_image.hpp"

namespace ziggurat::storage {

/// A box of a virtual dataset and the dataset of another file that holds it, whole.
struct Hdf5Part {
    std::string file;     ///< beside the file that is being laid out
    std::string dataset;  ///< path in it
    std::vector<std::int64_t> begin;
    std::vector<std::int64_t> extent;
};

/// Lays a plain HDF5 1.10 file out: the library decides where everything lies and writes its metadata into
/// memory; the bytes of the datasets are the caller's to write at the offsets that it has set. The same calls
/// give the same bytes. Objects are named by their path; groups on the way are made.
///
/// One at a time in a process: others wait, as the library serves one thread only.
///
/// Errors: Error{resource}, when there is no memory or the library refuses
class Hdf5Image {
  public:
    /// Datasets of `aligned_from_bytes` and more start at a page; smaller ones lie together, and so does the
    /// metadata, for about `objects` datasets: the large ones follow each other without gaps.
    Hdf5Image(std::int64_t aligned_from_bytes, std::int64_t objects);
    ~Hdf5Image();
    Hdf5Image(const Hdf5Image&) = delete;
    Hdf5Image& operator=(const Hdf5Image&) = delete;

    /// A contiguous dataset; returns the offset of its bytes in the file.
    std::int64_t reserve(const std::string& path, Hdf5Type type, std::span<const std::int64_t> shape);

    /// A dataset whose elements lie in other files; NaN where they cannot be found.
    void map(const std::string& path,
             Hdf5Type type,
             std::span<const std::int64_t> shape,
             std::span<const Hdf5Part> parts);

    /// A dataset of one string.
    void write_text(const std::string& path, const std::string& text);

    void set_attribute(const std::string& path, const char* name, std::int64_t value);
    void set_attribute(const std::string& path, const char* name, const std::string& value);
    void set_attribute(const std::string& path, const char* name, std::span<const std::int64_t> values);

    /// The finished file but for the bytes of the reserved datasets. Nothing may be added any more.
    SparseImage finish();

  private:
    struct Open;
    std::unique_ptr<Open> open_;
};

}  // namespace ziggurat::storage
