#include "train/step/weights_hash.hpp"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "comm/control.hpp"
#include "schedule/passes/saved_runs.hpp"

namespace ziggurat::train {

namespace {

/// Number of elements that are in memory at a time.
constexpr std::int64_t window_elements = std::int64_t{1} << 18;

/// Returns the hash of one element. It must never change, because hashes of earlier runs are stored.
std::uint64_t hash_of(std::uint64_t position, std::uint32_t bits) {
    constexpr std::uint64_t factor = 0xD6E8FEB86659FD93;  // an odd number whose bits look random
    std::uint64_t mixed = position * 0x9E3779B97F4A7C15 ^ bits * factor;
    mixed = (mixed ^ mixed >> 32) * factor;
    mixed = (mixed ^ mixed >> 32) * factor;
    return mixed ^ mixed >> 32;
}

/// Mapping from elements of a tensor rank's slice to elements of the whole tensor, in row-major order.
///
/// The slice has `run` elements of each `whole_run` elements of the tensor, from `offset` on. `offset` is
/// that of a slice of rows too.
struct SlicePositions {
    std::int64_t run = 1;
    std::int64_t whole_run = 1;
    std::int64_t offset = 0;
    std::int64_t end = 0;  ///< number of elements of the tensor before the padding rows

    SlicePositions(const layout::Parameter& parameter, int tensor, layout::TensorPosition position) {
        const auto local = layout::local_extents(parameter, tensor);
        const auto begin = layout::local_begin(parameter, tensor, position);
        const std::size_t first = layout::last_cut_dim(parameter);
        for (auto dim = first; dim < local.size(); ++dim) {
            run *= local[dim];
            whole_run *= parameter.extents[dim];
        }
        // Position of the slice's first element in the tensor.
        for (std::size_t dim = 0; dim < local.size(); ++dim) {
            offset = offset * parameter.extents[dim] + begin[dim];
        }
        end = parameter.valid_rows >= 0 ? parameter.valid_rows : parameter.extents.front();
        for (std::size_t dim = 1; dim < parameter.extents.size(); ++dim) {
            end *= parameter.extents[dim];
        }
    }

    std::int64_t position_of(std::int64_t element) const {
        return element / run * whole_run + offset + element % run;
    }
};

/// Returns the bits of an element as fp32; `width` is the size of its stored type in bytes.
std::uint32_t bits_of(const std::byte* element, std::int64_t width) {
    if (width == 4) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, element, sizeof(bits));
        return bits;
    }
    std::uint16_t upper = 0;
    std::memcpy(&upper, element, sizeof(upper));
    return std::uint32_t{upper} << 16;
}

/// Returns the sum of the hashes of the elements [first, last) of a slice.
///
/// The slice is in `buffer`, from its flat element `begin` on.
std::uint64_t hash_of(const schedule::Buffer& buffer,
                      const state::TierMemory& memory,
                      const SlicePositions& positions,
                      std::uint64_t seed,
                      std::int64_t begin,
                      std::int64_t first,
                      std::int64_t last) {
    const std::int64_t width = schedule::element_bytes(buffer);
    std::vector<std::byte> bytes;
    std::uint64_t sum = 0;
    for (auto from = first; from < last; from += window_elements) {
        const auto to = std::min(from + window_elements, last);
        bytes.resize((to - from) * width);
        memory.read(buffer, (begin + from - buffer.first_element) * width, bytes);
        for (auto at = from; at < to;) {
            const auto position = positions.position_of(at);
            const auto end_of_run = std::min(to, at + positions.run - at % positions.run);
            const auto counted = std::min(end_of_run - at, positions.end - position);
            const auto* element = bytes.data() + (at - from) * width;
            for (std::int64_t i = 0; i < counted; ++i, element += width) {
                sum += hash_of(seed + static_cast<std::uint64_t>(position + i), bits_of(element, width));
            }
            at = end_of_run;
        }
    }
    return sum;
}

}  // namespace

std::uint64_t weights_hash(const comm::Context& world,
                           const schedule::ModelLayout& model,
                           const schedule::Program& program,
                           const state::TierMemory& memory,
                           layout::PieceKind kind,
                           const std::function<bool(const layout::Parameter&)>& counts) {
    std::uint64_t sum = 0;
    for (const auto& saved : schedule::saved_runs(model, program)) {
        const auto& buffer = program.buffers[saved.buffer];
        if (layout::piece_of(buffer.state, model.masters) != kind) {
            continue;
        }
        const std::size_t unit = buffer.unit;
        for (const int p : model.flats[unit].ascending()) {
            const auto& parameter = model.table.units[unit].parameters[p];
            const auto placed = model.flats[unit].parameter(p);
            const auto first = std::max(saved.elements.begin, placed.begin);
            const auto last = std::min(saved.elements.end, placed.end);
            if (first < last && model.counts(buffer.unit, p) && (!counts || counts(parameter))) {
                sum += hash_of(buffer, memory, {parameter, model.tensor(), model.tensor_position()},
                               XXH3_64bits(parameter.name.data(), parameter.name.size()), placed.begin,
                               first - placed.begin, last - placed.begin);
            }
        }
    }
    comm::all_reduce_sum(world, {&sum, 1});
    return sum;
}

}  // namespace ziggurat::train
