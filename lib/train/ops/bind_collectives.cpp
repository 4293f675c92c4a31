#include "train/ops/bind_collectives.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/contract.hpp"
#include "base/enumerators.hpp"
#include "comm/call_shape.hpp"
#include "comm/device_collectives.hpp"
#include "layout/mesh.hpp"
#include "layout/sum_group.hpp"
#include "schedule/place/lane_independence.hpp"

namespace ziggurat::train {

using comm::BlockUse;
using comm::CollectiveKind;
using schedule::OpKind;

namespace {

/// Returns the collective that has the name of a kind of op.
constexpr std::optional<CollectiveKind> collective_of(OpKind kind) {
    return comm::collective_kind_named(to_string(kind));
}

constexpr bool every_op_has_a_collective() {
    for (int k = 0; k < num_enumerators<OpKind>(); ++k) {
        const auto kind = static_cast<OpKind>(k);
        if (is_collective(kind) && !collective_of(kind)) {
            return false;
        }
    }
    return true;
}
static_assert(every_op_has_a_collective());

std::byte* base_of(const schedule::Program& program,
                   const schedule::Operand& operand,
                   const state::TierMemory& memory) {
    return memory.at(program.buffers.at(operand.buffer));
}

/// Makes the offsets of the blocks relative to the first block.
///
/// The buffers of the members may begin at different elements: stages that share a tensor may keep its
/// gradients in different homes, and one member of a grid's row may have the rows of a tile in a buffer of
/// all rows.
void count_from_first_block(comm::CollectiveCall& call, const comm::CollectiveKindRow& row) {
    const auto first = comm::hull(call.blocks).offset_bytes;
    for (auto& block : call.blocks) {
        block.offset_bytes = block.bytes > 0 ? block.offset_bytes - first : 0;
    }
    call.input += row.reads == BlockUse::all ? first : 0;
    call.output += row.writes == BlockUse::all ? first : 0;
}

}  // namespace

RankGroups::RankGroups(const comm::Context& world,
                       comm::NodeMemory& node,
                       std::span<const schedule::Program* const> programs,
                       const spec::RunSpec& spec,
                       const state::TierMemory& memory,
                       device::Device& device) {
    for (const auto* program : programs) {
        for (const auto& group : program->groups) {
            by_key_.try_emplace(key_of(group));
        }
    }
    for (auto& [key, collectives] : by_key_) {
        const auto& [members, name] = key;
        collectives = comm::make_device_collectives(world.group().subset(members), node, name,
                                                    memory.shared(), device, spec.parallel.transport);
    }
}

RankGroups::~RankGroups() {
    for (auto& [key, collectives] : by_key_) {
        collectives.reset();
    }
}

comm::Collectives& RankGroups::of(const schedule::Group& group) const {
    return *by_key_.at(key_of(group));
}

GroupCollectives::GroupCollectives(const RankGroups& groups,
                                   const schedule::Program& program,
                                   const spec::RunSpec& spec) {
    const layout::Mesh mesh{spec.parallel};
    for (const auto& group : program.groups) {
        groups_.push_back(&groups.of(group));
        std::vector<int> data_ranks;
        for (const int member : group.members) {
            data_ranks.push_back(mesh.coordinate(spec::Axis::data, member));
        }
        sum_groups_.push_back(layout::members_summed_together(data_ranks, spec.sharding.sum_group));
    }
}

Action GroupCollectives::bind(const schedule::Program& program,
                              const schedule::Op& op,
                              const state::TierMemory& memory) {
    auto& group = *groups_.at(op.group);
    const auto parts = std::max({op.reads.size(), op.writes.size(), std::size_t{1}});
    std::vector<int> calls;
    calls.reserve(parts);
    for (std::size_t part = 0; part < parts; ++part) {
        calls.push_back(group.prepare(call_of(program, op, part, group.size(), memory)));
    }
    const std::size_t index = &op - program.ops.data();
    ops_.resize(std::max(ops_.size(), index + 1));
    ops_[index].group = &group;
    ops_[index].calls.insert(ops_[index].calls.end(), calls.begin(), calls.end());  // of all its buffers
    auto start = [&group, calls] {
        for (const int call : calls) {
            group.start(call);
        }
    };
    auto poll = [&group, calls] {
        return std::ranges::all_of(calls, [&group](int call) { return group.poll(call); });
    };
    if (std::ranges::all_of(calls, [&group](int call) { return group.stream_of(call) != nullptr; })) {
        return {.run = std::move(start),
                .is_enqueued =
                    [&group, calls] {
                        return std::ranges::all_of(calls,
                                                   [&group](int call) { return group.is_enqueued(call); });
                    },
                .abort = [&group] { group.abort(); },
                .poll = std::move(poll)};
    }
    return {.start = std::move(start),
            .poll = std::move(poll),
            .max_running_before =
                op.purpose == schedule::Purpose::tensor ? schedule::independent_ops_before(program, op) : 0};
}

std::vector<device::Stream> GroupCollectives::with_streams(const schedule::Program& program,
                                                           std::vector<device::Stream> streams) const {
    for (std::size_t op = 0; op < ops_.size(); ++op) {
        for (const int call : ops_[op].calls) {
            if (const auto* stream = ops_[op].group->stream_of(call)) {
                auto& of_lane = streams.at(program.ops[op].lane);
                ZG_ENSURES(!of_lane.is_late() || &of_lane.queue() == &stream->queue());
                of_lane = *stream;
            }
        }
    }
    return streams;
}

comm::CollectiveCall GroupCollectives::call_of(const schedule::Program& program,
                                               const schedule::Op& op,
                                               std::size_t part,
                                               int members,
                                               const state::TierMemory& memory) const {
    comm::CollectiveCall call;
    const auto kind = collective_of(op.kind);
    ZG_EXPECTS(kind.has_value());
    const auto row = row_of(*kind);
    call.kind = *kind;
    call.type = op.payload;
    call.label = op.label;
    call.peer = op.peer;
    call.tag = op.tag;
    call.sum_group = sum_groups_.at(op.group);
    if (row.is_between_two) {
        const auto& message = (row.reads != BlockUse::none ? op.reads : op.writes).at(part);
        ZG_EXPECTS(message.runs.size() == 1);
        call.blocks.push_back({message.runs.front().offset, message.runs.front().bytes});
    } else {
        const std::size_t per_part = members;
        ZG_EXPECTS(op.blocks.size() >= (part + 1) * per_part);
        for (std::size_t m = 0; m < per_part; ++m) {
            const auto& block = op.blocks[part * per_part + m];
            call.blocks.push_back({block.offset, block.bytes});
        }
    }
    if (part < op.reads.size()) {
        const auto& from = op.reads[part];
        call.input = base_of(program, from, memory);
        if (row.reads == BlockUse::own) {
            ZG_EXPECTS(from.runs.size() == 1);
            call.input_offset_bytes = from.runs.front().offset;
        }
    }
    if (part < op.writes.size()) {
        const auto& to = op.writes[part];
        call.output = base_of(program, to, memory);
        if (row.writes == BlockUse::own) {
            ZG_EXPECTS(to.runs.size() == 1);
            call.output_offset_bytes = to.runs.front().offset;
        }
    }
    if (row.writes == BlockUse::received) {
        call.output_blocks = call.blocks;  // members exchange blocks of one size
    }
    const bool has_all = row.reads == BlockUse::all || row.writes == BlockUse::all;
    if (has_all && row.writes != BlockUse::received) {
        count_from_first_block(call, row);
    }
    return call;
}

std::int64_t GroupCollectives::bytes_moved(schedule::OpId op) const {
    const std::size_t index = op;
    std::int64_t total = 0;
    if (index < ops_.size() && ops_[index].group != nullptr) {
        for (const int call : ops_[index].calls) {
            total += ops_[index].group->bytes_moved(call);
        }
    }
    return total;
}

}  // namespace ziggurat::train
