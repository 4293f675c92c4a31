#include "schedule/passes/host_operators_pass.hpp"

#include <map>
#include <utility>
#include <vector>

#include "schedule/residency/move_op.hpp"

namespace ziggurat::schedule {
namespace {

class HostOperators {
  public:
    explicit HostOperators(Program& program) : program_{program}, lane_{program.operator_lane()} {
        for (OpId i = 0; i < program.ops.end_id(); ++i) {
            for (const auto& operand : program.ops[i].writes) {
                if (program.ops[i].lane == lane_ && is_value(operand)) {
                    last_write_[value_of(program.ops[i], operand)] = i;
                }
            }
        }
    }

    void run() {
        std::vector<Op> out;
        out.reserve(program_.ops.size() + last_write_.size());
        for (OpId i = 0; i < program_.ops.end_id(); ++i) {
            auto op = std::move(program_.ops[i]);
            if (op.lane != lane_) {
                out.push_back(std::move(op));
                continue;
            }
            std::vector<Op> after;
            for (auto& operand : op.writes) {
                if (is_value(operand)) {
                    const auto value = value_of(op, operand);
                    operand.buffer = copy_of(value);
                    if (last_write_.at(value) == i) {
                        after.push_back(move_op(program_, operand.buffer, value.first));
                    }
                }
            }
            for (auto& operand : op.reads) {
                if (is_value(operand)) {
                    const auto value = value_of(op, operand);
                    const bool is_new = !copies_.contains(value);
                    operand.buffer = copy_of(value);
                    if (is_new) {
                        out.push_back(move_op(program_, value.first, operand.buffer));
                    }
                }
            }
            out.push_back(std::move(op));
            std::ranges::move(after, std::back_inserter(out));
        }
        program_.ops = std::move(out);
    }

  private:
    /// A buffer and the micro-batch whose value it has: slots in flight have those of several.
    using Value = std::pair<BufferId, int>;

    Value value_of(const Op& op, const Operand& operand) const { return {operand.buffer, op.microbatch}; }

    /// True for a value that ops of the device read or write.
    bool is_value(const Operand& operand) const {
        const auto& used = program_.buffers[operand.buffer];
        return used.tier == spec::Tier::device && used.state == StateKind::none &&
               (used.lifetime == Lifetime::transient || used.lifetime == Lifetime::in_flight);
    }

    /// Returns the host copy of a value; adds it at the first call.
    BufferId copy_of(const Value& value) {
        const auto [known, is_new] = copies_.try_emplace(value, -1);
        if (is_new) {
            auto made = program_.buffers[value.first];
            made.name += " on host";
            made.tier = spec::Tier::host;
            made.lifetime = Lifetime::transient;
            made.microbatch = value.second;
            made.consumer = MemoryCategory::working_buffers;
            made.fate = std::nullopt;
            known->second = program_.add_buffer(std::move(made));
        }
        return known->second;
    }

    Program& program_;
    LaneId lane_;
    std::map<Value, OpId> last_write_;  ///< of host ops
    std::map<Value, BufferId> copies_;
};

}  // namespace

void host_operators_pass(ProgramBuilder& draft, const ModelLayout& model) {
    if (model.embedding_on_host && model.stage == 0) {
        HostOperators{draft.program}.run();
    }
}

}  // namespace ziggurat::schedule
