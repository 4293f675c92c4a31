#include "plan/recompute/recompute_graph.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "layout/mesh.hpp"
#include "plan/cost/op_costs.hpp"
#include "schedule/build_program.hpp"
#include "schedule/expand/pipeline_order.hpp"
#include "schedule/fuse/fuse_glu_pass.hpp"
#include "schedule/model_layout.hpp"
#include "spec/weight_versions.hpp"

namespace ziggurat::plan {
namespace {

using schedule::Direction;
using schedule::Op;
using schedule::OpKind;
using schedule::Program;
using schedule::UnitId;

constexpr std::size_t index(int i) {
    return static_cast<std::size_t>(i);
}

bool is_backward(const Op& op) {
    return op.direction == Direction::backward || op.direction == Direction::backward_input ||
           op.direction == Direction::backward_weight;
}

/// True for the forward ops of a layer's pass. Gathers of parameters are not: backward has its own.
bool is_of_pass(const Op& op) {
    const bool moves_values =
        op.purpose == schedule::Purpose::tensor || op.purpose == schedule::Purpose::context;
    return op.direction == Direction::forward && (op.kind == OpKind::compute || moves_values);
}

/// Returns the maximum of micro-batches of which a stage keeps values at the same time.
std::int64_t micro_batches_in_flight(const spec::RunSpec& spec, int stage) {
    const auto& parallel = spec.parallel;
    if (spec.train.is_by_layer()) {
        return spec.train.micro_batches;
    }
    if (spec::has_no_flush(parallel)) {
        return spec::weight_versions(spec, stage).in_flight();
    }
    const auto order =
        schedule::pipeline_order({parallel.pipeline_schedule, parallel.stages, parallel.chunks_per_stage,
                                  static_cast<int>(spec.train.micro_batches)},
                                 stage);
    using enum schedule::Slot::Pass;
    std::int64_t now = 0;
    std::int64_t max = 0;
    for (const auto& slot : order) {
        now += slot.pass == forward ? 1 : slot.pass == backward_input ? 0 : -1;
        max = std::max(max, now);
    }
    return (max + parallel.chunks_per_stage - 1) / parallel.chunks_per_stage;
}

/// Builds the graph of one layer from the ops of its first micro-batch.
class LayerReader {
  public:
    LayerReader(const Program& program,
                const schedule::ModelLayout& model,
                const std::vector<double>& seconds,
                const Rates& rates)
        : program_{program},
          model_{model},
          seconds_{seconds},
          activation_rate_{rates.of(spec::SweepKind::activation, false)} {
        for (std::size_t i = 0; i < program.ops.size(); ++i) {
            const auto& op = program.ops[i];
            for (const auto& operand : op.reads) {
                readers_[operand.buffer].insert(i);
            }
        }
    }

    LayerGraph read(UnitId unit) const {
        std::vector<std::size_t> forward;
        for (std::size_t i = 0; i < program_.ops.size(); ++i) {
            const auto& op = program_.ops[i];
            if (op.unit == unit && op.microbatch == 0 && is_of_pass(op)) {
                forward.push_back(i);
            }
        }
        LayerGraph made;
        const auto node_of = nodes(forward, unit, made);
        std::map<int, int> value_of_buffer;
        for (std::size_t k = 0; k < forward.size(); ++k) {
            for (const auto& operand : program_.ops[forward[k]].writes) {
                add_value(operand.buffer, unit, node_of[k], value_of_buffer, made);
            }
        }
        for (std::size_t k = 0; k < forward.size(); ++k) {
            for (const auto& operand : program_.ops[forward[k]].reads) {
                const auto known = value_of_buffer.find(operand.buffer);
                if (known == value_of_buffer.end() ||
                    made.values[index(known->second)].made_by == node_of[k]) {
                    continue;
                }
                auto& reads = made.ops[index(node_of[k])].reads;
                if (std::ranges::find(reads, known->second) == reads.end()) {
                    reads.push_back(known->second);
                    made.values[index(known->second)].read_by.push_back(node_of[k]);
                }
            }
        }
        mark_shared(forward, node_of, value_of_buffer, made);
        return made;
    }

