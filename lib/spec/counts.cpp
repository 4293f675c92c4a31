#include "spec/counts.hpp"

#include <algorithm>

#include "spec/tensors.hpp"

namespace ziggurat::spec {
namespace {

/// Weights and biases of one decoder layer.
std::int64_t layer_parameters(const Model& model) {
    const std::int64_t hidden = model.hidden;
    const std::int64_t query = model.heads * model.head_dim;
    const std::int64_t key_value = model.kv_heads * model.head_dim;
    const std::int64_t attention = hidden * query + 2 * hidden * key_value + query * hidden;
    if (model.family == Family::llama) {
        const std::int64_t norms = 2 * hidden;
        return norms + attention + 3 * hidden * model.ffn_hidden;
    }
    const std::int64_t norms = 4 * hidden;
    const std::int64_t attention_biases = query + 2 * key_value + hidden;
    const std::int64_t mlp = 2 * hidden * model.ffn_hidden + model.ffn_hidden + hidden;
    return norms + attention + attention_biases + mlp;
}

}  // namespace

ParameterCount count_parameters(const Model& model) {
    const bool is_gpt2 = model.family == Family::gpt2;
    const std::int64_t table = model.vocab * model.hidden;
    ParameterCount count;
    count.embedding = table + (is_gpt2 ? model.max_seq * model.hidden : 0);
    count.layer = layer_parameters(model);
    count.layers = model.layers * count.layer;
    count.head = (is_gpt2 ? 2 : 1) * model.hidden + (model.tie_embeddings ? 0 : table);
    count.total = count.embedding + count.layers + count.head;
    return count;
}

const char* flops_formula(const RunSpec& run) {
    return count_trained(run) == count_parameters(run.model).total
               ? "6 (N - E) + 6 L C T"
               : "6 (N - E) + 6 L C T, less what frozen tensors save";
}

double flops_per_token(const RunSpec& run) {
    const auto& model = run.model;
    const int head = static_cast<int>(model.layers) + 1;
    const auto all = tensors(model);
    const auto first = std::find_if(all.begin(), all.end(),
                                    [&](const Tensor& tensor) { return is_trained(run.train, tensor.name); });
    const int first_trained = first == all.end() ? head + 1 : first->unit;
    std::int64_t products = 0;
    for (const auto& tensor : all) {
        const bool is_tied_table = model.tie_embeddings && &tensor == &all.front();
        const int unit = is_tied_table ? head : tensor.unit;
        if (unit > 0) {
            const int passes =
                1 + (unit >= first_trained ? 1 : 0) + (is_trained(run.train, tensor.name) ? 1 : 0);
            products += 2 * passes * tensor.elements;
        }
    }
    const auto backward_layers = std::clamp<std::int64_t>(model.layers + 1 - first_trained, 0, model.layers);
    const auto attention = (2 * model.layers + 4 * backward_layers) * model.heads * model.head_dim;
    return static_cast<double>(products) + static_cast<double>(attention) * static_cast<double>(run.data.seq);
}

StateBytes count_state_bytes(const RunSpec& run) {
    const std::int64_t parts = static_cast<std::int64_t>(run.parallel.tensor) * run.parallel.stages;
    const auto share = [&](std::int64_t numbers, std::int64_t bytes_each, int span) {
        return (numbers + parts - 1) / parts * bytes_each / span;
    };
    const std::int64_t all = count_parameters(run.model).total;
    const std::int64_t trained = count_trained(run);
    return {
        .parameters = share(all, element_bytes(run.precision.compute), run.sharding.parameters),
        .gradients = share(trained, element_bytes(run.precision.gradient), run.sharding.gradients),
        .optimizer = share(trained, element_bytes(run.precision.master) + 8, run.sharding.optimizer),
    };
}

std::array<std::int64_t, 3> budgets_of_rank(const RunSpec& run) {
    const auto part = [](std::int64_t budget, int ranks) { return budget == unlimited ? 0 : budget / ranks; };
    const int ranks = std::max(run.parallel.ranks_per_node, 1);
    const auto& tiers = run.tiers;
    return {part(tiers.device_budget_bytes, 1), part(tiers.host_budget_bytes, ranks),
            part(tiers.nvme_budget_bytes, ranks)};
}

}  // namespace ziggurat::spec
