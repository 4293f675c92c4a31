#include "schedule/passes/control_pass.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "layout/cache/kv_cache.hpp"

namespace ziggurat::schedule {
namespace {

class ControlCopies {
  public:
    ControlCopies(ProgramBuilder& draft, const ModelLayout& model)
        : program_{draft.program}, given_{draft.program.trainer_buffers}, model_{model} {
        for (int m = 0; m < program_.microbatches; ++m) {
            for (int b = 0; b < num_batch_tensors; ++b) {
                const auto tensor = static_cast<BatchTensor>(b);
                if (const BufferId given = given_.of(tensor, m); given >= 0) {
                    (is_result(tensor) ? left_ : brought_).insert(given);
                }
            }
        }
        brought_.insert({given_.step_inputs, given_.update_inputs});
        sums_of_device_.emplace(given_.exact_sums, given_.sums_of_device);
        if (given_.update_sums >= 0) {
            sums_of_device_.emplace(given_.update_sums, given_.update_sums_of_device);
        }
        for (const auto& of_unit : given_.unit_clips) {
            if (of_unit.update_inputs >= 0) {
                brought_.insert(of_unit.update_inputs);
                sums_of_device_.emplace(of_unit.exact_sums, of_unit.sums_of_device);
            }
        }
        for (const auto& [on_host, of_device] : sums_of_device_) {
            left_.insert(on_host);
        }
        look_at_ops();
    }

    void run() {
        auto ops = std::move(program_.ops);
        program_.ops.clear();
        program_.ops.reserve(ops.size() + ops.size() / 4);
        for (int i = 0; i < std::ssize(ops); ++i) {
            auto& op = ops[i];
            if (op.kind == OpKind::step_end || op.kind == OpKind::unit_clip) {
                read_sums(op);
            }
            if (op.kind == OpKind::norm) {
                start_sum(op, Role::exact_sums);
            } else if (op.kind == OpKind::update && program_.find_write(op, Role::update_sums) != nullptr) {
                start_sum(op, Role::update_sums);
            }
            if (!works_on_device(op)) {
                program_.ops.push_back(std::move(op));
                continue;
            }
            bring(op);
            const auto left = left_over(op, i);
            name_twins(op);
            const bool makes_logits = is_watched(op);
            program_.ops.push_back(std::move(op));
            for (const BufferId buffer : left) {
                take(buffer);
            }
            if (makes_logits) {
                watch(program_.ops.back());
            }
        }
    }

  private:
    bool works_on_device(const Op& op) const { return program_.lanes[op.lane].engine == Engine::compute; }
    Buffer& buffer(int index) { return program_.buffers[index]; }

    /// Records the buffers that the device reads, and the last op that writes each buffer for the trainer.
    void look_at_ops() {
        for (int i = 0; i < std::ssize(program_.ops); ++i) {
            const auto& op = program_.ops[i];
            if (!works_on_device(op)) {
                continue;
            }
            for (const auto& operand : op.reads) {
                if (brought_.contains(operand.buffer)) {
                    read_on_device_.insert(operand.buffer);
                }
            }
            for (const auto& operand : op.writes) {
                if (left_.contains(operand.buffer)) {
                    last_writer_[operand.buffer] = i;
                }
            }
        }
    }

    /// Returns the device copy of a host buffer; adds it at the first call.
    BufferId twin(BufferId of) {
        auto& made = twins_.try_emplace(of, -1).first->second;
        if (made < 0) {
            auto like = buffer(of);
            like.name += " on device";
            like.tier = spec::Tier::device;
            like.lifetime = Lifetime::transient;
            made = program_.add_buffer(std::move(like));
        }
        return made;
    }

    Op copy(Engine engine, int microbatch, std::string label) {
        Op op;
        op.kind = OpKind::copy;
        op.lane = program_.control_lane(engine);
        op.purpose = Purpose::control;
        op.microbatch = microbatch;
        op.label = std::move(label);
        return op;
    }
    void add_way(Op& op, int from, int to, Role role) const {
        op.reads.push_back(whole(program_, from, role));
        op.writes.push_back(whole(program_, to, role));
    }

    /// Copies to the device the buffers that `op` reads. All tensors of a micro-batch are copied by one op.
    void bring(const Op& op) {
        for (const auto& operand : op.reads) {
            if (!read_on_device_.contains(operand.buffer) || twins_.contains(operand.buffer)) {
                continue;
            }
            const int m = buffer(operand.buffer).microbatch;
            if (m < 0) {
                auto made = copy(Engine::host_to_device, -1, buffer(operand.buffer).name + " to device");
                add_way(made, operand.buffer, twin(operand.buffer), operand.role);
                program_.ops.push_back(std::move(made));
                continue;
            }
            auto made = copy(Engine::host_to_device, m, "batch to device " + std::to_string(m));
            for (int b = 0; b < num_batch_tensors; ++b) {
                const auto tensor = static_cast<BatchTensor>(b);
                const int given = given_.of(tensor, m);
                if (read_on_device_.contains(given)) {
                    add_way(made, given, twin(given), role_of(tensor));
                }
            }
            program_.ops.push_back(std::move(made));
        }
    }

    /// Returns the buffers whose last write on the device is by `op`, the `i`-th op.
    std::vector<int> left_over(const Op& op, int i) const {
        std::vector<int> found;
        for (const auto& operand : op.writes) {
            const auto last = last_writer_.find(operand.buffer);
            // An update of several units writes the sums of each.
            const bool is_new = std::ranges::count(found, int{operand.buffer}) == 0;
            if (last != last_writer_.end() && last->second == i && is_new) {
                found.push_back(operand.buffer);
            }
        }
        return found;
    }

