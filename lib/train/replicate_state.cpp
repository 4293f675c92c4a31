#include "train/replicate_state.hpp"

#include <algorithm>
#include <memory>
#include <span>

#include "base/contract.hpp"
#include "comm/mpi/mpi_collectives.hpp"
#include "kernels/elementwise.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::train {

using schedule::Lifetime;
using schedule::StateKind;

namespace {

/// Whether a checkpoint or the masters give its values.
bool is_restored(const schedule::Buffer& buffer) {
    return buffer.lifetime == Lifetime::persistent &&
           (buffer.state == StateKind::parameters || buffer.state == StateKind::frozen ||
            buffer.state == StateKind::master || buffer.state == StateKind::first_moment ||
            buffer.state == StateKind::second_moment);
}

const layout::ShardMap& shards_of(const schedule::ModelLayout& model, const schedule::Buffer& buffer) {
    const auto unit = static_cast<std::size_t>(buffer.unit);
    return buffer.state == StateKind::frozen ? model.frozen_shards[unit] : model.shards[unit];
}

/// Over how many data ranks the kind is cut.
int span_of(const schedule::ModelLayout& model, const schedule::Buffer& buffer) {
    const bool is_parameters = buffer.state == StateKind::parameters || buffer.state == StateKind::frozen;
    return is_parameters ? model.spans.parameters : model.spans.optimizer;
}

/// Elements `piece` of the unit's flat range, of which `buffer` holds a shard.
template <class E>
std::span<E> elements_of(const HeldState& state, const schedule::Buffer& buffer, layout::ElementRange piece) {
    return state.memory.span<E>(buffer).subspan(static_cast<std::size_t>(piece.begin - buffer.first_element),
                                                static_cast<std::size_t>(piece.size()));
}

/// The rank's own piece of the parameters, from that of their masters.
void round_masters(const HeldState& state) {
    for (const auto& master : state.program.buffers) {
        if (master.state != StateKind::master || master.lifetime != Lifetime::persistent) {
            continue;
        }
        const auto to = std::ranges::find_if(state.program.buffers, [&](const schedule::Buffer& buffer) {
            return buffer.state == StateKind::parameters && buffer.lifetime == Lifetime::persistent &&
                   buffer.unit == master.unit;
        });
        ZG_ENSURES(to != state.program.buffers.end() && to->type == spec::DType::bf16);
        const auto piece =
            shards_of(state.model, master).shard(state.model.spans.data, state.model.data_rank);
        kernels::convert<float, tensor::bfloat16>(state.stream,
                                                  elements_of<const float>(state, master, piece),
                                                  elements_of<tensor::bfloat16>(state, *to, piece));
    }
}

/// Data ranks that hold the same shard of what is cut over `span` ranks give each other their pieces of it.
void share(const comm::Communicator& world, const comm::AbortFlag& abort, const HeldState& state, int span) {
    const auto& model = state.model;
    const auto members = layout::data_group(model.data_rank, span, model.spans.data);
    const auto ranks = model.data_members(span, model.spans.data);
    const auto group = world.split(*std::ranges::min_element(ranks), model.data_rank);
    ZG_ENSURES(group.size() == std::ssize(members));
    if (group.size() == 1) {
        return;
    }
    comm::MpiCollectives collectives{group};
    for (const auto& buffer : state.program.buffers) {
        if (!is_restored(buffer) || span_of(model, buffer) != span) {
            continue;
        }
        comm::CollectiveCall call;
        call.kind = comm::CollectiveKind::all_gather;
        call.type = buffer.type;
        call.label = "loading " + buffer.name;
        call.output = state.memory.at(buffer);
        call.input = call.output;
        for (const int member : members) {
            const auto piece = shards_of(model, buffer).shard(model.spans.data, member);
            call.blocks.push_back({(piece.begin - buffer.first_element) * schedule::element_bytes(buffer),
                                   piece.size() * schedule::element_bytes(buffer)});
        }
        call.input_offset_bytes = call.blocks[static_cast<std::size_t>(group.rank())].offset_bytes;
        const int prepared = collectives.prepare(std::move(call));
        collectives.start(prepared);
        comm::wait(collectives, prepared, abort);
    }
}

}  // namespace

void replicate_state(const comm::Communicator& world, const comm::AbortFlag& abort, const HeldState& state) {
    round_masters(state);
    const auto& spans = state.model.spans;
    share(world, abort, state, spans.parameters);
    if (spans.optimizer != spans.parameters) {
        share(world, abort, state, spans.optimizer);
    }
}

}  // namespace ziggurat::train
