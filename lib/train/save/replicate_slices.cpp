#include "train/save/replicate_slices.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "base/contract.hpp"
#include "comm/mpi/mpi_collectives.hpp"
#include "layout/staging/staging_sizes.hpp"
#include "schedule/passes/saved_runs.hpp"
#include "train/save/replicate_state.hpp"

namespace ziggurat::train {

using layout::ElementRange;
using schedule::Buffer;

namespace {

/// Elements of a unit's flat range that several ranks hold.
struct CommonRun {
    schedule::BufferId buffer = -1;
    ElementRange elements;
};

const Buffer& buffer_of(const StateView& state, const CommonRun& run) {
    return state.program.buffers[run.buffer];
}

std::int64_t bytes_of(const StateView& state, const CommonRun& run) {
    return run.elements.size() * schedule::element_bytes(buffer_of(state, run));
}

/// Sorts by kind, unit and first element.
///
/// This order does not depend on how a rank splits the elements between its tiers.
void sort(const StateView& state, std::vector<CommonRun>& runs) {
    std::ranges::sort(runs, {}, [&](const CommonRun& run) {
        const auto& buffer = buffer_of(state, run);
        return std::tuple{buffer.state, buffer.unit, run.elements.begin};
    });
}

/// Calls `use` for the part of each range that is in `window`, with the ranges concatenated.
///
/// `window` covers the concatenation from byte `first` on. The arguments of `use` are the buffer, the offset
/// in the buffer, and the corresponding bytes of `window`.
template <class Use>
void for_window(const StateView& state,
                const std::vector<CommonRun>& runs,
                std::int64_t first,
                std::span<std::byte> window,
                const Use& use) {
    std::int64_t begin = 0;
    const auto last = first + std::ssize(window);
    for (const auto& run : runs) {
        const auto end = begin + bytes_of(state, run);
        const auto from = std::max(begin, first);
        const auto to = std::min(end, last);
        if (from < to) {
            const auto& buffer = buffer_of(state, run);
            const auto at_home =
                (run.elements.begin - buffer.first_element) * schedule::element_bytes(buffer);
            use(buffer, at_home + from - begin, window.subspan(from - first, to - from));
        }
        begin = end;
    }
}

/// Broadcasts the ranges of the first member to the group, whose members have the same number of bytes.
void pass_on(const comm::Context& world,
             const comm::Communicator& group,
             const StateView& state,
             std::vector<CommonRun> runs) {
    sort(state, runs);
    std::int64_t bytes = 0;
    for (const auto& run : runs) {
        bytes += bytes_of(state, run);
    }
    if (bytes == 0 || group.size() == 1) {
        return;
    }
    std::vector<std::byte> window(std::min(bytes, layout::replication_window_bytes));
    comm::MpiCollectives collectives{group};
    comm::CollectiveCall call;
    call.kind = comm::CollectiveKind::broadcast;
    call.label = "loading";
    call.input = call.output = window.data();
    call.blocks = {{0, std::ssize(window)}};
    call.peer = 0;
    const int broadcast = collectives.prepare(std::move(call));
    for (std::int64_t first = 0; first < bytes; first += std::ssize(window)) {
        const auto part = std::span{window}.first(std::min(bytes - first, std::ssize(window)));
        if (group.rank() == 0) {
            for_window(state, runs, first, part,
                       [&](const Buffer& buffer, std::int64_t offset, std::span<std::byte> into) {
                           state.memory.read(buffer, offset, into);
                       });
        }
        collectives.start(broadcast);
        comm::wait(collectives, broadcast, world.waits());
        if (group.rank() != 0) {
            for_window(state, runs, first, part,
                       [&](const Buffer& buffer, std::int64_t offset, std::span<std::byte> from) {
                           state.memory.write(buffer, offset, from);
                       });
        }
    }
}

/// Returns the ranges that this rank has in common with the tensor ranks `holders`, itself included.
std::vector<CommonRun> runs_of_slices(const StateView& state,
                                      const std::vector<schedule::SavedRun>& saved,
                                      const std::vector<int>& holders) {
    const auto& model = state.model;
    std::vector<CommonRun> runs;
    for (const auto& [index, elements, bytes, is_copied] : saved) {
        const auto& buffer = state.program.buffers[index];
        const std::size_t unit = buffer.unit;
        for (const int p : model.flats[unit].ascending()) {
            const auto& parameter = model.table.units[unit].parameters[p];
            const auto placed = model.flats[unit].parameter(p);
            const ElementRange part{std::max(elements.begin, placed.begin),
                                    std::min(elements.end, placed.end)};
            if (part.begin < part.end && model.slice_members(parameter) == holders) {
                runs.push_back({index, part});
            }
        }
    }
    return runs;
}

}  // namespace

void replicate_slices(const comm::Context& world,
                      const StateView& state,
                      const std::function<bool(layout::StateKind)>& is_sent) {
    const auto& model = state.model;
    auto saved = schedule::saved_runs(model, state.program);
    std::erase_if(saved, [&](const schedule::SavedRun& run) {
        return !is_sent(state.program.buffers[run.buffer].state);
    });
    std::vector<CommonRun> table;  // ranges of the embedding
    for (const auto& run : saved) {
        if (state.program.buffers[run.buffer].unit == 0) {
            table.push_back({run.buffer, run.elements});
        }
    }
    if (model.has_copy_of_embedding()) {
        std::erase_if(saved, [&](const schedule::SavedRun& run) {
            return state.program.buffers[run.buffer].unit == 0;
        });
    }

    // By shape of the slices: all ranks list the same shapes in the same order.
    std::map<std::pair<int, int>, std::vector<int>> holders_of;
    for (const auto& unit : model.table.units) {
        for (const auto& parameter : unit.parameters) {
            auto holders = model.slice_members(parameter);
            if (holders.size() > 1) {
                holders_of[{std::ssize(holders), parameter.row_slices}] = std::move(holders);
            }
        }
    }
    for (const auto& [shape, holders] : holders_of) {
        const auto group = world.group().split(holders.front(), model.rank);
        ZG_ENSURES(group.size() == std::ssize(holders));
        pass_on(world, group, state, runs_of_slices(state, saved, holders));
    }

    if (model.is_tied && model.head_stage > 0) {
        const bool has_table = model.stage == 0 || model.has_copy_of_embedding();
        const int first = has_table ? model.mesh.neighbour(spec::Axis::pipeline, model.rank, 0) : model.rank;
        const auto group = world.group().split(first, model.stage);
        pass_on(world, group, state, has_table ? std::move(table) : std::vector<CommonRun>{});
    }
}

}  // namespace ziggurat::train
