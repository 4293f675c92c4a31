/// HDF5 handles shared by the sources of this module; no other module uses the library.
#pragma once

#include <hdf5.h>

#include <mutex>
#include <string>

#include "base/unique_handle.hpp"
#include "storage/hdf5_types.hpp"

namespace ziggurat::storage {

template <herr_t (*Close)(hid_t)>
struct Hdf5Traits {
    using Handle = hid_t;
    static constexpr Handle null() noexcept { return H5I_INVALID_HID; }
    static void close(Handle id) noexcept { Close(id); }
};
using Hdf5File = UniqueHandle<Hdf5Traits<H5Fclose>>;
using Hdf5Group = UniqueHandle<Hdf5Traits<H5Gclose>>;
using Hdf5Dataset = UniqueHandle<Hdf5Traits<H5Dclose>>;
using Hdf5Space = UniqueHandle<Hdf5Traits<H5Sclose>>;
using Hdf5Datatype = UniqueHandle<Hdf5Traits<H5Tclose>>;
using Hdf5Properties = UniqueHandle<Hdf5Traits<H5Pclose>>;
using Hdf5Attribute = UniqueHandle<Hdf5Traits<H5Aclose>>;

/// Lock of the HDF5 library, which is not thread-safe; it also disables the library's error output.
class Hdf5Guard {
  public:
    Hdf5Guard();
    ~Hdf5Guard();
    Hdf5Guard(const Hdf5Guard&) = delete;
    Hdf5Guard& operator=(const Hdf5Guard&) = delete;

  private:
    std::unique_lock<std::recursive_mutex> lock_;
    H5E_auto2_t print_ = nullptr;
    void* print_data_ = nullptr;
};

/// Returns `code`, an id or a status of the library.
///
/// Errors: Error{resource} with `what` and the library's innermost reason, if `code` is negative
hid_t check_hdf5(hid_t code, const std::string& what);

/// Returns the type of elements in a file: little-endian; bf16 is a 16-bit float with 8 exponent bits.
Hdf5Datatype file_type(Hdf5Type type);

/// Returns a file access list without file locks, for a file that HDF5 1.10 and newer can read.
///
/// Network file systems do not support locks, or only pretend to.
Hdf5Properties access_properties();

}  // namespace ziggurat::storage
