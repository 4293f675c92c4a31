#include "schedule/context/context_ring_pass.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "schedule/context/attention_ops.hpp"

namespace ziggurat::schedule {
namespace {

class Ring {
  public:
    Ring(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model)
        : program_{draft.program},
          model_{model},
          size_{spec.parallel.context},
          q_width_{spec.model.heads * spec.model.head_dim / spec.parallel.tensor},
          kv_width_{2 * layout::local_kv_heads(spec.model, spec.parallel.tensor) * spec.model.head_dim},
          compute_{spec.precision.compute} {
        const auto members = model.mesh.group(spec::Axis::context, model.rank);
        next_ = program_.group("next in ring", members);
        previous_ = program_.group("previous in ring", members);
    }

    void run() {
        auto ops = std::move(program_.ops);
        program_.ops.clear();
        for (auto& op : ops) {
            if (!is_attention(op, model_)) {
                program_.ops.push_back(std::move(op));
            } else if (program_.find_write(op, Role::d_input) != nullptr) {
                backward(op);
            } else {
                forward(op);
            }
        }
    }

  private:
    int add_buffer(const Op& of, const std::string& name, std::int64_t width, spec::DType type) {
        Buffer buffer;
        buffer.name = model_.table.units[of.unit].name + "." + name;
        buffer.type = type;
        buffer.bytes = model_.tokens * width * spec::element_bytes(type);
        buffer.consumer = MemoryCategory::working_buffers;
        buffer.unit = of.unit;
        buffer.microbatch = of.microbatch;
        return program_.add_buffer(std::move(buffer));
    }
    int kv_buffer(const Op& of, int round) {
        return add_buffer(of, "kv of round " + std::to_string(round), kv_width_, compute_);
    }
    int d_kv_buffer(const Op& of, int round) {
        return add_buffer(of, "d kv of round " + std::to_string(round), kv_width_, spec::DType::f32);
    }

    /// Returns one round of `of`, without its operands.
    Op part(const Op& of, const std::string& what, double flops) const {
        Op op = of;
        op.reads.clear();
        op.writes.clear();
        op.flops = flops;
        op.label = of.label + " " + what;
        return op;
    }

    void pack(const Op& of, int kv) {
        auto op = part(of, "pack kv", 0);
        op.reads.push_back(*program_.find_read(of, Role::input));
        op.writes.push_back(whole(program_, kv, Role::kv));
        program_.ops.push_back(std::move(op));
    }

    void message(const Op& of, OpKind kind, BufferId buffer) {
        const bool sends = kind == OpKind::send;
        Op op;
        op.kind = kind;
        op.direction = of.direction;
        op.purpose = Purpose::context;
        op.unit = of.unit;
        op.microbatch = of.microbatch;
        op.group = sends ? next_ : previous_;
        op.peer = (model_.context_rank + (sends ? 1 : size_ - 1)) % size_;
        op.lane = program_.lane(Engine::channel, op.group, Direction::forward);
        // Every rank of the ring counts the same messages in the same order.
        op.tag = sends ? sent_++ : received_++;
        op.payload = program_.buffers[buffer].type;
        op.label = std::string{to_string(kind)} + " " + program_.buffers[buffer].name + " " +
                   std::to_string(of.microbatch);
        (sends ? op.reads : op.writes).push_back(whole(program_, buffer, sends ? Role::input : Role::output));
        program_.ops.push_back(std::move(op));
    }

    void forward(const Op& op) {
        int kv = kv_buffer(op, 0);
        pack(op, kv);
        for (int round = 0; round < size_; ++round) {
            int next = -1;
            if (round + 1 < size_) {
                next = kv_buffer(op, round + 1);
                message(op, OpKind::receive, next);
                message(op, OpKind::send, kv);
            }
            auto made = part(op, "round " + std::to_string(round), op.flops / size_);
            made.reads = op.reads;
            made.reads.push_back(whole(program_, kv, Role::kv));
            made.writes = op.writes;
            if (round > 0) {
                for (const auto role : {Role::output, Role::lse}) {
                    made.reads.push_back(*program_.find_write(op, role));
                }
            }
            program_.ops.push_back(std::move(made));
            kv = next;
        }
    }

    void backward(const Op& op) {
        const int d_q = add_buffer(op, "d q", q_width_, spec::DType::f32);
        int kv = kv_buffer(op, 0);
        int d_kv = d_kv_buffer(op, 0);
        pack(op, kv);
        for (int round = 0; round < size_; ++round) {
            int next = -1;
            if (round + 1 < size_) {
                next = kv_buffer(op, round + 1);
                message(op, OpKind::receive, next);
                message(op, OpKind::send, kv);
            }
            auto made = part(op, "round " + std::to_string(round), op.flops / size_);
            made.reads = op.reads;
            made.reads.push_back(whole(program_, kv, Role::kv));
            if (round > 0) {
                made.reads.push_back(whole(program_, d_q, Role::d_q));
                made.reads.push_back(whole(program_, d_kv, Role::d_kv));
            }
            made.writes.push_back(whole(program_, d_q, Role::d_q));
            made.writes.push_back(whole(program_, d_kv, Role::d_kv));
            if (const auto* workspace = program_.find_write(op, Role::workspace)) {
                made.writes.push_back(*workspace);
            }
            program_.ops.push_back(std::move(made));
            // The receive is listed in the order in which the previous rank sends, and posted before the own
            // send: the received gradient must not wait for the memory of the sent one.
            const int sum = std::exchange(d_kv, d_kv_buffer(op, round + 1));
            message(op, OpKind::receive, d_kv);
            message(op, OpKind::send, sum);
            kv = next;
        }
        auto joined = part(op, "join", 0);
        joined.reads.push_back(whole(program_, d_q, Role::d_q));
        joined.reads.push_back(whole(program_, d_kv, Role::d_kv));
        joined.writes.push_back(*program_.find_write(op, Role::d_input));
        program_.ops.push_back(std::move(joined));
    }

    Program& program_;
    const ModelLayout& model_;
    int size_;
    std::int64_t q_width_;
    std::int64_t kv_width_;
    spec::DType compute_;
    int next_ = -1;
    int previous_ = -1;
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
