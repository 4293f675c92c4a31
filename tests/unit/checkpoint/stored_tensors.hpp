/// Random tensors, split at random into pieces of several writers, as a checkpoint in a test's folder.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/shard/shard_file.hpp"
#include "tests/support/random/draw.hpp"

namespace ziggurat::test {

/// Puts the scratch folders of this process in memory, where flushing is free. Call it first.
inline void keep_scratch_in_memory() {
    if (access("/dev/shm", W_OK) == 0) {
        setenv("TMPDIR", "/dev/shm", 1);
    }
}

struct Tensor {
    checkpoint::Piece piece;  ///< all of it
    std::vector<std::byte> bytes;
};

/// Returns random bits that are finite numbers.
inline std::vector<std::byte> draw_values(const checkpoint::Piece& piece, Draw& draw) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(piece.bytes()));
    for (std::size_t k = 0; k < bytes.size(); ++k) {
        bytes[k] = static_cast<std::byte>(draw.engine()() & 0xff);
    }
    const auto width = static_cast<std::size_t>(element_bytes(piece.type));
    for (std::size_t k = width - 1; k < bytes.size(); k += width) {
        bytes[k] &= std::byte{0xbf};  // the exponent's highest bit
    }
    return bytes;
}

inline Tensor draw_tensor(checkpoint::PieceKind kind,
                          const std::string& name,
                          std::vector<std::int64_t> shape,
                          spec::DType type,
                          Draw& draw) {
    Tensor tensor{{kind, name, shape, type, checkpoint::whole(shape)}, {}};
    tensor.bytes = draw_values(tensor.piece, draw);
    return tensor;
}

/// Returns `count` tensors of 0 to 4 dims, of random kinds, some frozen in bf16.
inline std::vector<Tensor> draw_tensors(int count, std::int64_t largest_extent, Draw& draw) {
    using checkpoint::PieceKind;
    std::vector<Tensor> tensors;
    for (int k = 0; k < count; ++k) {
        std::vector<std::int64_t> shape(static_cast<std::size_t>(draw.between(0, k % 2 == 0 ? 2 : 4)));
        for (std::int64_t& extent : shape) {
            extent = draw.between(1, shape.size() > 2 ? 7 : largest_extent);
        }
        const std::string name = "layers." + std::to_string(k) + ".weight";
        if (draw.chance(0.3)) {
            tensors.push_back(draw_tensor(PieceKind::weights, name, shape, spec::DType::bf16, draw));
            continue;
        }
        for (const PieceKind kind : {PieceKind::weights, PieceKind::first_moment, PieceKind::second_moment}) {
            tensors.push_back(draw_tensor(kind, name, shape, spec::DType::f32, draw));
        }
    }
    return tensors;
}

/// Splits a window at a random position of a random dim, and its parts again.
inline void cut(const checkpoint::Box& window, int times, Draw& draw, std::vector<checkpoint::Box>& parts) {
    std::vector<std::size_t> dims;
    for (std::size_t k = 0; k < window.extent.size(); ++k) {
        if (window.extent[k] > 1) {
            dims.push_back(k);
        }
    }
    if (times == 0 || dims.empty()) {
        parts.push_back(window);
        return;
    }
    const std::size_t dim = draw.one_of(dims);
    const std::int64_t at = draw.between(1, window.extent[dim] - 1);
    checkpoint::Box low = window;
    checkpoint::Box high = window;
    low.extent[dim] = at;
    high.begin[dim] += at;
    high.extent[dim] -= at;
    cut(low, times - 1, draw, parts);
    cut(high, times - 1, draw, parts);
}

/// Returns boxes that cover a tensor once: 2D blocks, slices of them, and flat ranges, as shards have.
inline std::vector<checkpoint::Box> draw_boxes(const checkpoint::Piece& tensor, Draw& draw) {
    std::vector<checkpoint::Box> windows;
    cut(tensor.box, static_cast<int>(draw.between(0, 2)), draw, windows);
    std::vector<checkpoint::Box> boxes;
    for (const checkpoint::Box& window : windows) {
        const std::int64_t middle = draw.chance(0.5) ? draw.between(0, window.elements()) : 0;
        for (const auto& [first, last] : {std::pair{std::int64_t{0}, middle}, {middle, window.elements()}}) {
            for (checkpoint::Box& box : boxes_of_run(window, first, last)) {
                boxes.push_back(std::move(box));
            }
        }
    }
    return boxes;
}

/// Returns the values of a box of a tensor, row by row.
inline std::vector<std::byte> values_of(const Tensor& tensor, const checkpoint::Box& box) {
    const std::int64_t width = element_bytes(tensor.piece.type);
    std::vector<std::byte> values(static_cast<std::size_t>(box.elements() * width));
    for (const checkpoint::CommonRun& run : common_runs(box, tensor.piece.box, box)) {
        std::memcpy(values.data() + run.offset_in_b * width, tensor.bytes.data() + run.offset_in_a * width,
                    static_cast<std::size_t>(run.elements * width));
    }
    return values;
}

/// Pieces of one writer, with their values.
struct WriterShare {
    std::vector<checkpoint::Piece> pieces;
    std::vector<std::vector<std::byte>> values;

    std::vector<checkpoint::PieceSource> sources() const {
        std::vector<checkpoint::PieceSource> list;
        for (std::size_t k = 0; k < pieces.size(); ++k) {
            list.push_back({pieces[k], values[k].data()});
        }
        return list;
    }
};

inline std::vector<WriterShare> share_out(const std::vector<Tensor>& tensors, int writers, Draw& draw) {
    std::vector<WriterShare> shares(static_cast<std::size_t>(writers));
    for (const Tensor& tensor : tensors) {
        for (const checkpoint::Box& box : draw_boxes(tensor.piece, draw)) {
            WriterShare& share = shares[static_cast<std::size_t>(draw.between(0, writers - 1))];
            share.pieces.push_back(tensor.piece);
            share.pieces.back().box = box;
            share.values.push_back(values_of(tensor, box));
        }
    }
    return shares;
}

/// Saves for all ranks, with the manifest changed by `change`; returns the checkpoint's path.
inline std::string save(const std::string& root,
                        std::int64_t step,
                        const std::vector<WriterShare>& shares,
                        const checkpoint::RetentionPolicy& keep = {},
                        const std::function<void(checkpoint::Manifest&)>& change = {}) {
    checkpoint::Commit commit{root, step};
    checkpoint::Manifest manifest;
    manifest.program = "test";
    manifest.progress = {step, step * 100, step * 4, 1, 0.1 * static_cast<double>(step)};
    manifest.deck = "model: {layers: 2}\n";
    manifest.layout = "as the dice fell";
    manifest.ranks = static_cast<int>(shares.size());
    for (std::size_t writer = 0; writer < shares.size(); ++writer) {
        checkpoint::ShardSummary summary =
            checkpoint::write_shard(commit.folder(), static_cast<int>(writer), shares[writer].sources());
        manifest.files.push_back(summary.entry);
        for (checkpoint::StoredPiece& stored : summary.pieces) {
            stored.file = static_cast<int>(writer);
            manifest.pieces.push_back(std::move(stored));
        }
    }
    if (change) {
        change(manifest);
    }
    commit.finish(std::move(manifest), keep);
    return root + "/" + checkpoint::folder_name(step);
}

}  // namespace ziggurat::test
