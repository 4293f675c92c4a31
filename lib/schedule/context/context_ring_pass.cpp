#include "schedule/context/context_ring_pass.hpp"

#include <string>
#include <utility>

#include "layout/context/context_heads.hpp"
#include "layout/context/ring_round.hpp"
#include "schedule/context/attention_ops.hpp"

namespace ziggurat::schedule {
namespace {

using layout::RingBlocks;

/// Tags repeat after this number of messages; messages of one tag keep their order.
constexpr int num_tags = 1 << 14;

/// Keys and values of some blocks of one rank, or their gradients.
struct Held {
    BufferId buffer = -1;
    RingBlocks blocks;
};

class Ring {
  public:
    Ring(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model)
        : program_{draft.program},
          model_{model},
          size_{spec.parallel.context},
          seq_{spec.data.seq},
          heads_{layout::context_heads(spec.model, spec.parallel, true)},
          compute_{spec.precision.compute},
          group_{program_.group("ring", model.mesh.group(spec::Axis::context, model.rank))} {}

    void run() {
        auto ops = std::move(program_.ops);
        program_.ops.clear();
        for (auto& op : ops) {
            if (is_attention(op, model_)) {
                add_rounds(op, program_.find_write(op, Role::d_input) != nullptr);
            } else {
                program_.ops.push_back(std::move(op));
            }
        }
    }

  private:
    std::int64_t kv_width() const { return 2 * heads_.kv_heads * heads_.head_dim; }

    BufferId add_buffer(const Op& of, const std::string& name, std::int64_t elements, spec::DType type) {
        Buffer buffer;
        buffer.name = model_.table.units[of.unit].name + "." + name;
        buffer.type = type;
        buffer.bytes = elements * spec::element_bytes(type);
        buffer.consumer = MemoryCategory::working_buffers;
        buffer.unit = of.unit;
        buffer.microbatch = of.microbatch;
        return program_.add_buffer(std::move(buffer));
    }
    Held add_held(const Op& of, const std::string& name, const RingBlocks& blocks, spec::DType type) {
        if (blocks.count == 0) {
            return {};
        }
        return {add_buffer(of, name, model_.tokens / 2 * blocks.count * kv_width(), type), blocks};
    }
    BufferId add_of_queries(const Op& of, const std::string& name) {
        return add_buffer(of, name, model_.tokens * heads_.heads * heads_.head_dim, spec::DType::f32);
    }

    /// Returns the operand for some of the blocks of `held`, in one range.
    Operand operand(const Held& held, const RingBlocks& blocks, Role role) const {
        const auto bytes = program_.buffers[held.buffer].bytes / held.blocks.count;
        const bool begins_later = blocks.index[0] != held.blocks.index[0];
        return {held.buffer, role, {{begins_later ? bytes : 0, blocks.count * bytes}}};
    }

    /// Returns a part of `of`, without its operands.
    Op part(const Op& of, const std::string& what, double flops) const {
        Op op = of;
        op.reads.clear();
        op.writes.clear();
        op.flops = flops;
        op.label = of.label + " " + what;
        return op;
    }

    void message(const Op& of, OpKind kind, const Held& held, const RingBlocks& blocks) {
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
        op.group = group_;
        op.peer = (model_.context_rank + (sends ? 1 : size_ - 1)) % size_;
        op.lane = program_.lane(Engine::channel, group_, sends ? Direction::forward : Direction::backward);
        // Every rank of the ring counts the same messages in the same order.
        op.tag = (sends ? sent_++ : received_++) % num_tags;
        op.payload = program_.buffers[held.buffer].type;
        op.label = std::string{to_string(kind)} + " " + program_.buffers[held.buffer].name + " " +
                   std::to_string(of.microbatch);
        (sends ? op.reads : op.writes).push_back(operand(held, blocks, sends ? Role::input : Role::output));
        program_.ops.push_back(std::move(op));
    }

    /// Sends blocks of `held`, and receives blocks of `next` from the previous rank.
    ///
    /// The receive is listed in the order in which the previous rank sends, and posted before the own send: a
    /// received gradient must not wait for the memory of a sent one.
    void pass_on(const Op& of,
                 const Held& held,
                 const RingBlocks& sent,
                 const Held& next,
                 const RingBlocks& received) {
        message(of, OpKind::receive, next, received);
        message(of, OpKind::send, held, sent);
    }

