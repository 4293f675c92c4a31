#include "checkpoint/read_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "checkpoint/shard/shard_file.hpp"

namespace ziggurat::checkpoint {
namespace {

using Key = std::pair<PieceKind, std::string>;
using PieceBlock = std::pair<std::size_t, std::int64_t>;

/// Splits a range of a piece at the boundaries of its blocks.
void add_copies(std::map<PieceBlock, std::vector<BlockCopy>>& blocks,
                std::size_t piece,
                std::int64_t block_elements,
                CommonRun run,
                int target) {
    while (run.elements > 0) {
        const std::int64_t number = run.offset_in_a / block_elements;
        const std::int64_t within = run.offset_in_a % block_elements;
        const std::int64_t part = std::min(run.elements, block_elements - within);
        blocks[{piece, number}].push_back({within, run.offset_in_b, part, target});
        run.offset_in_a += part;
        run.offset_in_b += part;
        run.elements -= part;
    }
}

[[noreturn]] void refuse(const Piece& wanted, const std::string& path, const std::string& reason) {
    throw Error{
        ErrorKind::checkpoint,
        fmt::format("'{}' of '{}' cannot be read from '{}' ({}). Use a checkpoint of the same model, or "
                    "the deck that wrote it.",
                    to_string(wanted.kind), wanted.tensor, path, reason)};
}

}  // namespace

std::vector<FilePlan> plan_reading(const Manifest& manifest,
                                   std::span<const PieceTarget> targets,
                                   const std::string& path) {
    std::map<Key, std::vector<std::size_t>> stored;
    for (std::size_t k = 0; k < manifest.pieces.size(); ++k) {
        stored[{manifest.pieces[k].piece.kind, manifest.pieces[k].piece.tensor}].push_back(k);
    }
    std::map<PieceBlock, std::vector<BlockCopy>> copies;
    for (std::size_t target = 0; target < targets.size(); ++target) {
        const Piece& wanted = targets[target].piece;
        const auto found = stored.find({wanted.kind, wanted.tensor});
        if (found == stored.end()) {
            refuse(wanted, path, "it has no tensor of that name");
        }
        std::int64_t missing = wanted.box.elements();
        for (const std::size_t k : found->second) {
            const Piece& piece = manifest.pieces[k].piece;
            if (piece.shape != wanted.shape) {
                refuse(wanted, path,
                       fmt::format("it has the shape [{}] there and [{}] here", fmt::join(piece.shape, ", "),
                                   fmt::join(wanted.shape, ", ")));
            }
            const std::optional<Box> part = common_part(piece.box, wanted.box);
            if (!part) {
                continue;
            }
            missing -= part->elements();
            const std::int64_t block_elements = hash_block_bytes / element_bytes(piece.type);
            for (const CommonRun& run : common_runs(*part, piece.box, wanted.box)) {
                add_copies(copies, k, block_elements, run, static_cast<int>(target));
            }
        }
        if (missing != 0) {
            refuse(wanted, path, fmt::format("{} of its elements are not stored", missing));
        }
    }

    std::map<int, FilePlan> files;
    for (auto& [key, block_copies] : copies) {
        const auto& [index, number] = key;
        const StoredPiece& piece = manifest.pieces[index];
        FilePlan& plan = files[piece.file];
        plan.file = piece.file;
        const std::int64_t begin = number * hash_block_bytes;
        plan.blocks.push_back({index, number, piece.offset_bytes + begin,
                               std::min(hash_block_bytes, piece.piece.bytes() - begin),
                               std::move(block_copies)});
        if (plan.pieces.empty() || plan.pieces.back() != index) {
            plan.pieces.push_back(index);
        }
    }
    std::vector<FilePlan> plans;
    for (auto& [file, plan] : files) {
        std::sort(plan.blocks.begin(), plan.blocks.end(),
                  [](const WantedBlock& a, const WantedBlock& b) { return a.offset_bytes < b.offset_bytes; });
        plans.push_back(std::move(plan));
    }
    return plans;
}

}  // namespace ziggurat::checkpoint
