#include "layout/context/context_heads.hpp"

#include "layout/families/family.hpp"

namespace ziggurat::layout {

ContextHeads context_heads(const spec::Model& model, const spec::Parallel& parallel, bool has_keys) {
    return {.ranks = parallel.context,
            .heads = model.heads / parallel.tensor,
            .kv_heads = has_keys ? local_kv_heads(model, parallel.tensor) : 0,
            .head_dim = model.head_dim};
}

bool can_exchange_heads(const spec::Model& model, const spec::Parallel& parallel, int tensor) {
    auto cut = parallel;
    cut.tensor = tensor;
    const auto keys = model.kv_heads;
    const bool has_whole_heads =
        keys > 0 && model.heads % tensor == 0 && (keys % tensor == 0 || tensor % keys == 0);
    return !exchanges_heads(parallel) || (has_whole_heads && context_heads(model, cut, true).are_equal());
}

bool exchanges_heads(const spec::Parallel& parallel) {
    return parallel.context > 1 && parallel.context_kind == spec::ContextKind::ulysses;
}

}  // namespace ziggurat::layout
