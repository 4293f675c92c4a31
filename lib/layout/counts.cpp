#include "layout/counts.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "layout/families/attention_window.hpp"
#include "layout/tensors.hpp"
#include "spec/tensor_pattern.hpp"

namespace ziggurat::layout {
namespace {

std::int64_t elements_of(const Unit& unit) {
    std::int64_t elements = 0;
    for (const auto& parameter : unit.parameters) {
        elements += unpadded_elements(parameter);
    }
    return elements;
}

/// Returns the forward flops of one layer per token and key that it attends to.
double flops_per_token_and_key(const spec::Model& model) {
    double flops = 0;
    for (const auto& phase : layer_unit(model, 0, {}).phases) {
        flops += phase.flops_per_token_and_key;
    }
    return flops;
}

/// Returns the mean number of keys of a query in a layer.
///
/// Without a window it is half of the sequence: the usual count of the causal half, without the diagonal.
double keys_in_layer(const spec::RunSpec& run, std::int64_t layer) {
    const auto window = window_in_run(run, layer);
    return window > 0 ? mean_keys(run.data.seq, window) : static_cast<double>(run.data.seq) / 2;
}

}  // namespace

ParameterCount count_parameters(const spec::Model& model) {
    ParameterCount count;
    count.embedding = elements_of(embedding_unit(model, {}));
    count.layer = elements_of(layer_unit(model, 0, {}));
    count.layers = model.layers * count.layer;
    count.head = elements_of(head_unit(model, {}));
    count.total = count.embedding + count.layers + count.head;
    return count;
}

std::int64_t count_trained(const spec::RunSpec& run) {
    if (run.train.only.empty()) {
        return count_parameters(run.model).total;
    }
    std::int64_t count = 0;
    for (const auto& tensor : tensors(run.model)) {
        count += spec::is_trained(run.train, tensor.name) ? tensor.elements : 0;
    }
    return count;
}

const char* flops_formula(const spec::RunSpec& run) {
    const bool has_all = count_trained(run) == count_parameters(run.model).total;
    if (num_windowed_layers(run) > 0) {
        return has_all ? "6 (N - E) + 12 C K" : "6 (N - E) + 12 C K, reduced by frozen tensors";
    }
    return has_all ? "6 (N - E) + 6 L C T" : "6 (N - E) + 6 L C T, reduced by frozen tensors";
}

std::vector<double> flops_per_token_by_unit(const spec::RunSpec& run) {
    const auto& model = run.model;
    const UnitId head = static_cast<int>(model.layers) + 1;
    const auto all = tensors(model);
    const auto first = std::find_if(all.begin(), all.end(), [&](const Tensor& tensor) {
        return spec::is_trained(run.train, tensor.name);
    });
    const UnitId first_trained = first == all.end() ? UnitId{head + 1} : first->unit;
    std::vector<double> flops(head + 1);
    for (const auto& tensor : all) {
        const bool is_tied_table = model.tie_embeddings && &tensor == &all.front();
        const UnitId unit = is_tied_table ? head : tensor.unit;
        if (unit > 0) {
            const int passes =
                1 + (unit >= first_trained ? 1 : 0) + (spec::is_trained(run.train, tensor.name) ? 1 : 0);
            flops[unit] += static_cast<double>(2 * passes * tensor.elements);
        }
    }
    // Backward needs twice forward's flops.
    const double per_key = flops_per_token_and_key(model);
    for (int layer = 1; layer < head; ++layer) {
        flops[layer] += per_key * keys_in_layer(run, layer - 1) * (layer >= first_trained ? 3 : 1);
    }
    return flops;
}

double flops_per_token(const spec::RunSpec& run) {
    const auto flops = flops_per_token_by_unit(run);
    return std::accumulate(flops.begin(), flops.end(), 0.0);
}

StateBytes count_state_bytes(const spec::RunSpec& run) {
    const std::int64_t parts = static_cast<std::int64_t>(run.parallel.tensor_ranks()) * run.parallel.stages;
    const std::int64_t trained = count_trained(run);
    const std::int64_t frozen = count_parameters(run.model).total - trained;
    const Spans spans{run.sharding.parameters, run.sharding.gradients, run.sharding.optimizer,
                      run.parallel.data};
    StateBytes bytes;
    for (const auto kind : state_kinds) {
        if (!is_kept(kind, run)) {
            continue;
        }
        const auto numbers = is_of_frozen(kind) ? frozen : trained;
        bytes.of(row_of(kind).group) += (numbers + parts - 1) / parts *
                                        spec::element_bytes(type_of(kind, run.precision)) /
                                        shard_degree(kind, spans);
    }
    if (run.tiers.reuse) {
        bytes.gradients = 0;  // they take the memory of the parameters
    }
    return bytes;
}

}  // namespace ziggurat::layout
