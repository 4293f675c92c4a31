#include "storage/hdf5_image.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "base/contract.hpp"
#include "storage/hdf5_handles_impl.hpp"
#include "storage/hdf5_memory_driver_impl.hpp"

namespace ziggurat::storage {
namespace {

// Sizes in bytes of the blocks that the library allocates.
constexpr std::int64_t metadata_per_object = 512;
constexpr std::int64_t min_block = 2048;
constexpr std::int64_t largest_block = std::int64_t{1} << 20;

std::vector<hsize_t> sizes(std::span<const std::int64_t> numbers) {
    return {numbers.begin(), numbers.end()};
}

Hdf5Space space_of(std::span<const std::int64_t> shape) {
    const std::vector<hsize_t> extents = sizes(shape);
    return Hdf5Space{check_hdf5(
        extents.empty() ? H5Screate(H5S_SCALAR)
                        : H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
        "describe a shape")};
}

Hdf5Datatype string_type(const std::string& text) {
    Hdf5Datatype type{H5Tcopy(H5T_C_S1)};
    check_hdf5(H5Tset_size(type.get(), std::max<std::size_t>(text.size(), 1)), "describe a string");
    check_hdf5(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), "describe a string");
    check_hdf5(H5Tset_cset(type.get(), H5T_CSET_UTF8), "describe a string");
    return type;
}

Hdf5Properties dataset_properties() {
    Hdf5Properties properties{check_hdf5(H5Pcreate(H5P_DATASET_CREATE), "describe a dataset")};
    check_hdf5(H5Pset_obj_track_times(properties.get(), false), "leave times out of a file");
    return properties;
}

void check_path(const std::string& path) {
    ZG_EXPECTS(path.starts_with('/'));
}

}  // namespace

struct Hdf5Image::Open {
    Hdf5Guard guard;
    SparseImage image;
    Hdf5File file;
    std::set<std::string> groups;

    Open(std::int64_t aligned_from_bytes, std::int64_t objects) {
        const Hdf5Properties access = access_properties();
        check_hdf5(H5Pset_alignment(access.get(), static_cast<hsize_t>(aligned_from_bytes),
                                    static_cast<hsize_t>(page_bytes)),
                   "align datasets");
        const std::int64_t metadata = std::clamp(objects * metadata_per_object, min_block, largest_block);
        check_hdf5(H5Pset_meta_block_size(access.get(), static_cast<hsize_t>(metadata)),
                   "keep metadata together");
        check_hdf5(H5Pset_small_data_block_size(access.get(),
                                                static_cast<hsize_t>(std::min(aligned_from_bytes, metadata))),
                   "keep small datasets together");
        write_into(image, access);
        const Hdf5Properties creation{check_hdf5(H5Pcreate(H5P_FILE_CREATE), "describe a file")};
        check_hdf5(H5Pset_obj_track_times(creation.get(), false), "leave times out of a file");
        file = Hdf5File{
            check_hdf5(H5Fcreate("image", H5F_ACC_TRUNC, creation.get(), access.get()), "lay out a file")};
    }

    /// Creates the parent groups of `path` without times; the library itself would store the current time.
    void create_groups(const std::string& path) {
        check_path(path);
        const Hdf5Properties timeless{check_hdf5(H5Pcreate(H5P_GROUP_CREATE), "describe a group")};
        check_hdf5(H5Pset_obj_track_times(timeless.get(), false), "leave times out of a file");
        for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
             slash = path.find('/', slash + 1)) {
            const std::string group = path.substr(0, slash);
            if (groups.insert(group).second) {
                const Hdf5Group made{check_hdf5(
                    H5Gcreate2(file.get(), group.c_str(), H5P_DEFAULT, timeless.get(), H5P_DEFAULT),
                    "lay out the group '" + group + "'")};
            }
        }
    }

    Hdf5Dataset create(const std::string& path,
                       const Hdf5Datatype& type,
                       const Hdf5Space& space,
                       const Hdf5Properties& properties) {
        create_groups(path);
        return Hdf5Dataset{check_hdf5(H5Dcreate2(file.get(), path.c_str(), type.get(), space.get(),
                                                 H5P_DEFAULT, properties.get(), H5P_DEFAULT),
                                      "lay out the dataset '" + path + "'")};
    }

    void attribute(const std::string& path,
                   const char* name,
                   const Hdf5Datatype& type,
                   hid_t memory_type,
                   const Hdf5Space& space,
                   const void* values) const {
        check_path(path);
        const std::string what = std::string{"write the attribute '"} + name + "' of '" + path + "'";
        const Hdf5Attribute attribute{
            check_hdf5(H5Acreate_by_name(file.get(), path.c_str(), name, type.get(), space.get(), H5P_DEFAULT,
                                         H5P_DEFAULT, H5P_DEFAULT),
                       what)};
        check_hdf5(H5Awrite(attribute.get(), memory_type, values), what);
    }
};

