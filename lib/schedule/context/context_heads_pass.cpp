#include "schedule/context/context_heads_pass.hpp"

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "layout/context/context_heads.hpp"
#include "schedule/context/attention_ops.hpp"

namespace ziggurat::schedule {
namespace {

class HeadExchange {
  public:
    HeadExchange(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model)
        : program_{draft.program},
          model_{model},
          ranks_{spec.parallel.context},
          has_several_sequences_{spec.train.micro_batch > 1},
          qkv_{layout::context_heads(spec.model, spec.parallel, true)},
          output_{layout::context_heads(spec.model, spec.parallel, false)},
          compute_{spec.precision.compute},
          group_{program_.group("context", model.mesh.group(spec::Axis::context, model.rank))} {}

    void run() {
        auto ops = std::move(program_.ops);
        program_.ops.clear();
        for (auto& op : ops) {
            if (!is_attention(op, model_)) {
                program_.ops.push_back(std::move(op));
            } else if (op.direction == Direction::backward) {
                backward(std::move(op));
            } else {
                forward(std::move(op));
            }
        }
        drop_unsaved();
    }

  private:
    /// Values of one attention op over all positions.
    struct Gathered {
        BufferId qkv = -1;
        BufferId output = -1;
    };

    static std::tuple<int, int, int> key_of(const Op& op) { return {op.unit, op.phase, op.microbatch}; }

    BufferId add_buffer(const Op& of, const std::string& name, const layout::ContextHeads& heads) {
        Buffer buffer;
        buffer.name = model_.table.units[of.unit].name + "." + name;
        buffer.type = compute_;
        buffer.bytes = model_.tokens * ranks_ * heads.part_width() * model_.element_bytes;
        buffer.consumer = MemoryCategory::working_buffers;
        buffer.unit = of.unit;
        buffer.microbatch = of.microbatch;
        return program_.add_buffer(std::move(buffer));
    }

    /// Adds an op of the phase of `of` that only copies.
    void rearrange(
        const Op& of, const std::string& what, BufferId from, Role read, BufferId to, Role written) {
        Op op = of;
        op.flops = 0;
        op.label = of.label + " " + what;
        op.reads = {whole(program_, from, read)};
        op.writes = {whole(program_, to, written)};
        program_.ops.push_back(std::move(op));
    }

    void exchange(const Op& of, const std::string& what, BufferId from, BufferId to) {
        Op op;
        op.kind = OpKind::all_to_all;
        op.direction = of.direction;
        op.purpose = Purpose::context;
        op.unit = of.unit;
        op.microbatch = of.microbatch;
        op.group = group_;
        op.lane = program_.lane(Engine::collective, group_);
        op.payload = compute_;
        op.label = "exchange of " + what + " of " + of.label;
        const auto block = program_.buffers[from].bytes / ranks_;
        for (int member = 0; member < ranks_; ++member) {
            op.blocks.push_back({member * block, block});
        }
        op.reads.push_back(whole(program_, from, Role::input));
        op.writes.push_back(whole(program_, to, Role::output));
        program_.ops.push_back(std::move(op));
    }

    /// Returns the own heads of all positions; `from` has all heads of the own positions.
    BufferId to_positions(const Op& of,
                          const std::string& what,
                          const layout::ContextHeads& heads,
                          BufferId from) {
        const auto sent = add_buffer(of, what + " by rank", heads);
        rearrange(of, "splits heads of " + what, from, Role::input, sent, Role::heads_by_rank);
        const auto gathered = add_buffer(of, what + " of all positions", heads);
        // Blocks of one sequence are in the order of its positions.
        const auto received = has_several_sequences_ ? add_buffer(of, what + " by rank", heads) : gathered;
        exchange(of, what, sent, received);
        if (has_several_sequences_) {
            rearrange(of, "joins positions of " + what, received, Role::rows_by_rank, gathered, Role::output);
        }
        return gathered;
    }

    /// Writes all heads of the own positions to `to`; `from` has the own heads of all positions.
    void to_heads(const Op& of,
                  const std::string& what,
                  const layout::ContextHeads& heads,
                  BufferId from,
                  BufferId to) {
        const auto sent = has_several_sequences_ ? add_buffer(of, what + " by rank", heads) : from;
        if (has_several_sequences_) {
            rearrange(of, "splits positions of " + what, from, Role::input, sent, Role::rows_by_rank);
        }
        const auto received = add_buffer(of, what + " by rank", heads);
        exchange(of, what, sent, received);
        rearrange(of, "joins heads of " + what, received, Role::heads_by_rank, to, Role::output);
    }

    void forward(Op op) {
        const auto qkv = program_.find_read(op, Role::input)->buffer;
        const auto output = program_.find_write(op, Role::output)->buffer;
        auto& made = gathered_[key_of(op)];
        made.qkv = to_positions(op, "qkv", qkv_, qkv);
        made.output = add_buffer(op, "attention of all positions", output_);
        for (const auto& [gathered, own] : {std::pair{made.qkv, qkv}, std::pair{made.output, output}}) {
            program_.buffers[gathered].consumer = program_.buffers[qkv].consumer;
            program_.buffers[gathered].fate = program_.buffers[own].fate;
        }
        saved_by_attention_.insert(qkv);
        const Op of = op;
        replace(op.reads, qkv, made.qkv);
        replace(op.writes, output, made.output);
        program_.ops.push_back(std::move(op));
        to_heads(of, "attention", output_, made.output, output);
    }

    void backward(Op op) {
        const auto& made = gathered_.at(key_of(op));
        const auto d_output = program_.find_read(op, Role::d_output)->buffer;
        const auto d_qkv = program_.find_write(op, Role::d_input)->buffer;
        const Op of = op;
        const auto d_gathered = to_positions(of, "d attention", output_, d_output);
        const auto d_made = add_buffer(of, "d qkv of all positions", qkv_);
        replace(op.reads, program_.find_read(op, Role::input)->buffer, made.qkv);
        replace(op.reads, program_.find_read(op, Role::output)->buffer, made.output);
        replace(op.reads, d_output, d_gathered);
        replace(op.writes, d_qkv, d_made);
        program_.ops.push_back(std::move(op));
        to_heads(of, "d qkv", qkv_, d_made, d_qkv);
    }

    void replace(std::vector<Operand>& operands, BufferId from, BufferId to) {
        for (auto& operand : operands) {
            if (operand.buffer == from) {
                operand = whole(program_, to, operand.role);
            }
        }
    }

    /// Queries, keys and values of the own positions are no longer saved if only attention saved them.
    void drop_unsaved() {
        for (const auto& op : program_.ops) {
            if (op.direction == Direction::forward || op.direction == Direction::none) {
                continue;
            }
            for (const auto& operand : op.reads) {
                saved_by_attention_.erase(operand.buffer);
            }
        }
        for (const int buffer : saved_by_attention_) {
            auto& consumer = program_.buffers[buffer].consumer;
            consumer = consumer == MemoryCategory::activations ? MemoryCategory::working_buffers : consumer;
        }
    }

    Program& program_;
    const ModelLayout& model_;
    int ranks_;
    bool has_several_sequences_;
    layout::ContextHeads qkv_, output_;
    spec::DType compute_;
    int group_;
    std::map<std::tuple<int, int, int>, Gathered> gathered_;  ///< by unit, phase and micro-batch
    std::set<int> saved_by_attention_;
};

}  // namespace

void context_heads_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model) {
    if (spec.parallel.context > 1 && spec.parallel.context_kind == spec::ContextKind::ulysses) {
        HeadExchange{draft, spec, model}.run();
    }
}

}  // namespace ziggurat::schedule
