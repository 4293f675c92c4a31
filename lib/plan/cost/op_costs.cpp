#include "plan/cost/op_costs.hpp"

#include <algorithm>
#include <cmath>

#include "plan/cost/collective_cost.hpp"
#include "plan/cost/product_cost.hpp"
#include "plan/cost/sweep_cost.hpp"
#include "plan/cost/transfer_cost.hpp"
#include "plan/gpu/kernel_traffic.hpp"
#include "plan/gpu/op_operands.hpp"

namespace ziggurat::plan {
namespace {

using layout::PhaseKind;
using schedule::Engine;
using schedule::Op;
using schedule::OpClass;
using schedule::OpKind;
using schedule::Role;

/// Bytes that AdamW moves for a parameter.
///
/// It reads gradient, master and moments, and writes master, moments and the parameter in the compute type.
constexpr double bytes_of_update = 30;

class OpCosts {
  public:
    OpCosts(const schedule::Program& program,
            const spec::RunSpec* spec,
            const schedule::ModelLayout* model,
            const Rates& rates)
        : program_{program},
          spec_{spec},
          model_{model},
          rates_{rates},
          shapes_{group_shapes(program, rates.ranks_per_node)} {}

    double of(const Op& op) const {
        if (op.predicate && !rates_.redoes_updates) {
            return 0;
        }
        switch (class_of(op.kind)) {
            case OpClass::compute:
            case OpClass::loss:
                return model_ != nullptr && op.unit >= 0 ? of_phase(op) : by_bytes(op, 1);
            case OpClass::fill:
                return by_bytes(op, 1);
            case OpClass::add:
                return by_bytes(op, 2);
            case OpClass::norm:
                return of_norm(op);
            case OpClass::update:
                return of_update(op);
            case OpClass::step_end:
                return of_step_end();
            case OpClass::collective:
                return of_collective(op);
            case OpClass::copy:
            case OpClass::read:
            case OpClass::write:
                return transfer_seconds(op, program_, rates_);
        }
        return 0;
    }

  private:
    bool is_on_host_lane(const Op& op) const {
        return program_.lanes.at(op.lane).engine == Engine::host_optimizer;
    }

    double memory_of(const Op& op) const { return is_on_host_lane(op) ? rates_.host_memory : rates_.memory; }

    /// Returns the seconds of an op without products, by the bytes that it writes `times` times.
    double by_bytes(const Op& op, double times) const {
        if (op.flops > 0) {
            return rates_.op_overhead + op.flops / rates_.products.forward.flops;
        }
        double bytes = 0;
        for (const auto& operand : op.writes) {
            bytes += static_cast<double>(operand.bytes());
        }
        const double rate = is_on_host_lane(op) ? rates_.host_memory : rates_.of(spec::SweepKind::sum, true);
        return rates_.op_overhead + times * bytes / rate;
    }

    /// Returns the seconds of packing a weight for the host's products.
    double of_packing(const Op& op) const {
        double bytes = 0;
        for (const auto* operands : {&op.reads, &op.writes}) {
            for (const auto& operand : *operands) {
                bytes += static_cast<double>(operand.bytes());
            }
        }
        return rates_.op_overhead + bytes / rates_.of(spec::SweepKind::packing, true);
    }

    /// Returns the seconds of a lookup on the host, or of its gradient, by the bytes that it reads and
    /// writes.
    ///
    /// A gradient that is not added to an earlier one begins with zeros.
    double of_host_operator(const Op& op) const {
        double bytes = 0;
        const auto add = [&](Role role, const schedule::Operand* operand) {
            bytes += operand != nullptr && role == operand->role ? static_cast<double>(operand->bytes()) : 0;
        };
        for (const auto role : {Role::output, Role::d_output}) {
            add(role, program_.find_write(op, role));
            add(role, program_.find_read(op, role));
        }
        const bool is_backward = op.direction == schedule::Direction::backward;
        const double elements = bytes / model_->element_bytes;
        // The rows of the table, or those of its gradient, which are read and written.
        bytes += elements * (is_backward ? 2 * 4 : model_->element_bytes);
        for (const auto role : {Role::d_table, Role::d_position_table}) {
            add(role, is_backward && !op.accumulate ? program_.find_write(op, role) : nullptr);
        }
        return rates_.op_overhead + bytes / rates_.host_memory;
    }

