#include "train/step/tensor_access.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/contract.hpp"
#include "comm/control.hpp"
#include "layout/tensors.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::train {

using layout::ElementRange;
using schedule::StateKind;

namespace {

/// Number of 64-bit words of one all-reduce.
constexpr std::size_t words_at_once = std::size_t{1} << 20;

std::vector<float> read_elements(const state::TierMemory& memory,
                                 const schedule::Buffer& buffer,
                                 ElementRange wanted) {
    const auto at = (wanted.begin - buffer.first_element) * schedule::element_bytes(buffer);
    std::vector<float> values(wanted.size());
    if (buffer.type == spec::DType::f32) {
        memory.read(buffer, at, std::as_writable_bytes(std::span{values}));
    } else {
        std::vector<tensor::bfloat16> narrow(values.size());
        memory.read(buffer, at, std::as_writable_bytes(std::span{narrow}));
        std::ranges::transform(narrow, values.begin(), [](auto value) { return static_cast<float>(value); });
    }
    return values;
}

void write_elements(const state::TierMemory& memory,
                    const schedule::Buffer& buffer,
                    std::int64_t first,
                    std::span<const float> values) {
    const auto at = (first - buffer.first_element) * schedule::element_bytes(buffer);
    if (buffer.type == spec::DType::f32) {
        memory.write(buffer, at, std::as_bytes(values));
    } else {
        std::vector<tensor::bfloat16> narrow(values.size());
        std::ranges::transform(values, narrow.begin(),
                               [](float value) { return static_cast<tensor::bfloat16>(value); });
        memory.write(buffer, at, std::as_bytes(std::span{narrow}));
    }
}

}  // namespace

TensorAccess::TensorAccess(const comm::Context& world,
                           const schedule::ModelLayout& model,
                           const schedule::Program& program,
                           const state::TierMemory& memory)
    : world_{world}, model_{model}, program_{program}, memory_{memory} {}

TensorAccess::FoundTensor TensorAccess::find(const std::string& name) const {
    FoundTensor found;
    for (std::size_t unit = 0; unit < model_.table.units.size(); ++unit) {
        const auto& parameters = model_.table.units[unit].parameters;
        const auto at = std::ranges::find(parameters, name, &layout::Parameter::name);
        if (at == parameters.end()) {
            continue;
        }
        found.unit = static_cast<int>(unit);
        found.parameter = static_cast<int>(at - parameters.begin());
        found.elements = layout::unpadded_elements(*at);
        found.range = model_.flats[unit].parameter(found.parameter);
        const auto slice = layout::local_extents(*at, model_.tensor());
        // A slice of rows is contiguous in the tensor; a slice of columns has a part of every row.
        const bool is_cut_by_columns = layout::last_cut_dim(*at) > 0;
        found.rows_apart = is_cut_by_columns ? at->extents.back() : found.range.size();
        found.row_elements = is_cut_by_columns ? slice.back() : found.range.size();
        const auto begin = layout::local_begin(*at, model_.tensor(), model_.tensor_position());
        for (std::size_t dim = 0; dim < begin.size(); ++dim) {
            found.first = found.first * at->extents[dim] + begin[dim];
        }
        if (at->valid_rows >= 0) {
            const auto valid = std::clamp<std::int64_t>(at->valid_rows - begin.front(), 0, slice.front());
            found.range.end = found.range.begin + found.range.size() / slice.front() * valid;
        }
        return found;
    }
    return found;
}

std::vector<const schedule::Buffer*> TensorAccess::buffers_of(StateKind kind, schedule::UnitId unit) const {
    std::vector<const schedule::Buffer*> found;
    for (const auto& buffer : program_.buffers) {
        if (buffer.lifetime == schedule::Lifetime::persistent && buffer.state == kind &&
            buffer.unit == unit) {
            found.push_back(&buffer);
        }
    }
    return found;
}

void TensorAccess::set(const std::string& name, std::span<const float> values) const {
    const auto found = find(name);
    ZG_EXPECTS(found.unit >= 0 && found.elements == std::ssize(values));
    std::vector<float> slice(found.range.size());
    for (std::size_t i = 0; i < slice.size(); ++i) {
        slice[i] = values[found.in_tensor(static_cast<std::int64_t>(i))];
    }
    for (const auto kind : layout::state_kinds) {
        if (!layout::is_drawn_at_start(kind)) {
            continue;
        }
        for (const auto* buffer : buffers_of(kind, found.unit)) {
            const auto held = intersection(schedule::elements_of(*buffer), found.range);
            if (!held.empty()) {
                write_elements(memory_, *buffer, held.begin,
                               std::span{slice}.subspan(held.begin - found.range.begin, held.size()));
            }
        }
    }
}

std::vector<float> TensorAccess::get(StateKind kind, const std::string& name) const {
    const auto found = find(name);
    const auto& range = found.range;
    ZG_EXPECTS(found.unit >= 0);
    const std::size_t unit = found.unit;
    const bool is_frozen = !model_.table.units[unit].parameters[found.parameter].is_trained;
    ZG_EXPECTS(!is_frozen || kind == StateKind::parameters || kind == StateKind::master);
    const auto buffers = buffers_of(is_frozen ? StateKind::frozen : kind, found.unit);
    const bool is_held = std::ranges::find(model_.units, found.unit) != model_.units.end();
    ZG_EXPECTS(!is_held || !buffers.empty());

    const auto& of_region = is_frozen ? model_.frozen_shards : model_.shards;
    const auto mine = intersection(of_region[unit].shard(model_.spans.data, model_.data_rank), range);
    std::vector<float> values(found.elements);
    for (const auto* buffer : buffers) {
        const auto part = intersection(schedule::elements_of(*buffer), mine);
        if (part.empty() || !model_.counts(found.unit, found.parameter)) {
            continue;
        }
        auto at = part.begin - range.begin;
        for (const float value : read_elements(memory_, *buffer, part)) {
            values[found.in_tensor(at++)] = value;
        }
    }
    // An integer sum joins the parts: all ranks except one contribute zero bits for an element.
    std::vector<std::uint64_t> words(std::min(words_at_once, (values.size() + 1) / 2));
    for (std::size_t begin = 0; begin < values.size(); begin += 2 * words.size()) {
        const auto bytes = std::min(2 * words.size(), values.size() - begin) * sizeof(float);
        words.back() = 0;
        std::memcpy(words.data(), &values[begin], bytes);
        comm::all_reduce_sum(world_, std::span{words}.first((bytes + 7) / 8));
        std::memcpy(&values[begin], words.data(), bytes);
    }
    return values;
}

}  // namespace ziggurat::train