  private:
    /// Marks the inputs and outputs of gated linear units that are recomputed in their gradients.
    void mark_shared(const std::vector<std::size_t>& forward,
                     const std::vector<int>& node_of,
                     const std::map<int, int>& value_of_buffer,
                     LayerGraph& made) const {
        for (std::size_t k = 0; k < forward.size(); ++k) {
            const auto& op = program_.ops[forward[k]];
            if (!is_recomputed_by_gradient(op)) {
                continue;
            }
            for (const auto* operands : {&op.reads, &op.writes}) {
                for (const auto& operand : *operands) {
                    if (const auto value = value_of_buffer.find(operand.buffer);
                        value != value_of_buffer.end()) {
                        made.values[index(value->second)].shared_by = node_of[k];
                    }
                }
            }
        }
    }

    /// Groups ops that write the same buffer, adds the groups to `made`, and returns the group of each op.
    std::vector<int> nodes(const std::vector<std::size_t>& forward, UnitId unit, LayerGraph& made) const {
        std::vector<int> node_of(forward.size(), -1);
        std::map<int, int> writer_of;
        for (std::size_t k = 0; k < forward.size(); ++k) {
            const auto& op = program_.ops[forward[k]];
            int node = -1;
            for (const auto& operand : op.writes) {
                const auto known = writer_of.find(operand.buffer);
                node = known == writer_of.end() ? node : known->second;
            }
            if (node < 0) {
                node = static_cast<int>(made.ops.size());
                made.ops.push_back({.name = name_of(op), .is_selective = true});
            }
            for (const auto& operand : op.writes) {
                writer_of[operand.buffer] = node;
            }
            auto& known = made.ops[index(node)];
            known.seconds += seconds_again(forward[k]);
            known.is_selective = known.is_selective && op.kind == OpKind::compute &&
                                 model_.table.units[unit].phases[index(op.phase)].redone_by_selective;
            node_of[k] = node;
        }
        return node_of;
    }

    /// True if fuse_glu_pass makes the recomputation of `op` a part of its gradient.
    bool is_recomputed_by_gradient(const Op& op) const {
        return schedule::is_glu(op, model_) &&
               std::ranges::all_of(readers_.at(op.writes.front().buffer), [&](std::size_t reader) {
                   const auto& product = program_.ops[reader];
                   return !is_backward(product) || schedule::can_follow_glu_gradient(product, model_);
               });
    }

    /// Returns the seconds of a recomputation: a gradient that makes it only writes the output in addition.
    double seconds_again(std::size_t i) const {
        const auto& op = program_.ops[i];
        return is_recomputed_by_gradient(op)
                   ? static_cast<double>(op.writes.front().bytes()) / activation_rate_
                   : seconds_[i];
    }

    std::string name_of(const Op& op) const {
        return op.phase >= 0 ? model_.table.units[op.unit].phases[index(op.phase)].name : op.label;
    }

    void add_value(
        int buffer, UnitId unit, int node, std::map<int, int>& value_of_buffer, LayerGraph& made) const {
        const auto& held = program_.buffers[index(buffer)];
        const auto readers = readers_.find(buffer);
        if (held.lifetime != schedule::Lifetime::transient || held.tier != spec::Tier::device ||
            readers == readers_.end() || value_of_buffer.contains(buffer)) {
            return;
        }
        bool is_for_backward = false;
        for (const auto i : readers->second) {
            const auto& op = program_.ops[i];
            if (op.unit != unit) {
                return;  // the input of another unit, which is always kept
            }
            is_for_backward = is_for_backward || is_backward(op);
        }
        value_of_buffer[buffer] = static_cast<int>(made.values.size());
        made.ops[index(node)].writes.push_back(static_cast<int>(made.values.size()));
        made.values.push_back(
            {.name = held.name, .bytes = held.bytes, .made_by = node, .is_for_backward = is_for_backward});
    }