Hdf5Image::Hdf5Image(std::int64_t aligned_from_bytes, std::int64_t objects)
    : open_{std::make_unique<Open>(aligned_from_bytes, objects)} {}

Hdf5Image::~Hdf5Image() = default;

std::int64_t Hdf5Image::reserve(const std::string& path, Hdf5Type type, std::span<const std::int64_t> shape) {
    const Hdf5Properties properties = dataset_properties();
    check_hdf5(H5Pset_layout(properties.get(), H5D_CONTIGUOUS), "make a dataset contiguous");
    check_hdf5(H5Pset_alloc_time(properties.get(), H5D_ALLOC_TIME_EARLY), "reserve a dataset");
    check_hdf5(H5Pset_fill_time(properties.get(), H5D_FILL_TIME_NEVER), "reserve a dataset");
    const Hdf5Dataset dataset = open_->create(path, file_type(type), space_of(shape), properties);
    const haddr_t offset = H5Dget_offset(dataset.get());
    check_hdf5(offset == HADDR_UNDEF ? -1 : 0, "find the bytes of '" + path + "'");
    return static_cast<std::int64_t>(offset);
}

void Hdf5Image::map(const std::string& path,
                    Hdf5Type type,
                    std::span<const std::int64_t> shape,
                    std::span<const Hdf5Part> parts) {
    const Hdf5Properties properties = dataset_properties();
    const float missing = std::numeric_limits<float>::quiet_NaN();
    check_hdf5(H5Pset_fill_value(properties.get(), H5T_NATIVE_FLOAT, &missing), "set a fill value");
    const Hdf5Space space = space_of(shape);
    for (const Hdf5Part& part : parts) {
        const Hdf5Space source = space_of(part.extent);
        if (!shape.empty()) {
            const std::vector<hsize_t> begin = sizes(part.begin);
            const std::vector<hsize_t> extent = sizes(part.extent);
            check_hdf5(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, begin.data(), nullptr, extent.data(),
                                           nullptr),
                       "choose a box of '" + path + "'");
        }
        check_hdf5(H5Pset_virtual(properties.get(), space.get(), part.file.c_str(), part.dataset.c_str(),
                                  source.get()),
                   "map a box of '" + path + "'");
    }
    open_->create(path, file_type(type), space_of(shape), properties);
}

void Hdf5Image::write_text(const std::string& path, const std::string& text) {
    const Hdf5Datatype type = string_type(text);
    const Hdf5Dataset dataset = open_->create(path, type, space_of({}), dataset_properties());
    check_hdf5(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, text.c_str()),
               "write '" + path + "'");
}

void Hdf5Image::set_attribute(const std::string& path, const char* name, std::int64_t value) {
    open_->attribute(path, name, file_type(Hdf5Type::i64), H5T_NATIVE_INT64, space_of({}), &value);
}

void Hdf5Image::set_attribute(const std::string& path, const char* name, const std::string& value) {
    const Hdf5Datatype type = string_type(value);
    open_->attribute(path, name, type, type.get(), space_of({}), value.c_str());
}

void Hdf5Image::set_attribute(const std::string& path,
                              const char* name,
                              std::span<const std::int64_t> values) {
    const std::int64_t count = std::ssize(values);
    open_->attribute(path, name, file_type(Hdf5Type::i64), H5T_NATIVE_INT64, space_of({&count, 1}),
                     values.data());
}

SparseImage Hdf5Image::finish() {
    check_hdf5(H5Fclose(open_->file.release()), "finish a file in memory");
    SparseImage image = std::move(open_->image);
    open_.reset();
    return image;
}

}  // namespace ziggurat::storage
