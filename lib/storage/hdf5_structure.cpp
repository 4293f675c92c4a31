#include "storage/hdf5_structure.hpp"

#include <array>

#include "storage/hdf5_handles_impl.hpp"

namespace ziggurat::storage {
namespace {

std::vector<std::int64_t> shape_of(const Hdf5Space& space) {
    const int rank = static_cast<int>(check_hdf5(H5Sget_simple_extent_ndims(space.get()), "read a shape"));
    std::vector<hsize_t> extents(rank);
    check_hdf5(H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr), "read a shape");
    return {extents.begin(), extents.end()};
}

void read_type(hid_t dataset, Hdf5DatasetInfo& info) {
    const Hdf5Datatype stored{check_hdf5(H5Dget_type(dataset), "read a type")};
    for (const Hdf5Type type : {Hdf5Type::f32, Hdf5Type::bf16, Hdf5Type::u64, Hdf5Type::i64}) {
        if (H5Tequal(stored.get(), file_type(type).get()) > 0) {
            info.type = type;
            info.is_of_known_type = true;
        }
    }
}

void read_layout(hid_t dataset, Hdf5DatasetInfo& info) {
    const Hdf5Properties properties{check_hdf5(H5Dget_create_plist(dataset), "read a layout")};
    const H5D_layout_t layout = H5Pget_layout(properties.get());
    info.is_virtual = layout == H5D_VIRTUAL;
    if (info.is_virtual) {
        std::size_t parts = 0;
        check_hdf5(H5Pget_virtual_count(properties.get(), &parts), "read a layout");
        info.parts = static_cast<std::int64_t>(parts);
    } else if (layout == H5D_CONTIGUOUS) {
        const haddr_t offset = H5Dget_offset(dataset);
        info.offset_bytes = offset == HADDR_UNDEF ? -1 : static_cast<std::int64_t>(offset);
    }
}

herr_t read_attribute(hid_t dataset, const char* name, const H5A_info_t* /*info*/, void* into) {
    const Hdf5Attribute attribute{H5Aopen(dataset, name, H5P_DEFAULT)};
    const Hdf5Datatype type{H5Aget_type(attribute.get())};
    if (H5Tequal(type.get(), H5T_STD_I64LE) <= 0) {
        return 0;
    }
    const Hdf5Space space{H5Aget_space(attribute.get())};
    std::vector<std::int64_t> values(H5Sget_simple_extent_npoints(space.get()));
    if (H5Aread(attribute.get(), H5T_NATIVE_INT64, values.data()) < 0) {
        return -1;
    }
    static_cast<Hdf5DatasetInfo*>(into)->attributes[name] = std::move(values);
    return 0;
}

herr_t keep_name(hid_t group, const char* name, const H5L_info_t* /*link*/, void* names) {
    H5O_type_t type = H5O_TYPE_UNKNOWN;
    if (const hid_t object = H5Oopen(group, name, H5P_DEFAULT); object >= 0) {
        type = H5Iget_type(object) == H5I_DATASET ? H5O_TYPE_DATASET : H5O_TYPE_GROUP;
        H5Oclose(object);
    }
    if (type == H5O_TYPE_UNKNOWN) {
        return -1;
    }
    if (type == H5O_TYPE_DATASET) {
        static_cast<std::vector<std::string>*>(names)->push_back(std::string{"/"} + name);
    }
    return 0;
}

}  // namespace

std::map<std::string, Hdf5DatasetInfo> hdf5_structure(const std::string& path) {
    const Hdf5Guard guard;
    const std::string what = "read the structure of '" + path + "'";
    const Hdf5Properties access = access_properties();
    // The default driver resolves links, which fails for a /proc link to a file without a name.
    check_hdf5(H5Pset_fapl_stdio(access.get()), what);
    const Hdf5File file{check_hdf5(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), what)};
    std::vector<std::string> names;
    check_hdf5(H5Lvisit(file.get(), H5_INDEX_NAME, H5_ITER_NATIVE, keep_name, &names), what);
    std::map<std::string, Hdf5DatasetInfo> structure;
    for (const std::string& name : names) {
        Hdf5DatasetInfo& info = structure[name];
        const Hdf5Dataset dataset{check_hdf5(H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT), what)};
        const Hdf5Space space{check_hdf5(H5Dget_space(dataset.get()), what)};
        info.shape = shape_of(space);
        read_type(dataset.get(), info);
        read_layout(dataset.get(), info);
        check_hdf5(H5Aiterate2(dataset.get(), H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, read_attribute, &info),
                   what);
    }
    return structure;
}

}  // namespace ziggurat::storage