    const Program& program_;
    const schedule::ModelLayout& model_;
    const std::vector<double>& seconds_;
    double activation_rate_;  ///< bytes/s of gradients of activations
    std::map<int, std::set<std::size_t>> readers_;
};

bool are_equal(const LayerGraph& one, const LayerGraph& other) {
    const auto same_op = [](const LayerOp& a, const LayerOp& b) {
        return a.seconds == b.seconds && a.is_selective == b.is_selective && a.reads == b.reads &&
               a.writes == b.writes;
    };
    const auto same_value = [](const LayerValue& a, const LayerValue& b) {
        return a.bytes == b.bytes && a.made_by == b.made_by && a.is_for_backward == b.is_for_backward &&
               a.read_by == b.read_by && a.shared_by == b.shared_by;
    };
    return std::ranges::equal(one.ops, other.ops, same_op) &&
           std::ranges::equal(one.values, other.values, same_value);
}

}  // namespace

spec::RunSpec without_recomputation(spec::RunSpec spec) {
    spec.recompute = {};
    spec.tiers.activations = {};
    for (auto& state : spec.stages) {
        state.recompute = {};
        state.activations = {};
    }
    return spec;
}

RecomputeGraph recompute_graph(const spec::RunSpec& whole, int stage, const Rates& rates) {
    auto spec = without_recomputation(whole);
    RecomputeGraph graph{.in_flight = micro_batches_in_flight(whole, stage),
                         .micro_batches = whole.train.micro_batches};
    spec.train.micro_batches = std::min<std::int64_t>(spec.train.micro_batches, spec.parallel.stages);
    const int rank = layout::Mesh{spec.parallel}.neighbour(spec::Axis::pipeline, 0, stage);
    const schedule::ModelLayout model{spec, rank};
    const auto program = schedule::build_timed(spec, model);
    const auto seconds = op_seconds(program, spec, model, rates);
    const LayerReader reader{program, model, seconds, rates};
    for (const UnitId unit : model.units) {
        if (model.table.units[unit].kind != layout::UnitKind::layer || !model.runs_backward(unit)) {
            continue;
        }
        auto layer = reader.read(unit);
        const auto known = std::ranges::find_if(
            graph.kinds, [&](const LayerGraph& other) { return are_equal(layer, other); });
        if (known == graph.kinds.end()) {
            graph.kinds.push_back(std::move(layer));
        } else {
            ++known->layers;
        }
    }
    return graph;
}

RecomputeCost cost_of(const RecomputeGraph& graph, const RecomputeChoice& choice) {
    RecomputeCost cost;
    std::int64_t of_last_layer = 0;
    for (std::size_t k = 0; k < graph.kinds.size(); ++k) {
        const auto& kind = graph.kinds[k];
        const auto& redone = choice[k];
        for (std::size_t v = 0; v < kind.ops.size(); ++v) {
            cost.seconds += kind.ops[v].seconds * static_cast<double>(redone[v] * graph.micro_batches);
        }
        std::int64_t redone_by_last = 0;
        for (const auto& value : kind.values) {
            const auto made_again = redone[index(value.made_by)];
            std::int64_t needed = value.is_for_backward ? kind.layers : 0;
            for (const int reader : value.read_by) {
                needed = std::max(needed, redone[index(reader)]);
            }
            cost.bytes += graph.in_flight * value.bytes * std::max<std::int64_t>(0, needed - made_again);
            const bool is_shared = value.shared_by >= 0 && redone[index(value.shared_by)] == kind.layers;
            const bool takes_memory = value.is_for_backward && made_again == kind.layers && !is_shared;
            redone_by_last += takes_memory ? value.bytes : 0;
        }
        of_last_layer = std::max(of_last_layer, redone_by_last);
    }
    cost.bytes += of_last_layer;
    return cost;
}

RecomputeChoice keep_all(const RecomputeGraph& graph) {
    RecomputeChoice choice;
    for (const auto& kind : graph.kinds) {
        choice.emplace_back(kind.ops.size(), 0);
    }
    return choice;
}

RecomputeChoice choice_of_kind(const RecomputeGraph& graph, spec::RecomputeKind chosen) {
    auto choice = keep_all(graph);
    if (chosen == spec::RecomputeKind::none) {
        return choice;
    }
    for (std::size_t k = 0; k < graph.kinds.size(); ++k) {
        const auto& kind = graph.kinds[k];
        std::vector<bool> is_needed;
        for (const auto& value : kind.values) {
            is_needed.push_back(value.is_for_backward);
        }
        for (std::size_t v = kind.ops.size(); v-- > 0;) {
            const auto& op = kind.ops[v];
            const bool makes_needed =
                std::ranges::any_of(op.writes, [&](int value) { return is_needed[index(value)]; });
            if (makes_needed && (chosen == spec::RecomputeKind::full || op.is_selective)) {
                choice[k][v] = kind.layers;
                for (const int value : op.reads) {
                    is_needed[index(value)] = true;
                }
            }
        }
    }
    return choice;
}

}  // namespace ziggurat::plan
