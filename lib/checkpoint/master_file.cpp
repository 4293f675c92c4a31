#include "checkpoint/master_file.hpp"

#include <unistd.h>

#include <map>
#include <utility>

#include "checkpoint/manifest_text.hpp"
#include "checkpoint/shard/shard_layout.hpp"
#include "checkpoint/shard/shard_output.hpp"
#include "storage/hdf5_image.hpp"

namespace ziggurat::checkpoint {
namespace {

struct MappedTensor {
    const Piece* any = nullptr;
    std::vector<storage::Hdf5Part> parts;
};

/// Returns the tensors by path, each with the positions of its boxes.
std::map<std::string, MappedTensor> tensors_of(const Manifest& manifest) {
    std::vector<std::vector<const Piece*>> pieces_of(manifest.files.size());
    for (const StoredPiece& stored : manifest.pieces) {
        pieces_of[stored.file].push_back(&stored.piece);
    }
    std::map<std::string, MappedTensor> tensors;
    for (std::size_t file = 0; file < pieces_of.size(); ++file) {
        std::map<std::string, int> boxes;
        for (const Piece* piece : pieces_of[file]) {
            const std::string path = hdf5_path(*piece);
            MappedTensor& tensor = tensors[path];
            tensor.any = piece;
            tensor.parts.push_back({manifest.files[file].name, path + "/" + std::to_string(boxes[path]++),
                                    piece->box.begin, piece->box.extent});
        }
    }
    return tensors;
}

storage::SparseImage lay_out_master(const Manifest& manifest) {
    const std::map<std::string, MappedTensor> tensors = tensors_of(manifest);
    storage::Hdf5Image file{aligned_from_bytes, std::ssize(tensors)};
    file.set_attribute("/", "format", std::string{format_name});
    file.set_attribute("/", "version", std::int64_t{format_version});
    file.set_attribute("/", "program", manifest.program);
    file.set_attribute("/", "layout", manifest.layout);
    file.set_attribute("/", "ranks", std::int64_t{manifest.ranks});
    file.set_attribute("/", "step", manifest.progress.step);
    file.set_attribute("/", "tokens", manifest.progress.tokens);
    file.set_attribute("/", "next_sample", manifest.progress.next_sample);
    file.set_attribute("/", "skipped", manifest.progress.skipped);
    file.write_text("/deck", manifest.deck);
    for (const auto& [path, tensor] : tensors) {
        file.map(path, hdf5_type(tensor.any->type), tensor.any->shape, tensor.parts);
    }
    return file.finish();
}

}  // namespace

FileEntry write_master(const std::string& folder, const Manifest& manifest) {
    const storage::SparseImage image = lay_out_master(manifest);
    FileEntry entry{master_name, image.size_bytes(), hash_of_image(image)};
    const std::string path = folder + "/" + master_name;
    try {
        ShardOutput output{path, image.size_bytes()};
        output.write_other_pages(image);
        output.finish();
    } catch (...) {
        ::unlink(path.c_str());
        throw;
    }
    return entry;
}

}  // namespace ziggurat::checkpoint
