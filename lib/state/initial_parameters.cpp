#include "state/initial_parameters.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/contract.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/initial_values.hpp"
#include "layout/families/adapters.hpp"
#include "layout/flat_layout.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::state {

using layout::ElementRange;

namespace {

/// Parameters are generated in pieces of this many elements, independent of their size.
constexpr std::int64_t piece = std::int64_t{1} << 18;

/// FNV-1a hash of a name, which suffices for few and short names. The result must never change.
std::uint64_t key_of(std::string_view name) {
    std::uint64_t key = 0xcbf29ce484222325u;
    for (const char c : name) {
        key = (key ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    }
    return key;
}

/// Returns the position of a tensor rank's slice in the global tensor.
kernels::LocalWindow window_of(const layout::Parameter& parameter,
                               int tensor,
                               layout::TensorPosition position) {
    const auto local = layout::local_extents(parameter, tensor);
    kernels::LocalWindow window;
    window.columns = local.size() > 1 ? local.back() : 1;
    const auto begin = layout::local_begin(parameter, tensor, position);
    window.first_row = begin.front();
    window.first_column = local.size() > 1 ? begin.back() : 0;
    return window;
}

/// values = elements [begin, begin + size) of the local parameter.
void produce(const spec::RunSpec& spec,
             const layout::Parameter& parameter,
             const device::Stream& stream,
             layout::TensorPosition position,
             std::int64_t begin,
             std::span<float> values) {
    switch (parameter.initial) {
        case layout::Initial::zero:
            std::fill(values.begin(), values.end(), 0.0f);
            return;
        case layout::Initial::one:
            std::fill(values.begin(), values.end(), 1.0f);
            return;
        case layout::Initial::normal:
            break;
    }
    const auto window = window_of(parameter, spec.parallel.tensor, position);
    kernels::fill_normal(stream, {spec.run.seed, key_of(parameter.name), static_cast<float>(parameter.std)},
                         window, begin, values);
    if (parameter.valid_rows >= 0) {
        const auto end_of_data = (parameter.valid_rows - window.first_row) * window.columns;
        const auto kept = std::clamp<std::int64_t>(end_of_data - begin, 0, std::ssize(values));
        std::fill(values.begin() + kept, values.end(), 0.0f);
    }
}

template <class E>
void fill_buffer(const spec::RunSpec& spec,
                 const layout::Unit& unit,
                 const schedule::Buffer& buffer,
                 const device::Stream& stream,
                 layout::TensorPosition position,
                 const TierMemory& memory,
                 RandomTensors drawn) {
    const layout::FlatLayout flat{unit, spec.parallel.tensor, spec.parallel.data};
    const auto width = static_cast<std::int64_t>(sizeof(E));
    const ElementRange held{buffer.first_element, buffer.first_element + buffer.bytes / width};
    std::vector<float> made(std::min(piece, held.size()));
    std::vector<E> narrowed(std::is_same_v<E, float> ? 0 : made.size());
    for (std::size_t p = 0; p < unit.parameters.size(); ++p) {
        if (drawn == RandomTensors::adapters && !layout::is_of_adapter(unit.parameters[p].name)) {
            continue;
        }
        const auto range = flat.parameter(static_cast<int>(p));
        const auto last = std::min(range.end, held.end);
        for (auto begin = std::max(range.begin, held.begin); begin < last; begin += piece) {
            const auto size = std::min(piece, last - begin);
            const std::span<float> values{made.data(), static_cast<std::size_t>(size)};
            produce(spec, unit.parameters[p], stream, position, begin - range.begin, values);
            const auto at = (begin - held.begin) * width;
            if constexpr (std::is_same_v<E, float>) {
                memory.write(buffer, at, std::as_bytes(values));
            } else {
                const std::span<E> rounded{narrowed.data(), values.size()};
                kernels::convert<float, E>(stream, values, rounded);
                memory.write(buffer, at, std::as_bytes(rounded));
            }
        }
    }
}

}  // namespace

void set_initial_values(const spec::RunSpec& spec,
                        const layout::FamilyTable& table,
                        const schedule::Program& program,
                        const device::Stream& stream,
                        layout::TensorPosition position,
                        TierMemory& memory,
                        RandomTensors drawn) {
    for (const auto& buffer : program.buffers) {
        if (buffer.lifetime != schedule::Lifetime::persistent || !layout::is_drawn_at_start(buffer.state)) {
            continue;
        }
        const auto& unit = table.units.at(buffer.unit);
        if (buffer.type == spec::DType::bf16) {
            fill_buffer<tensor::bfloat16>(spec, unit, buffer, stream, position, memory, drawn);
        } else {
            fill_buffer<float>(spec, unit, buffer, stream, position, memory, drawn);
        }
    }
}

}  // namespace ziggurat::state
