#include "train/step/bind_collectives.hpp"

#include <algorithm>

#include "base/contract.hpp"
#include "comm/control.hpp"
#include "comm/make_collectives.hpp"
#include "layout/mesh.hpp"
#include "layout/sum_group.hpp"

namespace ziggurat::train {

using comm::CollectiveKind;
using schedule::OpKind;

namespace {

CollectiveKind kind_of(OpKind kind) {
    switch (kind) {
        case OpKind::all_gather:
            return CollectiveKind::all_gather;
        case OpKind::reduce_scatter:
            return CollectiveKind::reduce_scatter;
        case OpKind::all_reduce:
            return CollectiveKind::all_reduce;
        case OpKind::send:
            return CollectiveKind::send;
        case OpKind::receive:
            return CollectiveKind::receive;
        case OpKind::compute:
        case OpKind::loss:
        case OpKind::fill:
        case OpKind::add:
        case OpKind::update:
        case OpKind::norm:
        case OpKind::step_end:
        case OpKind::copy:
        case OpKind::read:
        case OpKind::write:
            break;
    }
    ZG_EXPECTS(!"an op of a group is a collective");
    return CollectiveKind::all_gather;
}

std::byte* base_of(const schedule::Program& program,
                   const schedule::Operand& operand,
                   const state::TierMemory& memory) {
    return memory.host_view(program.buffers.at(static_cast<std::size_t>(operand.buffer)));
}

}  // namespace

GroupCollectives::GroupCollectives(const comm::Context& world,
                                   comm::NodeMemory& node,
                                   const schedule::Program& program,
                                   const spec::RunSpec& spec) {
    const layout::Mesh mesh{spec.parallel};
    for (const auto& group : program.groups) {
        std::vector<int> data_ranks;
        for (const int member : group.members) {
            data_ranks.push_back(mesh.coordinate(spec::Axis::data, member));
        }
        sum_groups_.push_back(layout::members_summed_together(data_ranks, spec.sharding.sum_group));
    }
    // Ranks have different groups in the same places of their programs, so each place is one split of the
    // world: by its lowest member, in member order.
    std::vector<std::int64_t> most{std::ssize(program.groups)};
    comm::all_reduce_max(world, most);
    for (std::int64_t place = 0; place < most.front(); ++place) {
        const bool has_group = place < std::ssize(program.groups);
        const auto members = has_group ? program.groups[static_cast<std::size_t>(place)].members
                                       : std::vector<int>{world.rank()};
        const auto me = std::find(members.begin(), members.end(), world.rank()) - members.begin();
        const auto group =
            world.group().split(*std::min_element(members.begin(), members.end()), static_cast<int>(me));
        ZG_ENSURES(group.size() == std::ssize(members));
        const auto name = has_group ? program.groups[static_cast<std::size_t>(place)].name : "alone";
        groups_.push_back(comm::make_collectives(group, node, name));
    }
}

Action GroupCollectives::bind(const schedule::Program& program,
                              const schedule::Op& op,
                              const state::TierMemory& memory) {
    auto& group = *groups_.at(static_cast<std::size_t>(op.group));
    const auto parts = std::max({op.reads.size(), op.writes.size(), std::size_t{1}});
    std::vector<int> calls;
    calls.reserve(parts);
    for (std::size_t part = 0; part < parts; ++part) {
        calls.push_back(group.prepare(call_of(program, op, part, group.size(), memory)));
    }
    const auto index = static_cast<std::size_t>(&op - program.ops.data());
    ops_.resize(std::max(ops_.size(), index + 1));
    ops_[index] = {&group, calls};
    return {.start =
                [&group, calls] {
                    for (const int call : calls) {
                        group.start(call);
                    }
                },
            .poll =
                [&group, calls] {
                    return std::ranges::all_of(calls, [&group](int call) { return group.poll(call); });
                }};
}

comm::CollectiveCall GroupCollectives::call_of(const schedule::Program& program,
                                               const schedule::Op& op,
                                               std::size_t part,
                                               int members,
                                               const state::TierMemory& memory) const {
    comm::CollectiveCall call;
    call.kind = kind_of(op.kind);
    call.type = op.payload;
    call.label = op.label;
    call.peer = op.peer;
    call.tag = op.tag;
    call.sum_group = sum_groups_.at(static_cast<std::size_t>(op.group));
    const bool is_between_two = op.blocks.size() < static_cast<std::size_t>(members);
    const auto per_part = is_between_two ? std::size_t{1} : static_cast<std::size_t>(members);
    for (std::size_t m = 0; m < per_part && part * per_part + m < op.blocks.size(); ++m) {
        const auto& block = op.blocks[part * per_part + m];
        call.blocks.push_back({block.offset, block.bytes});
    }
    if (part < op.reads.size()) {
        const auto& from = op.reads[part];
        call.input = base_of(program, from, memory);
        if (op.kind == OpKind::all_gather) {
            ZG_EXPECTS(from.runs.size() == 1);
            call.input_offset_bytes = from.runs.front().offset;
        }
    }
    if (part < op.writes.size()) {
        const auto& to = op.writes[part];
        call.output = base_of(program, to, memory);
        if (op.kind == OpKind::reduce_scatter) {
            ZG_EXPECTS(to.runs.size() == 1);
            call.output_offset_bytes = to.runs.front().offset;
        }
    }
    return call;
}

std::int64_t GroupCollectives::bytes_moved(int op) const {
    const auto index = static_cast<std::size_t>(op);
    std::int64_t total = 0;
    if (index < ops_.size() && ops_[index].group != nullptr) {
        for (const int call : ops_[index].calls) {
            total += ops_[index].group->bytes_moved(call);
        }
    }
    return total;
}

}  // namespace ziggurat::train
