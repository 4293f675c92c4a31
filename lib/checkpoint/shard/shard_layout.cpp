#include "checkpoint/shard/shard_layout.hpp"

#include <map>

#include "checkpoint/manifest.hpp"
#include "checkpoint/manifest_text.hpp"
#include "storage/hdf5_image.hpp"

namespace ziggurat::checkpoint {

std::string hdf5_path(const Piece& piece) {
    return std::string{"/"} + to_string(piece.kind) + "/" + piece.tensor;
}

std::vector<std::string> dataset_names(std::span<const Piece> pieces) {
    std::map<std::string, int> boxes;
    std::vector<std::string> names;
    names.reserve(pieces.size());
    for (const Piece& piece : pieces) {
        std::string path = hdf5_path(piece);
        const int box = boxes[path]++;
        names.push_back(std::move(path) + "/" + std::to_string(box));
    }
    return names;
}

storage::Hdf5Type hdf5_type(spec::DType type) noexcept {
    return type == spec::DType::f32 ? storage::Hdf5Type::f32 : storage::Hdf5Type::bf16;
}

ShardLayout lay_out(std::span<const Piece> pieces) {
    storage::Hdf5Image file{aligned_from_bytes, 2 * std::ssize(pieces)};
    file.set_attribute("/", "format", std::string{format_name} + "-shard");
    file.set_attribute("/", "version", std::int64_t{format_version});
    std::vector<PlacedPiece> placed;
    placed.reserve(pieces.size());
    const std::vector<std::string> names = dataset_names(pieces);
    for (std::size_t k = 0; k < pieces.size(); ++k) {
        const Piece& piece = pieces[k];
        const std::int64_t blocks = table_bytes(piece) / static_cast<std::int64_t>(sizeof(std::uint64_t));
        PlacedPiece place{names[k], 0, 0};
        place.offset_bytes = file.reserve(names[k], hdf5_type(piece.type), piece.box.extent);
        place.table_offset_bytes = file.reserve(names[k] + ".xxh3", storage::Hdf5Type::u64, {&blocks, 1});
        if (!piece.shape.empty()) {  // HDF5 does not support empty attributes
            file.set_attribute(names[k], "shape", piece.shape);
            file.set_attribute(names[k], "begin", piece.box.begin);
        }
        placed.push_back(std::move(place));
    }
    return {std::move(placed), file.finish()};
}

}  // namespace ziggurat::checkpoint
