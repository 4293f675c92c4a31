/// Small checkpoints for tests of their readers.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/shard/shard_file.hpp"

namespace ziggurat::test {

/// One f32 tensor and its values, stored whole.
struct StoredNumbers {
    checkpoint::PieceKind kind = checkpoint::PieceKind::weights;
    std::string name;
    std::vector<std::int64_t> shape;
    std::vector<float> numbers;
};

/// Returns the metadata of a checkpoint, without tensors.
inline checkpoint::Manifest manifest_of_step(std::int64_t step) {
    checkpoint::Manifest manifest;
    manifest.program = "test 1.0";
    manifest.progress = {.step = step, .tokens = step * 1000, .next_sample = step * 10};
    manifest.deck = "deck_version: 1\n";
    manifest.layout = "1 rank";
    manifest.ranks = 1;
    return manifest;
}

/// Saves `tensors` below the folder `root`, with the rows of each distributed over `writers` files.
///
/// Returns the path of the checkpoint.
inline std::string store(const std::string& root,
                         const std::vector<StoredNumbers>& tensors,
                         checkpoint::Manifest manifest,
                         int writers = 1) {
    std::filesystem::create_directories(root);
    checkpoint::Commit commit{root, manifest.progress.step};
    for (int writer = 0; writer < writers; ++writer) {
        std::vector<checkpoint::PieceSource> sources;
        for (const StoredNumbers& tensor : tensors) {
            const auto rows = tensor.shape.front();
            const auto first = rows * writer / writers;
            const auto last = rows * (writer + 1) / writers;
            if (first == last) {
                continue;
            }
            checkpoint::Box box = checkpoint::whole(tensor.shape);
            const auto row = box.elements() / rows;
            box.begin.front() = first;
            box.extent.front() = last - first;
            sources.push_back({{tensor.kind, tensor.name, tensor.shape, spec::DType::f32, box},
                               reinterpret_cast<const std::byte*>(tensor.numbers.data() + first * row)});
        }
        auto summary = checkpoint::write_shard(commit.folder(), writer, sources);
        for (auto& piece : summary.pieces) {
            piece.file = static_cast<int>(manifest.files.size());
            manifest.pieces.push_back(std::move(piece));
        }
        manifest.files.push_back(std::move(summary.entry));
    }
    const auto step = manifest.progress.step;
    commit.finish(std::move(manifest), {.last = 1000});
    return root + "/" + checkpoint::folder_name(step);
}

}  // namespace ziggurat::test
