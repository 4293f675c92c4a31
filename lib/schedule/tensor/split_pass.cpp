#include "schedule/tensor/split_pass.hpp"

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schedule/passes/saved_for_backward.hpp"
#include "schedule/residency/move_op.hpp"
#include "schedule/residency/unit_passes.hpp"

namespace ziggurat::schedule {
namespace {

class Splitting {
  public:
    Splitting(Program& program, const ModelLayout& model)
        : program_{program}, model_{model}, unit_passes_{program} {}

    void apply() {
        for (const auto& kept : saved_for_backward(program_)) {
            const auto& buffer = program_.buffers[kept.buffer];
            auto parts = parts_on_tensor_ranks(buffer, model_.tensor());
            const bool is_wanted_at_once =
                unit_passes_.issued_at(kept.first_backward, 1) <= kept.last_forward;
            if (!parts.empty() && !is_wanted_at_once) {
                split(kept, std::move(parts));
            }
        }
        insert();
    }

  private:
    /// Gathered buffer that backward reads, and the first op that reads it.
    struct Gathered {
        BufferId buffer = -1;
        int first_op = -1;
    };

    int like(BufferId buffer, const char* what, std::int64_t bytes, MemoryCategory consumer) {
        auto made = program_.buffers[buffer];
        made.name += what;
        made.bytes = bytes;
        made.consumer = consumer;
        made.is_replicated = false;
        return program_.add_buffer(std::move(made));
    }

    void split(const Kept& kept, std::vector<ByteRange> parts) {
        const auto own = parts[model_.tensor_rank];
        const auto whole_bytes = program_.buffers[kept.buffer].bytes;
        const int part = like(kept.buffer, ", own part", own.bytes, MemoryCategory::activations);
        const int gathered = like(kept.buffer, " gathered", whole_bytes, MemoryCategory::working_buffers);
        program_.buffers[kept.buffer].consumer = MemoryCategory::working_buffers;

        auto cut = empty_move(program_, spec::Tier::device, spec::Tier::device);
        cut.purpose = Purpose::tensor;
        take_place(cut, kept.last_forward);
        cut.direction = Direction::forward;
        cut.label = program_.buffers[part].name;
        cut.reads.push_back({kept.buffer, Role::input, {own}});
        cut.writes.push_back(whole(program_, part, Role::output));
        after_.emplace(kept.last_forward, std::move(cut));

        Op gather;
        gather.kind = OpKind::all_gather;
        gather.purpose = Purpose::tensor;
        take_place(gather, kept.first_backward);
        gather.direction = program_.ops[kept.first_backward].direction;
        gather.group = program_.group("tensor", model_.mesh.group(spec::Axis::tensor, model_.rank));
        gather.lane = program_.lane(Engine::collective, gather.group);
        gather.payload = program_.buffers[kept.buffer].type;
        gather.label = program_.buffers[gathered].name;
        gather.blocks = std::move(parts);
        gather.reads.push_back(whole(program_, part, Role::input));
        gather.writes.push_back(whole(program_, gathered, Role::output));
        in_front_.emplace(kept.first_backward, std::move(gather));
        gathered_.emplace(kept.buffer, Gathered{gathered, kept.first_backward});
    }

    /// Sets the unit and micro-batch of an op to those of its neighbour in the list.
    void take_place(Op& op, int neighbour) const {
        const auto& next_to = program_.ops[neighbour];
        op.unit = next_to.unit;
        op.microbatch = next_to.microbatch;
    }

    void insert() {
        std::vector<Op> ops;
        for (OpId i = 0; i < program_.ops.end_id(); ++i) {
            move_all(in_front_, i, ops);
            auto& op = program_.ops[i];
            for (auto* operands : {&op.reads, &op.writes}) {
                for (auto& operand : *operands) {
                    const auto found = gathered_.find(operand.buffer);
                    if (found != gathered_.end() && i >= found->second.first_op) {
                        operand.buffer = found->second.buffer;
                    }
                }
            }
            ops.push_back(std::move(op));
            move_all(after_, i, ops);
        }
        program_.ops = std::move(ops);
    }

    static void move_all(std::multimap<int, Op>& from, int position, std::vector<Op>& to) {
        const auto [begin, end] = from.equal_range(position);
        for (auto at = begin; at != end; ++at) {
            to.push_back(std::move(at->second));
        }
    }

    Program& program_;
    const ModelLayout& model_;
    UnitPasses unit_passes_;
    std::multimap<int, Op> in_front_, after_;     ///< by the op that they precede or follow
    std::unordered_map<int, Gathered> gathered_;  ///< by the buffer that was divided
};

}  // namespace

std::vector<ByteRange> parts_on_tensor_ranks(const Buffer& buffer, int tensor) {
    if (!buffer.is_replicated) {
        return {};
    }
    const std::int64_t width = element_bytes(buffer);
    auto parts = equal_blocks(buffer.bytes / width, width, tensor);
    return parts.back().bytes > 0 ? parts : std::vector<ByteRange>{};
}

void split_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model) {
    if (spec.recompute.split && model.tensor() > 1 && draft.program.variant == Variant::train) {
        Splitting{draft.program, model}.apply();
    }
}

}  // namespace ziggurat::schedule
