#include "checkpoint/structure_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "checkpoint/master_file.hpp"
#include "checkpoint/shard/shard_layout.hpp"
#include "storage/hdf5_structure.hpp"

namespace ziggurat::checkpoint {
namespace {

using Structure = std::map<std::string, storage::Hdf5DatasetInfo>;

Structure expected_of_shard(const Manifest& manifest, std::size_t file) {
    std::vector<const StoredPiece*> stored;
    std::vector<Piece> pieces;
    for (const StoredPiece& each : manifest.pieces) {
        if (static_cast<std::size_t>(each.file) == file) {
            stored.push_back(&each);
            pieces.push_back(each.piece);
        }
    }
    const std::vector<std::string> names = dataset_names(pieces);
    Structure expected;
    for (std::size_t k = 0; k < pieces.size(); ++k) {
        storage::Hdf5DatasetInfo& data = expected[names[k]];
        data = {hdf5_type(pieces[k].type), true, false, pieces[k].box.extent, stored[k]->offset_bytes, 0, {}};
        if (!pieces[k].shape.empty()) {
            data.attributes = {{"shape", pieces[k].shape}, {"begin", pieces[k].box.begin}};
        }
        expected[names[k] + ".xxh3"] = {
            storage::Hdf5Type::u64,
            true,
            false,
            {table_bytes(pieces[k]) / static_cast<std::int64_t>(sizeof(std::uint64_t))},
            stored[k]->table_offset_bytes,
            0,
            {}};
    }
    return expected;
}

Structure expected_of_master(const Manifest& manifest) {
    Structure expected;
    for (const StoredPiece& stored : manifest.pieces) {
        storage::Hdf5DatasetInfo& tensor = expected[hdf5_path(stored.piece)];
        tensor.type = hdf5_type(stored.piece.type);
        tensor.is_of_known_type = true;
        tensor.is_virtual = true;
        tensor.shape = stored.piece.shape;
        ++tensor.parts;
    }
    return expected;
}

/// Returns the bounds of a file with these datasets: groups may be one level deeper.
storage::Hdf5Bounds bounds_of(const Structure& expected) {
    constexpr std::int64_t spare_links = 1000;
    std::int64_t depth = 1;
    for (const auto& [name, info] : expected) {
        depth = std::max(depth, static_cast<std::int64_t>(std::ranges::count(name, '/')));
    }
    return {static_cast<int>(depth) + 1, spare_links + 4 * std::ssize(expected)};
}

}  // namespace

void check_structure(const CheckpointFiles& files,
                     const Manifest& manifest,
                     std::size_t file,
                     std::vector<Defect>& defects) {
    const FileEntry& entry = manifest.files[file];
    const std::string& name = entry.name;
    const bool is_master = name == master_name;
    const Structure expected = is_master ? expected_of_master(manifest) : expected_of_shard(manifest, file);
    Structure found;
    try {
        found = storage::hdf5_structure(files.fd_path_of(entry), bounds_of(expected));
    } catch (const Error& error) {
        defects.push_back({name, files.with_display_path(error.what(), entry)});
        return;
    }
    if (is_master && found.erase("/deck") == 0) {
        defects.push_back({name, "it has no dataset '/deck'"});
    }
    for (const auto& [dataset, info] : expected) {
        const auto same = found.find(dataset);
        if (same == found.end()) {
            defects.push_back({name, fmt::format("it has no dataset '{}', which COMPLETE lists", dataset)});
        } else if (same->second != info) {
            defects.push_back(
                {name, fmt::format("its dataset '{}' has another shape, type or offset than in COMPLETE",
                                   dataset)});
        }
    }
    for (const auto& [dataset, info] : found) {
        if (!expected.contains(dataset)) {
            defects.push_back({name, fmt::format("its dataset '{}' is not listed in COMPLETE", dataset)});
        }
    }
}

}  // namespace ziggurat::checkpoint