    void take(BufferId home) {
        const auto sum = sums_of_device_.find(home);
        const bool is_sum = sum != sums_of_device_.end();
        const BufferId to = is_sum ? sum->second : home;
        const int m = buffer(home).microbatch;
        const bool are_losses = !is_sum && home == given_.of(BatchTensor::losses, m);
        auto made =
            copy(Engine::device_to_host, m,
                 buffer(home).name + (is_sum ? std::string{" to host"} : " to host " + std::to_string(m)));
        const bool is_of_updates = is_sum && home == given_.update_sums;
        add_way(made, twin(home), to,
                is_of_updates ? Role::update_sums
                : is_sum      ? Role::exact_sums
                : are_losses  ? Role::losses
                              : Role::pair_results);
        program_.ops.push_back(std::move(made));
        if (is_sum && !is_of_updates) {
            sums_.push_back(to);
        }
    }

    void name_twins(Op& op) {
        for (auto* operands : {&op.reads, &op.writes}) {
            for (auto& operand : *operands) {
                if (brought_.contains(operand.buffer) || left_.contains(operand.buffer)) {
                    operand.buffer = twin(operand.buffer);
                }
            }
        }
    }

    /// Zeroes the exact sums of a tier before the first norm or update that adds to them.
    void start_sum(const Op& adds, Role role) {
        const bool on_device = works_on_device(adds);
        const BufferId home = program_.find_write(adds, role)->buffer;
        const BufferId sum = on_device ? twin(home) : home;
        if (!begun_sums_.insert(sum).second) {
            return;
        }
        if (!on_device && role == Role::exact_sums) {
            sums_.push_back(sum);
        }
        Op op;
        op.kind = OpKind::fill;
        op.lane = adds.lane;
        op.label = "zeros for " + buffer(sum).name;
        op.writes.push_back(whole(program_, sum, role));
        program_.ops.push_back(std::move(op));
    }

    /// Replaces the sums that `op` reads by those that are filled: of its unit, or of all units.
    void read_sums(Op& op) const {
        std::erase_if(op.reads, [](const Operand& read) { return read.role == Role::exact_sums; });
        for (const BufferId sum : sums_) {
            if (op.unit < 0 || program_.buffers[sum].unit == op.unit) {
                op.reads.push_back(whole(program_, sum, Role::exact_sums));
            }
        }
    }

    /// True for the op that makes logits or, on a grid, for the first that reads the sum of their blocks.
    bool is_watched(const Op& op) const {
        if (program_.variant == Variant::train || op.unit < 0 || op.phase < 0) {
            return false;
        }
        if (model_.has_grid()) {
            return op.kind == OpKind::loss && program_.find_read(op, Role::input) != nullptr;
        }
        return op.kind == OpKind::compute && op.direction == Direction::forward &&
               model_.table.units[op.unit].phases[op.phase].kind == layout::PhaseKind::logits;
    }

    /// Returns the number of rows of logits that the host gets.
    std::int64_t kept_rows() const {
        return program_.variant == Variant::cached ? layout::kept_logits(program_.cached.rows) : 1;
    }

    /// Copies rows of the logits of `op`, for the op's columns. The rows are selected at run time.
    void watch(const Op& op) {
        const auto& block =
            model_.has_grid() ? *program_.find_read(op, Role::input) : *program_.find_write(op, Role::output);
        const std::int64_t width = model_.element_bytes;
        const std::int64_t row_bytes = block.bytes() / (op.row_end - op.row_begin);
        const auto& phase = model_.table.units[op.unit].phases[op.phase];
        const auto stride = model_.has_grid() ? row_bytes : phase.out * width;
        if (given_.watched_logits < 0) {
            Buffer made;
            made.name = "watched logits";
            made.tier = spec::Tier::host;
            made.lifetime = Lifetime::inputs;
            made.consumer = MemoryCategory::batch;
            made.bytes = kept_rows() * stride;
            given_.watched_logits = program_.add_buffer(std::move(made));
        }
        auto made = copy(Engine::device_to_host, op.microbatch, op.label + " watched");
        made.unit = op.unit;
        made.row_begin = op.row_begin;
        made.row_end = op.row_end;
        made.column_begin = op.column_begin;
        made.column_end = op.column_end;
        made.reads.push_back(block);
        Operand rows{given_.watched_logits, Role::watched, {}};
        if (row_bytes == stride) {
            rows.runs.push_back({0, kept_rows() * stride});
        } else {  // a tile of the columns
            for (std::int64_t row = 0; row < kept_rows(); ++row) {
                rows.runs.push_back({row * stride + op.column_begin * width, row_bytes});
            }
        }
        made.writes.push_back(std::move(rows));
        program_.ops.push_back(std::move(made));
    }

    Program& program_;
    TrainerBuffers& given_;
    const ModelLayout& model_;
    std::set<int> brought_;           ///< buffers that the trainer fills
    std::set<int> left_;              ///< buffers that the trainer reads, and sums
    std::set<int> read_on_device_;    ///< subset of brought_
    std::map<int, int> last_writer_;  ///< by buffer of left_: the last op of the device that writes it
    std::map<int, int> twins_;        ///< host buffer -> device copy
    std::map<BufferId, BufferId>
        sums_of_device_;        ///< by sum on the host: host copy of the same sum of the device
    std::set<int> begun_sums_;  ///< sums that are zeroed
    std::vector<int> sums_;     ///< sums on the host that step_end adds
};

}  // namespace

void control_pass(ProgramBuilder& draft, const ModelLayout& model) {
    ControlCopies{draft, model}.run();
}

}  // namespace ziggurat::schedule