    double of_phase(const Op& op) const {
        if (is_on_host_lane(op)) {
            return of_host_operator(op);
        }
        const auto& phase = model_->table.units.at(op.unit).phases.at(op.phase);
        if (phase.kind == PhaseKind::logits && op.direction == schedule::Direction::none) {
            return of_packing(op);
        }
        const auto kernels = KernelTraffic{*spec_, *model_, program_, true, FusedProducts::separate}.of(op);
        const double around = launch_seconds(kernels, rates_) +
                              sweep_seconds(kernels, sweep_of(phase.kind), is_forward(op), rates_);
        switch (phase.kind) {
            case PhaseKind::linear:
            case PhaseKind::logits:
                return around + (op.flops > 0 ? products_seconds(op, phase, model_->element_bytes,
                                                                 spec_->model.lora.rank, rates_)
                                              : 0);
            case PhaseKind::attention:
                return around + attention_seconds(op, rates_);
            default:
                return around;
        }
    }

    double of_norm(const Op& op) const {
        double bytes = 0;
        for (const auto& operand : op.reads) {
            bytes += operand.role == Role::gradient ? static_cast<double>(operand.bytes()) : 0;
        }
        const double rate =
            is_on_host_lane(op) ? rates_.host_memory : rates_.of(spec::SweepKind::squares, true);
        return rates_.op_overhead + bytes / rate;
    }

    /// Returns the seconds of a publication of master weights.
    double of_publication(const Op& op) const {
        double bytes = 0;
        for (const auto& operand : op.writes) {
            const bool is_used = operand.role == Role::master || operand.role == Role::parameters;
            bytes += is_used ? static_cast<double>(operand.bytes()) : 0;
        }
        return rates_.op_overhead + bytes / memory_of(op);
    }

    double of_update(const Op& op) const {
        if (op.purpose == schedule::Purpose::publication) {
            return of_publication(op);
        }
        double parameters = 0;
        double kept_bytes = 0;
        for (const auto& operand : op.writes) {
            if (operand.role == Role::master) {
                parameters += static_cast<double>(operand.bytes()) /
                              schedule::element_bytes(program_.buffer(operand.buffer));
            }
        }
        for (const auto* operands : {&op.reads, &op.writes}) {
            for (const auto& operand : *operands) {
                kept_bytes += operand.role == Role::undo ? static_cast<double>(operand.bytes()) : 0;
            }
        }
        if (parameters == 0) {
            return by_bytes(op, 2);
        }
        const bool is_on_host = is_on_host_lane(op) || !rates_.has_device;
        const double seconds = is_on_host && rates_.updates > 0
                                   ? parameters / rates_.updates
                                   : parameters * bytes_of_update / memory_of(op);
        return rates_.op_overhead + seconds + 2 * kept_bytes / memory_of(op);
    }

    /// Returns the seconds of the sum of all ranks' norms and flags.
    double of_step_end() const {
        const auto ranks = spec_ != nullptr ? spec_->parallel.ranks : 1;
        if (ranks == 1) {
            return 0;
        }
        const auto& link = ranks > rates_.ranks_per_node ? rates_.network_link : rates_.node_link;
        return 2 * std::ceil(std::log2(static_cast<double>(ranks))) * link.latency;
    }

    double of_collective(const Op& op) const {
        const auto& shape = shapes_.at(op.group);
        if (schedule::is_message(op.kind)) {
            return message_seconds(vector_bytes(op), is_within_node(op), rates_);
        }
        if (op.purpose != schedule::Purpose::tensor || rates_.tensor_axis <= 0) {
            return collective_seconds(op.kind, vector_bytes(op), shape, rates_);
        }
        auto limited = rates_;
        for (auto* link : {&limited.node_link, &limited.network_link}) {
            link->bandwidth = std::min(link->bandwidth, rates_.tensor_axis);
        }
        return collective_seconds(op.kind, vector_bytes(op), shape, limited);
    }

    bool is_within_node(const Op& op) const {
        const auto& group = program_.groups.at(op.group);
        const auto node_of = [&](int rank) { return rank / rates_.ranks_per_node; };
        return node_of(group.members.at(op.peer)) == node_of(program_.rank);
    }

    const schedule::Program& program_;
    const spec::RunSpec* spec_;
    const schedule::ModelLayout* model_;
    const Rates& rates_;
    std::vector<GroupShape> shapes_;  ///< by group of the program
};

std::vector<double> all_seconds(const schedule::Program& program, const OpCosts& costs) {
    std::vector<double> seconds;
    seconds.reserve(program.ops.size());
    for (const auto& op : program.ops) {
        seconds.push_back(costs.of(op));
    }
    return seconds;
}

}  // namespace

std::vector<double> op_seconds(const schedule::Program& program,
                               const spec::RunSpec& spec,
                               const schedule::ModelLayout& model,
                               const Rates& rates) {
    return all_seconds(program, OpCosts{program, &spec, &model, rates});
}

std::vector<double> op_seconds(const schedule::Program& program, const Rates& rates) {
    return all_seconds(program, OpCosts{program, nullptr, nullptr, rates});
}

}  // namespace ziggurat::plan
