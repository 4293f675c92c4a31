#include "storage/hdf5_memory_driver_impl.hpp"

#include <new>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

namespace ziggurat::storage {
namespace {

/// Object that the library passes to each function below; its own part must be first.
struct OpenImage {
    H5FD_t library_part;
    SparseImage* image;
    haddr_t end_of_space;
};

struct DriverInfo {
    SparseImage* image;
};

constexpr haddr_t largest_address = (haddr_t{1} << 62) - 1;

OpenImage& self(H5FD_t* file) {
    return *reinterpret_cast<OpenImage*>(file);
}
const OpenImage& self(const H5FD_t* file) {
    return *reinterpret_cast<const OpenImage*>(file);
}

H5FD_t* open_image(const char* /*name*/, unsigned /*flags*/, hid_t access, haddr_t /*largest*/) {
    const auto* info = static_cast<const DriverInfo*>(H5Pget_driver_info(access));
    if (info == nullptr) {
        return nullptr;
    }
    auto* file = new (std::nothrow) OpenImage{};  // zeroed; the library fills in its part
    if (file == nullptr) {
        return nullptr;
    }
    file->image = info->image;
    return &file->library_part;
}

herr_t close_image(H5FD_t* file) {
    delete &self(file);
    return 0;
}

herr_t query(const H5FD_t* /*file*/, unsigned long* flags) {
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA;
    return 0;
}

haddr_t end_of_space(const H5FD_t* file, H5FD_mem_t /*type*/) {
    return self(file).end_of_space;
}

herr_t set_end_of_space(H5FD_t* file, H5FD_mem_t /*type*/, haddr_t address) {
    self(file).end_of_space = address;
    return 0;
}

haddr_t end_of_file(const H5FD_t* file, H5FD_mem_t /*type*/) {
    return static_cast<haddr_t>(self(file).image->size_bytes());
}

herr_t read_image(
    H5FD_t* file, H5FD_mem_t /*type*/, hid_t /*transfer*/, haddr_t address, size_t bytes, void* into) {
    self(file).image->read(static_cast<std::int64_t>(address), {static_cast<std::byte*>(into), bytes});
    return 0;
}

herr_t write_image(
    H5FD_t* file, H5FD_mem_t /*type*/, hid_t /*transfer*/, haddr_t address, size_t bytes, const void* from) {
    try {
        self(file).image->write(static_cast<std::int64_t>(address),
                                {static_cast<const std::byte*>(from), bytes});
    } catch (const std::bad_alloc&) {
        return -1;
    }
    return 0;
}

herr_t truncate_image(H5FD_t* file, hid_t /*transfer*/, hbool_t /*closing*/) {
    self(file).image->resize(static_cast<std::int64_t>(self(file).end_of_space));
    return 0;
}

hid_t driver() {
    static H5FD_class_t driver_class = [] {
        H5FD_class_t made = {};
#if H5_VERSION_GE(1, 13, 0)
        made.version = H5FD_CLASS_VERSION;
        made.value = static_cast<H5FD_class_value_t>(510);  // a value reserved for private use
#endif
        made.name = "ziggurat image";
        made.maxaddr = largest_address;
        made.fc_degree = H5F_CLOSE_STRONG;
        made.fapl_size = sizeof(DriverInfo);
        made.open = open_image;
        made.close = close_image;
        made.query = query;
        made.get_eoa = end_of_space;
        made.set_eoa = set_end_of_space;
        made.get_eof = end_of_file;
        made.read = read_image;
        made.write = write_image;
        made.truncate = truncate_image;
        // Metadata and data are allocated in separate blocks.
        const H5FD_mem_t map[] = H5FD_FLMAP_DICHOTOMY;
        for (int type = 0; type < H5FD_MEM_NTYPES; ++type) {
            made.fl_map[type] = map[type];
        }
        return made;
    }();
    static const hid_t id = H5FDregister(&driver_class);
    return id;
}

}  // namespace

void write_into(SparseImage& image, const Hdf5Properties& access) {
    const DriverInfo info{&image};
    check_hdf5(H5Pset_driver(access.get(), check_hdf5(driver(), "register a way to write files"), &info),
               "set up a file in memory");
}

}  // namespace ziggurat::storage
