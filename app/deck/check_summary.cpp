#include <fmt/format.h>

#include "app/deck/check.hpp"
#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "deck/values/quantities.hpp"
#include "layout/context/inner_ring.hpp"
#include "layout/counts.hpp"
#include "layout/node_groups.hpp"
#include "plan/checkpoint_size.hpp"
#include "spec/fates.hpp"
#include "spec/home_text.hpp"
#include "spec/objective_text.hpp"

namespace ziggurat::app {
namespace {

std::string model_line(const spec::RunSpec& run) {
    const spec::Model& model = run.model;
    return fmt::format(
        "model     {}, {} layers, hidden {}, heads {} ({} channels{}), mlp {}, vocab {}{}\n", model.family,
        model.layers, model.hidden, model.heads, model.head_dim,
        model.kv_heads == model.heads ? "" : fmt::format(", {} of keys and values", model.kv_heads),
        model.ffn_hidden, model.vocab, model.tie_embeddings ? ", embeddings tied" : "");
}

std::string size_line(const spec::RunSpec& run) {
    const double flops = layout::flops_per_token(run);
    const layout::StateBytes state = layout::count_state_bytes(run);
    const auto all = layout::count_parameters(run.model).total;
    const auto trained = layout::count_trained(run);
    return fmt::format("size      {} parameters{}, {}FLOP/token ({}), model state {} per rank\n",
                       format_grouped(all),
                       trained == all ? "" : fmt::format(" ({} of them trained)", format_grouped(trained)),
                       format_count(flops), layout::flops_formula(run), format_bytes(state.total()));
}

/// Returns the preference objective; empty without one.
std::string objective_line(const spec::RunSpec& run) {
    const auto text = spec::objective_text(run.train.objective);
    return text.empty() ? "" : fmt::format("objective {}\n", printable(text));
}

std::string batch_line(const spec::RunSpec& run, const Epochs& epochs) {
    const spec::Train& train = run.train;
    const double tokens = static_cast<double>(train.steps) * static_cast<double>(train.global_batch) *
                          static_cast<double>(run.data.seq);
    return fmt::format(
        "batch     global {} = micro {} x accumulation {}{} x {}; {} tokens a step, {} tokens in {} "
        "steps{}\n",
        train.global_batch, train.micro_batch, train.micro_batches, train.is_by_layer() ? " by layer" : "",
        layout::describe_sequence_groups(run.parallel), format_grouped(train.global_batch * run.data.seq),
        format_count(tokens), format_grouped(train.steps), epochs_text(epochs));
}

std::string layout_line(const spec::RunSpec& run) {
    const spec::Parallel& parallel = run.parallel;
    const std::string pretended =
        run.debug.nodes > 0 ? fmt::format(", in all {} emulated nodes", run.debug.nodes) : "";
    const std::string again =
        run.sharding.secondary > 0 ? fmt::format(", second copy {}", run.sharding.secondary) : "";
    return fmt::format(
        "layout    ranks {} = tensor {} x context {} x data {} x stages {}{}; {} a node{}, {} threads each; "
        "sharded over ranks: parameters {}, gradients {}, optimizer {}{}\n",
        parallel.ranks, parallel.tensor_degree(), parallel.context, parallel.data_degree(), parallel.stages,
        layout::describe_axes(parallel), parallel.ranks_per_node, pretended, parallel.threads,
        run.sharding.parameters, run.sharding.gradients, run.sharding.optimizer, again);
}

/// Returns the placement of the axes on nodes; empty if all ranks are on one node.
std::string nodes_line(const spec::RunSpec& run) {
    const auto node_of =
        layout::nodes_in_a_row(run.parallel.ranks, run.parallel.ranks_per_node, run.debug.nodes);
    const auto text = layout::describe_nodes(run.parallel, node_of);
    return text.empty() ? "" : "nodes     " + text + layout::describe_rings(run) + "\n";
}

/// Returns the homes of all kinds of state; empty if all state is on the device.
std::string homes_line(const spec::RunSpec& run) {
    const spec::Tiers& tiers = run.tiers;
    const bool is_away = tiers.parameters.device < 1 || tiers.gradients.device < 1 ||
                         tiers.optimizer.device < 1 || tiers.activations.device < 1;
    return !is_away ? ""
                    : fmt::format("homes     parameters {}, gradients {}, optimizer {}, activations {}\n",
                                  spec::write_home(tiers.parameters), spec::write_home(tiers.gradients),
                                  spec::write_home(tiers.optimizer), spec::write_home(tiers.activations));
}

/// Returns the fates of activations; empty if no rule gives them one.
std::string fates_line(const spec::RunSpec& run) {
    const auto& fates = run.recompute.fates;
    return fates.empty() ? "" : fmt::format("fates     {}\n", spec::write_fates(fates));
}

std::string save_line(const spec::RunSpec& run) {
    if (!run.checkpoint.every) {
        return "saves     nothing\n";
    }
    const auto size = plan::checkpoint_size(run);
    return fmt::format("saves     {} every {} and at the end; keeps {} ({})\n", format_bytes(size.bytes),
                       deck::write_interval(*run.checkpoint.every), size.kept, format_bytes(size.bytes_kept));
}

}  // namespace

std::string summary(const spec::RunSpec& run, const Epochs& epochs) {
    return model_line(run) + size_line(run) + objective_line(run) + batch_line(run, epochs) +
           layout_line(run) + nodes_line(run) + homes_line(run) + fates_line(run) + save_line(run);
}

}  // namespace ziggurat::app
