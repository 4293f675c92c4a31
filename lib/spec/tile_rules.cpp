#include "spec/tile_rules.hpp"

#include "spec/tensor_pattern.hpp"

namespace ziggurat::spec {

namespace {

constexpr std::string_view weight = ".weight";

}  // namespace

bool names_tensor(std::string_view pattern, std::string_view tensor) {
    if (matches(pattern, tensor)) {
        return true;
    }
    constexpr std::string_view of_layer = "layers.";
    if (tensor.starts_with(of_layer)) {
        tensor.remove_prefix(tensor.find('.', of_layer.size()) + 1);
    }
    if (tensor.ends_with(weight)) {
        tensor.remove_suffix(weight.size());
    }
    return matches(pattern, tensor);
}

bool is_table_whole(const RunSpec& run) {
    return run.model.tie_embeddings && run.parallel.stages > 1;
}

std::string everything_to_cut(const RunSpec& run) {
    return is_table_whole(run) ? "layers.*" : "*";
}

bool can_be_cut(std::string_view tensor) {
    return tensor == "embedding.token" || tensor.ends_with(weight);
}

}  // namespace ziggurat::spec
