#include "train/save/held_pieces.hpp"

#include <algorithm>

#include "base/contract.hpp"
#include "checkpoint/box.hpp"
#include "schedule/passes/saved_runs.hpp"

namespace ziggurat::train {

using checkpoint::Box;
using layout::ElementRange;

namespace {

/// Size of the buffer of zeros that is written at a time.
constexpr std::int64_t window_bytes = std::int64_t{1} << 20;

/// Returns the shape of a parameter without padding rows.
std::vector<std::int64_t> shape_of(const layout::Parameter& parameter) {
    auto shape = parameter.extents;
    if (parameter.valid_rows >= 0) {
        shape.front() = parameter.valid_rows;
    }
    return shape;
}

/// Returns the box of the tensor that a tensor-parallel rank holds, without padding rows.
///
/// Padding rows are the last rows, so the box is at the start of the parameter's flat range.
Box window_of(const layout::Parameter& parameter, int tensor, layout::TensorPosition position) {
    Box window;
    window.extent = layout::local_extents(parameter, tensor);
    window.begin = layout::local_begin(parameter, tensor, position);
    if (parameter.valid_rows >= 0) {
        window.extent.front() =
            std::clamp<std::int64_t>(parameter.valid_rows - window.begin.front(), 0, window.extent.front());
    }
    return window;
}

/// Appends the pieces of one parameter that are in `range` of its unit's flat range.
void add_pieces(const schedule::ModelLayout& model,
                const schedule::Program& program,
                int buffer_index,
                int parameter_index,
                ElementRange range,
                std::vector<PieceView>& pieces) {
    const auto& buffer = program.buffers[buffer_index];
    const auto& parameter = model.table.units[buffer.unit].parameters[parameter_index];
    const auto placed = model.flats[buffer.unit].parameter(parameter_index);
    const Box window = window_of(parameter, model.tensor(), model.tensor_position());
    const auto first = std::max(range.begin, placed.begin);
    const auto last = std::min(range.end, placed.begin + window.elements());
    if (first >= last) {
        return;
    }
    const std::int64_t width = schedule::element_bytes(buffer);
    PieceView held;
    held.piece = {layout::piece_of(buffer.state, model.masters).value(),
                  parameter.name,
                  shape_of(parameter),
                  buffer.type,
                  {}};
    held.buffer = buffer_index;
    held.offset_bytes = (first - buffer.first_element) * width;
    held.is_saved = model.counts(buffer.unit, parameter_index);
    for (auto& box : checkpoint::boxes_of_run(window, first - placed.begin, last - placed.begin)) {
        held.piece.box = std::move(box);
        pieces.push_back(held);
        held.offset_bytes += held.piece.bytes();
    }
}

}  // namespace

std::vector<PieceView> held_pieces(const schedule::ModelLayout& model,
                                   const schedule::Program& program,
                                   PieceExtent extent) {
    std::vector<PieceView> pieces;
    for (const auto& saved : schedule::saved_runs(model, program)) {
        const auto& buffer = program.buffers[saved.buffer];
        const auto range = extent == PieceExtent::finest ? saved.elements : schedule::elements_of(buffer);
        ZG_ENSURES(schedule::elements_of(buffer).begin <= range.begin &&
                   range.end <= schedule::elements_of(buffer).end);
        for (const int p : model.flats[buffer.unit].ascending()) {
            add_pieces(model, program, saved.buffer, p, range, pieces);
        }
    }
    return pieces;
}

checkpoint::PieceSource source_at_home(const StateView& state, PieceView held) {
    const auto& buffer = state.program.buffers[held.buffer];
    if (auto* const at = state.memory.in_place(buffer); at != nullptr) {
        return {std::move(held.piece), at + held.offset_bytes};
    }
    return {
        std::move(held.piece), nullptr,
        [&buffer, &memory = state.memory, first = held.offset_bytes](
            std::int64_t offset, std::span<std::byte> into) { memory.read(buffer, first + offset, into); }};
}

checkpoint::PieceTarget target_at_home(const StateView& state, PieceView held) {
    const auto& buffer = state.program.buffers[held.buffer];
    if (auto* const at = state.memory.in_place(buffer); at != nullptr) {
        return {std::move(held.piece), at + held.offset_bytes};
    }
    return {std::move(held.piece), nullptr,
            [&buffer, &memory = state.memory, first = held.offset_bytes](std::int64_t offset,
                                                                         std::span<const std::byte> from) {
                memory.write(buffer, first + offset, from);
            }};
}

void fill_zero(const StateView& state, const PieceView& held) {
    const auto& buffer = state.program.buffers[held.buffer];
    const auto bytes = held.piece.bytes();
    const std::vector<std::byte> zeros(std::min(window_bytes, bytes));
    for (std::int64_t done = 0; done < bytes; done += window_bytes) {
        const std::size_t size = std::min(window_bytes, bytes - done);
        state.memory.write(buffer, held.offset_bytes + done, std::span{zeros}.first(size));
    }
}

}  // namespace ziggurat::train
