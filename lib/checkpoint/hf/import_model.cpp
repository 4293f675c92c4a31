#include "checkpoint/hf/import_model.hpp"

#include <utility>
#include <vector>

#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/shard/shard_writer.hpp"

namespace ziggurat::checkpoint::hf {
namespace {

ShardSummary write_shard_of(HfWeights& weights, const std::string& folder) {
    ShardWriter writer{folder, 0, weights.pieces()};
    std::vector<PieceTarget> targets;
    for (std::size_t k = 0; k < writer.pieces().size(); ++k) {
        targets.push_back(
            {writer.pieces()[k], nullptr, [&writer, k](std::int64_t, std::span<const std::byte> bytes) {
                 writer.append(k, bytes, writer.main_output());
             }});
    }
    weights.read(targets);
    return writer.finish();
}

}  // namespace

ImportedModel import_model(HfWeights& weights,
                           const std::string& root,
                           const std::string& deck,
                           const std::string& program,
                           std::function<void(std::int64_t, std::int64_t)> on_progress) {
    weights.set_progress_callback(std::move(on_progress));
    Commit commit{root, 0};
    Manifest manifest;
    ImportedModel made;
    auto summary = write_shard_of(weights, commit.folder());
    manifest.program = program;
    manifest.deck = deck;
    manifest.layout = "imported, on 1 rank";
    manifest.ranks = 1;
    manifest.files.push_back(summary.entry);
    for (auto& stored : summary.pieces) {
        made.bytes += stored.piece.bytes();
        ++made.tensors;
        manifest.pieces.push_back(std::move(stored));
    }
    commit.finish(std::move(manifest), {});
    made.path = root + "/" + folder_name(0);
    return made;
}

}  // namespace ziggurat::checkpoint::hf
