#include "layout/families/adapters.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/contract.hpp"
#include "base/round_up.hpp"
#include "spec/tensor_pattern.hpp"

namespace ziggurat::layout {
namespace {

constexpr std::string_view weight_suffix = ".weight";
constexpr std::string_view a_suffix = ".lora_a";
constexpr std::string_view b_suffix = ".lora_b";

std::string with_suffix(std::string_view weight, std::string_view suffix) {
    ZG_EXPECTS(weight.ends_with(weight_suffix));
    return std::string{weight.substr(0, weight.size() - weight_suffix.size())}.append(suffix);
}

/// Returns the adapter matrix A [rank, in] of `weight`. One product computes all A of a phase.
Parameter lora_a(const Parameter& weight, std::int64_t rank, int tensor) {
    Parameter made;
    made.name = lora_a_of(weight.name);
    made.role = Role::lora_a;
    made.extents = {rank, weight.extents[1]};
    made.tensor_dim = weight.tensor_dim == 1 ? 1 : -1;
    made.std = 1 / std::sqrt(3 * static_cast<double>(weight.extents[1]));
    made.gradient_is_partial = tensor > 1 && made.tensor_dim < 0;
    return made;
}

/// Returns the adapter matrix B [out, rank] of `weight`.
Parameter lora_b(const Parameter& weight, std::int64_t rank, int tensor) {
    Parameter made;
    made.name = lora_b_of(weight.name);
    made.role = Role::lora_b;
    made.extents = {weight.extents[0], rank};
    made.tensor_dim = weight.tensor_dim == 0 ? 0 : -1;
    made.max_slices = made.tensor_dim == 0 ? weight.max_slices : 0;
    made.initial = Initial::zero;
    made.gradient_is_partial = tensor > 1 && ranks_per_slice(made, tensor) > 1;
    return made;
}

constexpr std::int64_t cache_line_bytes = 64;

}  // namespace

std::string lora_a_of(std::string_view weight) {
    return with_suffix(weight, a_suffix);
}

std::string lora_b_of(std::string_view weight) {
    return with_suffix(weight, b_suffix);
}

bool is_of_adapter(std::string_view tensor) {
    return tensor.ends_with(a_suffix) || tensor.ends_with(b_suffix);
}

std::vector<std::string> patterns_of_adapters() {
    return {std::string{"*"}.append(a_suffix), std::string{"*"}.append(b_suffix)};
}

std::string_view target_name(std::string_view weight) {
    constexpr std::string_view of_layer = "layers.";
    if (!weight.starts_with(of_layer) || !weight.ends_with(weight_suffix)) {
        return {};
    }
    weight.remove_suffix(weight_suffix.size());
    const auto dot = weight.find('.', of_layer.size());
    return dot == std::string_view::npos ? std::string_view{} : weight.substr(dot + 1);
}

bool has_adapter(const spec::Model& model, std::string_view weight) {
    const auto name = target_name(weight);
    return model.lora.is_on() && !name.empty() && spec::matches_any(model.lora.targets, name);
}

void add_adapters(const spec::Model& model, const TensorSplit& split, Unit& unit, Phase& phase) {
    std::vector<Parameter> targets;
    std::int64_t column = 0;
    for (const auto& use : phase.parameters) {
        const auto& parameter = unit.parameters[use.parameter];
        if (parameter.role != Role::weight) {
            continue;
        }
        const auto columns = split.is_grid() ? parameter.extents.front() / split.ranks
                                             : local_extents(parameter, split.ranks).front();
        if (has_adapter(model, parameter.name)) {
            targets.push_back(parameter);
            phase.adapters.push_back({column, columns});
            phase.adapter_flops_per_token +=
                2.0 * static_cast<double>(model.lora.rank) * static_cast<double>(phase.in + columns);
        }
        column += columns;
    }
    for (const auto make : {lora_a, lora_b}) {
        for (std::size_t k = 0; k < targets.size(); ++k) {
            auto made = make(targets[k], model.lora.rank, split.ranks);
            made.joined_to_previous = k > 0;
            phase.parameters.push_back({static_cast<int>(unit.parameters.size())});
            unit.parameters.push_back(std::move(made));
        }
    }
}

AdapterWorkspace::AdapterWorkspace(const Phase& phase,
                                   std::int64_t lora_rank,
                                   std::int64_t rows,
                                   std::int64_t element_bytes)
    : inner_{std::ssize(phase.adapters) * lora_rank} {
    ZG_EXPECTS(!phase.adapters.empty());
    auto wide = phase.in;
    for (const auto& adapter : phase.adapters) {
        wide = std::max(wide, adapter.columns);
    }
    one_begin_ = round_up(rows * inner_ * element_bytes, cache_line_bytes);
    wide_begin_ = one_begin_ + round_up(rows * lora_rank * element_bytes, cache_line_bytes);
    products_begin_ = wide_begin_ + round_up(rows * wide * element_bytes, cache_line_bytes);
}

}  // namespace ziggurat::layout
