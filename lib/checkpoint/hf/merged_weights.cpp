#include "checkpoint/hf/merged_weights.hpp"

#include <algorithm>

#include "base/contract.hpp"
#include "checkpoint/convert.hpp"
#include "layout/families/adapters.hpp"

namespace ziggurat::checkpoint::hf {
namespace {

PieceTarget all_of(const std::string& tensor, std::vector<std::int64_t> shape, std::vector<float>& values) {
    auto box = whole(shape);
    values.resize(box.elements());
    return {{PieceKind::weights, tensor, std::move(shape), spec::DType::f32, std::move(box)},
            reinterpret_cast<std::byte*>(values.data())};
}

}  // namespace

StoredAdapter read_adapter(CheckpointReader& reader,
                           const std::string& weight,
                           const std::vector<std::int64_t>& shape,
                           std::int64_t rank) {
    StoredAdapter adapter;
    const std::vector targets{all_of(layout::lora_a_of(weight), {rank, shape[1]}, adapter.a),
                              all_of(layout::lora_b_of(weight), {shape[0], rank}, adapter.b)};
    reader.read(targets);
    return adapter;
}

void MergedWeights::add(const PieceTarget& target, std::span<float> values) {
    const auto& box = target.piece.box;
    const auto& adapter = adapters_.at(target.piece.tensor);
    const auto rank = model_.lora.rank;
    const auto width = target.piece.shape[1];
    const auto factor = static_cast<float>(model_.lora.factor());
    for (std::int64_t row = 0; row < box.extent[0]; ++row) {
        float* const to = values.data() + row * box.extent[1];
        const float* const b = adapter.b.data() + (box.begin[0] + row) * rank;
        for (std::int64_t k = 0; k < rank; ++k) {
            const float* const a = adapter.a.data() + k * width + box.begin[1];
            for (std::int64_t column = 0; column < box.extent[1]; ++column) {
                to[column] += factor * b[k] * a[column];
            }
        }
    }
}

void MergedWeights::read(std::span<const PieceTarget> targets) {
    std::vector<PieceTarget> plain;
    std::vector<std::vector<float>> staged(targets.size());
    // An export reads a weight window by window.
    std::erase_if(adapters_, [&](const auto& kept) {
        return std::ranges::none_of(
            targets, [&](const PieceTarget& target) { return target.piece.tensor == kept.first; });
    });
    for (std::size_t k = 0; k < targets.size(); ++k) {
        const auto& piece = targets[k].piece;
        plain.push_back(targets[k]);
        if (!layout::has_adapter(model_, piece.tensor)) {
            continue;
        }
        ZG_EXPECTS(targets[k].bytes != nullptr && piece.shape.size() == 2);
        if (!adapters_.contains(piece.tensor)) {
            adapters_.emplace(piece.tensor,
                              read_adapter(reader_, piece.tensor, piece.shape, model_.lora.rank));
        }
        staged[k].resize(piece.box.elements());
        plain.back().piece.type = spec::DType::f32;
        plain.back().bytes = reinterpret_cast<std::byte*>(staged[k].data());
    }
    reader_.read(plain);
    for (std::size_t k = 0; k < targets.size(); ++k) {
        if (plain[k].bytes != targets[k].bytes) {
            add(targets[k], staged[k]);
            convert(plain[k].bytes, spec::DType::f32, targets[k].bytes, targets[k].piece.type,
                    targets[k].piece.box.elements());
        }
    }
}

}  // namespace ziggurat::checkpoint::hf
