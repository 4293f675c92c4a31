#include "deck/resolve/resolve.hpp"

namespace ziggurat::deck {
namespace {

spec::DType type_of(const std::string& keyword) {
    return keyword == "bf16" ? spec::DType::bf16 : spec::DType::f32;
}

}  // namespace

void resolve_precision(Resolution& resolution) {
    const Values& values = resolution.values;
    resolution.run.precision = {
        .compute = type_of(values.keyword("precision.compute")),
        .master = type_of(values.keyword("precision.master")),
        .gradient = type_of(values.keyword("precision.gradient")),
        .reduce = type_of(values.keyword("precision.reduce")),
        .products = values.is_keyword("precision.products", "measured") ? spec::ProductChoice::measured
                    : values.is_keyword("precision.products", "fused")  ? spec::ProductChoice::fused
                                                                        : spec::ProductChoice::first,
        .attention_backward = values.is_keyword("precision.attention_backward", "fast")
                                  ? spec::AttentionBackward::fast
                                  : spec::AttentionBackward::deterministic};
}

}  // namespace ziggurat::deck
