#include "schedule/context/ring_writer.hpp"

#include <utility>
#include <vector>

namespace ziggurat::schedule {
namespace {

using layout::RingBlocks;

/// Tags repeat after this number of messages; messages of one tag keep their order.
constexpr int num_tags = 1 << 14;

RingLevel ring_of(Program& program, const char* name, const std::vector<int>& members, int index) {
    const int size = static_cast<int>(members.size());
    return {.group = program.group(name, members),
            .next = (index + 1) % size,
            .previous = (index + size - 1) % size};
}

}  // namespace

RingWriter::RingWriter(Program& program, const spec::RunSpec& spec, const ModelLayout& model, int inner)
    : program_{program}, model_{model}, heads_{layout::context_heads(spec.model, spec.parallel, true)} {
    const auto members = model.mesh.group(spec::Axis::context, model.rank);
    const int node = model.context_rank / inner;
    const int index = model.context_rank % inner;
    const auto first = members.begin() + node * inner;
    within_node_ = ring_of(program, "ring", {first, first + inner}, index);
    if (inner < spec.parallel.context) {
        std::vector<int> peers;
        for (int member = index; member < spec.parallel.context; member += inner) {
            peers.push_back(members[member]);
        }
        between_nodes_ = ring_of(program, "ring between nodes", peers, node);
    }
}

BufferId RingWriter::add_buffer(const Op& of,
                                const std::string& name,
                                std::int64_t elements,
                                spec::DType type) {
    Buffer buffer;
    buffer.name = model_.table.units[of.unit].name + "." + name;
    buffer.type = type;
    buffer.bytes = elements * spec::element_bytes(type);
    buffer.consumer = MemoryCategory::working_buffers;
    buffer.unit = of.unit;
    buffer.microbatch = of.microbatch;
    return program_.add_buffer(std::move(buffer));
}

RingHeld RingWriter::add_held(const Op& of,
                              const std::string& name,
                              const RingBlocks& blocks,
                              spec::DType type) {
    if (blocks.count == 0) {
        return {};
    }
    const auto kv_width = 2 * heads_.kv_heads * heads_.head_dim;
    return {add_buffer(of, name, model_.tokens / 2 * blocks.count * kv_width, type), blocks};
}

BufferId RingWriter::add_of_queries(const Op& of, const std::string& name) {
    return add_buffer(of, name, model_.tokens * heads_.heads * heads_.head_dim, spec::DType::f32);
}

Operand RingWriter::operand(const RingHeld& held, const RingBlocks& blocks, Role role) const {
    const auto bytes = program_.buffers[held.buffer].bytes / held.blocks.count;
    const bool begins_later = blocks.index[0] != held.blocks.index[0];
    return {held.buffer, role, {{begins_later ? bytes : 0, blocks.count * bytes}}};
}

Op RingWriter::part(const Op& of, const std::string& what, double flops) {
    Op op = of;
    op.reads.clear();
    op.writes.clear();
    op.flops = flops;
    op.label = of.label + " " + what;
    return op;
}

void RingWriter::message(
    const Op& of, OpKind kind, RingLevel& level, const RingHeld& held, const RingBlocks& blocks) {
    if (blocks.count == 0) {
        return;
    }
    const bool sends = kind == OpKind::send;
    Op op;
    op.kind = kind;
    op.direction = of.direction;
    op.purpose = Purpose::context;
    op.unit = of.unit;
    op.microbatch = of.microbatch;
    op.group = level.group;
    op.peer = sends ? level.next : level.previous;
    op.lane = program_.lane(Engine::channel, level.group, sends ? Direction::forward : Direction::backward);
    op.tag = (sends ? level.sent++ : level.received++) % num_tags;
    op.payload = program_.buffers[held.buffer].type;
    op.label = std::string{to_string(kind)} + " " + program_.buffers[held.buffer].name + " " +
               std::to_string(of.microbatch);
    (sends ? op.reads : op.writes).push_back(operand(held, blocks, sends ? Role::input : Role::output));
    program_.ops.push_back(std::move(op));
}

void RingWriter::pass_on(const Op& of,
                         RingLevel& level,
                         const RingHeld& held,
                         const RingBlocks& sent,
                         const RingHeld& next,
                         const RingBlocks& received) {
    message(of, OpKind::receive, level, next, received);
    message(of, OpKind::send, level, held, sent);
}

void RingWriter::pack(const Op& of, const RingHeld& kv) {
    auto op = part(of, "pack kv", 0);
    op.reads.push_back(*program_.find_read(of, Role::input));
    op.writes.push_back(whole(program_, kv.buffer, Role::kv));
    program_.ops.push_back(std::move(op));
}

void RingWriter::fill_with_zeros(const Op& of, const RingHeld& d_kv) {
    auto op = part(of, "zeros", 0);
    op.kind = OpKind::fill;
    op.writes.push_back(whole(program_, d_kv.buffer, Role::output));
    program_.ops.push_back(std::move(op));
}

void RingWriter::add_up(const Op& of, const RingHeld& addend, const RingHeld& sum, const RingBlocks& block) {
    auto op = part(of, "sum of d kv", 0);
    op.reads.push_back(operand(sum, block, Role::d_kv));
    op.reads.push_back(operand(addend, block, Role::d_addend));
    op.writes.push_back(operand(sum, block, Role::d_kv));
    program_.ops.push_back(std::move(op));
}

void RingWriter::join(const Op& of, BufferId d_q, const RingHeld& d_kv) {
    auto op = part(of, "join", 0);
    op.reads.push_back(whole(program_, d_q, Role::d_q));
    op.reads.push_back(whole(program_, d_kv.buffer, Role::d_kv));
    op.writes.push_back(*program_.find_write(of, Role::d_input));
    program_.ops.push_back(std::move(op));
}

}  // namespace ziggurat::schedule
