#include "deck/resolve/resolve.hpp"

namespace ziggurat::deck {
namespace {

spec::DType type_of(const std::string& word) {
    return word == "bf16" ? spec::DType::bf16 : spec::DType::f32;
}

}  // namespace

void resolve_precision(Resolution& resolution) {
    const Values& values = resolution.values;
    resolution.run.precision = {.compute = type_of(values.word("precision.compute")),
                                .master = type_of(values.word("precision.master")),
                                .gradient = type_of(values.word("precision.gradient")),
                                .reduce = type_of(values.word("precision.reduce"))};
}

}  // namespace ziggurat::deck
