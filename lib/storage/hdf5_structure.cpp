#include "storage/hdf5_structure.hpp"

#include <fmt/format.h>

#include <array>
#include <exception>
#include <utility>

#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "storage/hdf5_handles_impl.hpp"

namespace ziggurat::storage {
namespace {

/// Maximum size of an attribute that is read. Those of checkpoints are shapes.
constexpr hssize_t max_attribute_values = 64;

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
    const auto count = H5Sget_simple_extent_npoints(space.get());
    if (count < 0 || count > max_attribute_values) {
        return 0;
    }
    std::vector<std::int64_t> values(count);
    if (H5Aread(attribute.get(), H5T_NATIVE_INT64, values.data()) < 0) {
        return -1;
    }
    static_cast<Hdf5DatasetInfo*>(into)->attributes[name] = std::move(values);
    return 0;
}

/// State of a walk over the groups of a file.
struct GroupWalk {
    const Hdf5Bounds& bounds;
    std::string group = {};  ///< path of the current group; empty for the root
    std::int64_t links = 0;
    std::vector<std::string> datasets = {};
    std::vector<std::string> groups = {};  ///< found on the current level
    std::string problem = {};
};

/// Adds the object of a link. Called by the library, so it must not throw. Returns 1 after a problem.
herr_t keep_object(hid_t group, const char* name, const H5L_info_t* link, void* state) noexcept {
    auto& walk = *static_cast<GroupWalk*>(state);
    try {
        const auto path = walk.group + "/" + name;
        if (link->type != H5L_TYPE_HARD) {
            // The library would follow it, even to a pipe or to a file of another folder.
            walk.problem = fmt::format("'{}' is a soft or external link", printable(path));
            return 1;
        }
        if (++walk.links > walk.bounds.links) {
            walk.problem = fmt::format("it has more than {} objects", walk.bounds.links);
            return 1;
        }
        const hid_t object = H5Oopen(group, name, H5P_DEFAULT);
        const auto type = object < 0 ? H5I_BADID : H5Iget_type(object);
        H5Oclose(object);
        if (type == H5I_DATASET) {
            walk.datasets.push_back(path);
        } else if (type == H5I_GROUP) {
            walk.groups.push_back(path);
        } else {
            walk.problem = fmt::format("'{}' is not a group or dataset", printable(path));
        }
        return walk.problem.empty() ? 0 : 1;
    } catch (const std::exception&) {
        return -1;
    }
}

/// Returns the paths of all datasets.
std::vector<std::string> datasets_of(hid_t file, const Hdf5Bounds& bounds, const std::string& what) {
    GroupWalk walk{bounds};
    std::vector<std::string> level{""};
    for (int depth = 1; !level.empty(); ++depth) {
        if (depth > bounds.depth) {
            walk.problem = fmt::format("it has groups below '{}'", printable(level.front()));
        }
        for (auto group = level.begin(); group != level.end() && walk.problem.empty(); ++group) {
            walk.group = *group;
            const auto* const path = group->empty() ? "/" : group->c_str();
            const Hdf5Group open{check_hdf5(H5Gopen2(file, path, H5P_DEFAULT), what)};
            check_hdf5(H5Literate(open.get(), H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, keep_object, &walk),
                       what);
        }
        if (!walk.problem.empty()) {
            throw Error{ErrorKind::checkpoint,
                        fmt::format("cannot {} ({}, which no checkpoint has). Use another checkpoint.", what,
                                    walk.problem)};
        }
        level = std::exchange(walk.groups, {});
    }
    return std::move(walk.datasets);
}

/// Checks that the parts of a virtual dataset have fixed sizes.
///
/// To find the size of others, the library opens the files that they name.
void expect_fixed_parts(hid_t dataset, std::int64_t parts, const std::string& name) {
    const Hdf5Properties properties{check_hdf5(H5Dget_create_plist(dataset), "read a layout")};
    for (std::int64_t k = 0; k < parts; ++k) {
        const Hdf5Space part{check_hdf5(H5Pget_virtual_vspace(properties.get(), static_cast<std::size_t>(k)),
                                        "read a layout")};
        if (H5Sget_select_npoints(part.get()) == static_cast<hssize_t>(H5S_UNLIMITED)) {
            throw Error{
                ErrorKind::checkpoint,
                fmt::format("'{}' has no fixed size, as all datasets of a checkpoint have. Use another "
                            "checkpoint.",
                            printable(name))};
        }
    }
}

}  // namespace

std::map<std::string, Hdf5DatasetInfo> hdf5_structure(const std::string& path, const Hdf5Bounds& bounds) {
    const Hdf5Guard guard;
    const std::string what = "read the structure of '" + path + "'";
    const Hdf5Properties access = access_properties();
    // The default driver resolves links, which fails for a /proc link to a file without a name.
    check_hdf5(H5Pset_fapl_stdio(access.get()), what);
    const Hdf5File file{check_hdf5(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), what)};
    std::map<std::string, Hdf5DatasetInfo> structure;
    for (const std::string& name : datasets_of(file.get(), bounds, what)) {
        Hdf5DatasetInfo& info = structure[name];
        const Hdf5Dataset dataset{check_hdf5(H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT), what)};
        read_layout(dataset.get(), info);
        expect_fixed_parts(dataset.get(), info.parts, name);
        const Hdf5Space space{check_hdf5(H5Dget_space(dataset.get()), what)};
        info.shape = shape_of(space);
        read_type(dataset.get(), info);
        check_hdf5(H5Aiterate2(dataset.get(), H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, read_attribute, &info),
                   what);
    }
    return structure;
}

}  // namespace ziggurat::storage
