#include "storage/hdf5_handles_impl.hpp"

#include <array>

#include "base/error.hpp"

namespace ziggurat::storage {
namespace {

std::recursive_mutex& library_mutex() {
    static std::recursive_mutex mutex;
    return mutex;
}

/// Error stack callback that keeps the innermost description.
herr_t keep_reason(unsigned depth, const H5E_error2_t* entry, void* reason) {
    if (depth == 0 && entry->desc != nullptr) {
        *static_cast<std::string*>(reason) = entry->desc;
    }
    return 0;
}

Hdf5Datatype bfloat16_type() {
    Hdf5Datatype type{check_hdf5(H5Tcopy(H5T_IEEE_F32LE), "describe bf16")};
    // Each call must leave a valid type, so the order matters: sign 15, exponent 7..14, mantissa 0..6.
    check_hdf5(H5Tset_fields(type.get(), 15, 7, 8, 0, 7), "describe bf16");
    check_hdf5(H5Tset_precision(type.get(), 16), "describe bf16");
    check_hdf5(H5Tset_size(type.get(), 2), "describe bf16");
    check_hdf5(H5Tset_ebias(type.get(), 127), "describe bf16");
    return type;
}

}  // namespace

Hdf5Guard::Hdf5Guard() : lock_{library_mutex()} {
    H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Hdf5Guard::~Hdf5Guard() {
    H5Eset_auto2(H5E_DEFAULT, print_, print_data_);
}

hid_t check_hdf5(hid_t code, const std::string& what) {
    if (code < 0) {
        std::string reason = "no reason given";
        H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_reason, &reason);
        H5Eclear2(H5E_DEFAULT);
        throw Error{ErrorKind::resource,
                    "cannot " + what + " (HDF5: " + reason +
                        "). Check that the file is complete and that HDF5 is 1.10.5 or newer."};
    }
    return code;
}

Hdf5Datatype file_type(Hdf5Type type) {
    switch (type) {
        case Hdf5Type::f32:
            return Hdf5Datatype{H5Tcopy(H5T_IEEE_F32LE)};
        case Hdf5Type::u64:
            return Hdf5Datatype{H5Tcopy(H5T_STD_U64LE)};
        case Hdf5Type::i64:
            return Hdf5Datatype{H5Tcopy(H5T_STD_I64LE)};
        case Hdf5Type::bf16:
            return bfloat16_type();
    }
    return {};
}

Hdf5Properties access_properties() {
    Hdf5Properties access{check_hdf5(H5Pcreate(H5P_FILE_ACCESS), "set up access to a file")};
#if H5_VERSION_GE(1, 10, 7)
    check_hdf5(H5Pset_file_locking(access.get(), false, true), "switch locks of files off");
#endif
    check_hdf5(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V110), "choose a format");
    return access;
}

void start_hdf5() {
    const Hdf5Guard guard;
    check_hdf5(H5open(), "start HDF5");
}

void tidy_hdf5() {
    const Hdf5Guard guard;
    H5garbage_collect();
}

}  // namespace ziggurat::storage