    void add_rounds(const Op& op, bool is_backward) {
        const auto& phase = model_.table.units[op.unit].phases[op.phase];
        const layout::RingPlan plan{size_, seq_, phase.window};
        const int rank = model_.context_rank;
        const auto own = plan.blocks_of(rank);
        const layout::RingRound all{
            .block = seq_, .queries = {{0}, 1}, .keys = {{0}, 1}, .window = phase.window};
        const double flops_of_pair = op.flops * size_ / all.pairs();

        // Forward sums the output for the keys so far, backward d_q.
        const auto sums = add_of_queries(op, is_backward ? "d q" : "attention so far");
        Held kv = add_held(op, "kv of round 0", own, compute_);
        pack(op, kv);
        const Held own_d_kv = is_backward ? add_held(op, "d kv of round 0", own, spec::DType::f32) : Held{};
        Held d_kv = own_d_kv;
        for (int hop = 0; hop < size_; ++hop) {
            const int owner = plan.owner_of(rank, hop);
            const int next_owner = plan.owner_of(rank, hop + 1);
            const auto next_round = std::to_string(hop + 1);
            Held next;
            if (hop + 1 < size_) {
                next =
                    add_held(op, "kv of round " + next_round, plan.arriving(next_owner, hop + 1), compute_);
                pass_on(op, kv, plan.arriving(owner, hop + 1), next, next.blocks);
            }
            const auto round = plan.round(rank, hop);
            if (const double pairs = round.pairs(); pairs > 0) {
                auto made = part(op, "round " + std::to_string(hop), flops_of_pair * pairs);
                made.peer = owner;
                made.reads = op.reads;
                made.reads.push_back(operand(kv, round.keys, Role::kv));
                if (is_backward) {
                    add_gradients(made, op, hop, sums, operand(d_kv, round.keys, Role::d_kv));
                } else {
                    add_results(made, op, hop, sums, hop == last_round(plan));
                }
                program_.ops.push_back(std::move(made));
            }
            if (is_backward) {
                const auto arriving = plan.arriving(next_owner, 1);
                const auto next_d_kv =
                    hop + 1 < size_ ? add_held(op, "d kv of round " + next_round, arriving, spec::DType::f32)
                                    : own_d_kv;  // it is back at its owner
                pass_on(op, d_kv, plan.arriving(owner, 1), next_d_kv, arriving);
                d_kv = next_d_kv;
            }
            kv = next;
        }
        if (is_backward) {
            join(op, sums, own_d_kv);
        }
    }

    /// Returns the last round in which this rank computes.
    int last_round(const layout::RingPlan& plan) const {
        int last = size_ - 1;
        while (plan.round(model_.context_rank, last).pairs() == 0) {
            --last;
        }
        return last;
    }

    void pack(const Op& of, const Held& kv) {
        auto op = part(of, "pack kv", 0);
        op.reads.push_back(*program_.find_read(of, Role::input));
        op.writes.push_back(whole(program_, kv.buffer, Role::kv));
        program_.ops.push_back(std::move(op));
    }

    void join(const Op& of, BufferId d_q, const Held& d_kv) {
        auto op = part(of, "join", 0);
        op.reads.push_back(whole(program_, d_q, Role::d_q));
        op.reads.push_back(whole(program_, d_kv.buffer, Role::d_kv));
        op.writes.push_back(*program_.find_write(of, Role::d_input));
        program_.ops.push_back(std::move(op));
    }

    /// Adds what a round of forward reads and writes besides queries and keys.
    void add_results(Op& made, const Op& op, int hop, BufferId merged, bool is_last) const {
        for (const auto& operand : op.writes) {
            if (operand.role != Role::output || is_last) {
                made.writes.push_back(operand);
            }
        }
        made.writes.push_back(whole(program_, merged, Role::merged));
        if (hop > 0) {
            made.reads.push_back(whole(program_, merged, Role::merged));
            made.reads.push_back(*program_.find_write(op, Role::lse));
        }
    }

    /// Adds the sums of gradients of a round of backward.
    void add_gradients(Op& made, const Op& op, int hop, BufferId d_q, const Operand& d_kv) const {
        const auto of_queries = whole(program_, d_q, Role::d_q);
        if (hop > 0) {
            made.reads.push_back(of_queries);
            made.reads.push_back(d_kv);
        }
        made.writes.push_back(of_queries);
        made.writes.push_back(d_kv);
        if (const auto* workspace = program_.find_write(op, Role::workspace)) {
            made.writes.push_back(*workspace);
        }
    }

    Program& program_;
    const ModelLayout& model_;
    int size_;
    std::int64_t seq_;
    layout::ContextHeads heads_;
    spec::DType compute_;
    int group_;
    int sent_ = 0;
    int received_ = 0;
};

}  // namespace

void context_ring_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model) {
    if (spec.parallel.context > 1 && spec.parallel.context_kind == spec::ContextKind::ring) {
        Ring{draft, spec, model}.run();
    }
}

}  // namespace ziggurat::schedule
