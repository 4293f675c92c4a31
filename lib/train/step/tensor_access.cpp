#include "train/step/tensor_access.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/contract.hpp"
#include "comm/control.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::train {

using layout::ElementRange;
using schedule::StateKind;

namespace {

/// Words that travel in one exchange.
constexpr std::size_t words_at_once = std::size_t{1} << 20;

ElementRange common_part(ElementRange a, ElementRange b) {
    return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

std::vector<float> read_elements(const state::TierMemory& memory,
                                 const schedule::Buffer& buffer,
                                 ElementRange wanted) {
    const auto at = (wanted.begin - buffer.first_element) * schedule::element_bytes(buffer);
    std::vector<float> values(static_cast<std::size_t>(wanted.size()));
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

TensorAccess::TensorAccess(comm::Communicator data_ranks,
                           comm::WaitContext waits,
                           const schedule::ModelLayout& model,
                           const schedule::Program& program,
                           const state::TierMemory& memory)
    : data_ranks_{std::move(data_ranks)}, waits_{waits}, model_{model}, program_{program}, memory_{memory} {}

TensorAccess::TensorRange TensorAccess::range_of(const std::string& name) const {
    for (const int unit : model_.units) {
        const auto& parameters = model_.table.units[static_cast<std::size_t>(unit)].parameters;
        const auto at = std::ranges::find(parameters, name, &layout::Parameter::name);
        if (at != parameters.end()) {
            auto range = model_.flats[static_cast<std::size_t>(unit)].parameter(
                static_cast<int>(at - parameters.begin()));
            if (at->valid_rows >= 0) {
                range.end = range.begin + at->valid_rows * at->extents.back();
            }
            return {unit, range};
        }
    }
    return {};
}

std::vector<const schedule::Buffer*> TensorAccess::buffers_of(StateKind kind, int unit) const {
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
    const auto [unit, range] = range_of(name);
    ZG_EXPECTS(unit >= 0 && range.size() == std::ssize(values));
    for (const auto kind : layout::state_kinds) {
        if (!layout::is_drawn_at_start(kind)) {
            continue;
        }
        for (const auto* buffer : buffers_of(kind, unit)) {
            const auto held = common_part(schedule::elements_of(*buffer), range);
            if (!held.empty()) {
                write_elements(memory_, *buffer, held.begin,
                               values.subspan(static_cast<std::size_t>(held.begin - range.begin),
                                              static_cast<std::size_t>(held.size())));
            }
        }
    }
}

std::vector<float> TensorAccess::get(StateKind kind, const std::string& name) const {
    const auto [unit, range] = range_of(name);
    ZG_EXPECTS(unit >= 0);
    const bool is_frozen = range.begin >= model_.flats[static_cast<std::size_t>(unit)].trained_elements();
    ZG_EXPECTS(!is_frozen || kind == StateKind::parameters || kind == StateKind::master);
    const auto buffers = buffers_of(is_frozen ? StateKind::frozen : kind, unit);
    ZG_EXPECTS(!buffers.empty());

    const auto& of_region = is_frozen ? model_.frozen_shards : model_.shards;
    const auto& shards = of_region[static_cast<std::size_t>(unit)];
    const auto mine = common_part(shards.shard(model_.spans.data, model_.data_rank), range);
    std::vector<float> values(static_cast<std::size_t>(range.size()));
    for (const auto* buffer : buffers) {
        const auto part = common_part(schedule::elements_of(*buffer), mine);
        if (!part.empty()) {
            std::ranges::copy(read_elements(memory_, *buffer, part),
                              values.begin() + (part.begin - range.begin));
        }
    }
    // Of the bits of each element all ranks but one have zeros, so that their sum is the element.
    std::vector<std::uint64_t> words(std::min(words_at_once, (values.size() + 1) / 2));
    for (std::size_t begin = 0; begin < values.size(); begin += 2 * words.size()) {
        const auto bytes = std::min(2 * words.size(), values.size() - begin) * sizeof(float);
        words.back() = 0;
        std::memcpy(words.data(), &values[begin], bytes);
        comm::all_reduce_sum(comm::Context{data_ranks_, waits_}, std::span{words}.first((bytes + 7) / 8));
        std::memcpy(&values[begin], words.data(), bytes);
    }
    return values;
}

}  // namespace ziggurat::train
