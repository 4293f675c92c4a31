#include "train/save/replicate_state.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <vector>

#include "base/contract.hpp"
#include "comm/mpi/mpi_collectives.hpp"
#include "kernels/elementwise.hpp"
#include "layout/staging/staging_sizes.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::train {

using schedule::Lifetime;
using schedule::StateKind;

namespace {

/// Returns true if the buffer's values come from a checkpoint or from the masters.
bool is_restored(const schedule::Buffer& buffer) {
    return buffer.lifetime == Lifetime::persistent && layout::is_restored(buffer.state);
}

const layout::ShardMap& shards_of(const schedule::ModelLayout& model, const schedule::Buffer& buffer) {
    const std::size_t unit = buffer.unit;
    return layout::is_of_frozen(buffer.state) ? model.frozen_shards[unit] : model.shards[unit];
}

/// Returns the byte offset of elements of the unit's flat range in a buffer that holds them.
std::int64_t offset_of(const schedule::Buffer& buffer, layout::ElementRange range) {
    return (range.begin - buffer.first_element) * schedule::element_bytes(buffer);
}

/// Returns the part of `range` that transfer number `round` moves.
layout::ElementRange window(layout::ElementRange range, std::int64_t round, std::int64_t elements) {
    const auto begin = std::min(range.begin + round * elements, range.end);
    return {begin, std::min(begin + elements, range.end)};
}

/// Rounds the elements of a master that are in this buffer of the parameters.
void round_into(const StateView& state,
                const schedule::Buffer& master,
                const schedule::Buffer& parameters,
                layout::ElementRange range) {
    constexpr std::int64_t at_once =
        layout::replication_window_bytes / static_cast<std::int64_t>(sizeof(float));
    std::vector<float> wide(std::min(at_once, range.size()));
    std::vector<tensor::bfloat16> narrow(wide.size());
    for (std::int64_t round = 0; !window(range, round, at_once).empty(); ++round) {
        const auto part = window(range, round, at_once);
        const std::size_t size = part.size();
        const auto from = std::span{wide}.first(size);
        const auto to = std::span{narrow}.first(size);
        state.memory.read(master, offset_of(master, part), std::as_writable_bytes(from));
        kernels::convert<float, tensor::bfloat16>(state.devices.host, from, to);
        state.memory.write(parameters, offset_of(parameters, part), std::as_bytes(to));
    }
}

/// Computes this rank's piece of the parameters from its piece of the masters.
void round_masters(const StateView& state) {
    for (const auto& master : state.program.buffers) {
        if (master.state != StateKind::master || master.lifetime != Lifetime::persistent) {
            continue;
        }
        const auto piece =
            intersection(schedule::elements_of(master),
                         shards_of(state.model, master).shard(state.model.spans.data, state.model.data_rank));
        std::int64_t rounded = 0;
        for (const auto& to : state.program.buffers) {
            if (to.state == StateKind::parameters && to.lifetime == Lifetime::persistent &&
                to.unit == master.unit) {
                ZG_ENSURES(to.type == spec::DType::bf16);
                const auto part = intersection(piece, schedule::elements_of(to));
                round_into(state, master, to, part);
                rounded += part.size();
            }
        }
        ZG_ENSURES(rounded == piece.size());
    }
}

/// Gathers all state of one shard degree among the data ranks that hold the same shard.
///
/// Each transfer fills a small window.
void share(const comm::Context& world,
           const StateView& state,
           int shard_degree,
           const std::function<bool(StateKind)>& is_gathered) {
    const auto& model = state.model;
    const auto members = layout::data_group(model.data_rank, shard_degree, model.spans.data);
    const auto ranks = model.data_members(shard_degree, model.spans.data);
    const auto group = world.group().split(*std::ranges::min_element(ranks), model.data_rank);
    ZG_ENSURES(group.size() == std::ssize(members));
    if (group.size() == 1) {
        return;
    }
    const auto at_once =
        std::max(layout::FlatLayout::block,
                 layout::replication_window_bytes / group.size() / layout::FlatLayout::block *
                     layout::FlatLayout::block);  // bytes of each member
    comm::MpiCollectives collectives{group};
    std::vector<std::byte> all(at_once * group.size());
    comm::CollectiveCall call;
    call.kind = comm::CollectiveKind::all_gather;
    call.label = "loading";
    call.output = all.data();
    call.input = call.output;
    for (int member = 0; member < group.size(); ++member) {
        call.blocks.push_back({member * at_once, at_once});
    }
    call.input_offset_bytes = group.rank() * at_once;
    const int exchange = collectives.prepare(std::move(call));
    const auto part_of = [&](std::size_t member) {
        return std::span{all}.subspan(member * at_once, at_once);
    };

    for (const auto& buffer : state.program.buffers) {
        if (!is_restored(buffer) || layout::shard_degree(buffer.state, model.spans) != shard_degree ||
            (is_gathered && !is_gathered(buffer.state))) {
            continue;
        }
        // Ranks that hold the same shard split it identically between their tiers.
        std::vector<layout::ElementRange> pieces;
        std::int64_t max = 0;
        for (const int member : members) {
            pieces.push_back(intersection(schedule::elements_of(buffer),
                                          shards_of(model, buffer).shard(model.spans.data, member)));
            max = std::max(max, pieces.back().size());
        }
        const auto elements = at_once / schedule::element_bytes(buffer);
        const std::size_t me = group.rank();
        const auto bytes_of = [&](layout::ElementRange range) {
            return range.size() * schedule::element_bytes(buffer);
        };
        for (std::int64_t round = 0; round * elements < max; ++round) {
            const auto mine = window(pieces[me], round, elements);
            if (!mine.empty()) {
                state.memory.read(buffer, offset_of(buffer, mine), part_of(me).first(bytes_of(mine)));
            }
            collectives.start(exchange);
            comm::wait(collectives, exchange, world.waits());
            for (std::size_t member = 0; member < pieces.size(); ++member) {
                const auto theirs = window(pieces[member], round, elements);
                if (member != me && !theirs.empty()) {
                    state.memory.write(buffer, offset_of(buffer, theirs),
                                       part_of(member).first(bytes_of(theirs)));
                }
            }
        }
    }
}

}  // namespace

void replicate_state(const comm::Context& world,
                     const StateView& state,
                     const std::function<bool(layout::StateKind)>& is_gathered) {
    if (state.model.masters == layout::Masters::rounded) {
        round_masters(state);
    }
    std::set<int> degrees;
    for (const auto kind : layout::state_kinds) {
        if (layout::is_restored(kind) && (!is_gathered || is_gathered(kind))) {
            degrees.insert(layout::shard_degree(kind, state.model.spans));
        }
    }
    for (const int degree : degrees) {
        share(world, state, degree, is_gathered);
    }
}

}  // namespace ziggurat::train
