#include <fmt/format.h>

#include "base/units.hpp"
#include "deck/resolve.hpp"

namespace ziggurat::deck {
namespace {

bool is_away(const spec::Tiers& tiers) {
    return tiers.parameters.device < 1 || tiers.gradients.device < 1 || tiers.optimizer.device < 1 ||
           tiers.activations.device < 1;
}

std::string because(const std::string& why) {
    return why.empty() ? "" : " (" + why + ")";
}

}  // namespace

std::string settle_depths(Resolution& resolution) {
    spec::RunSpec& run = resolution.run;
    const auto& options = resolution.options;
    const spec::OpenDepths open{resolution.is_auto("overlap.prefetch"), resolution.is_auto("tiers.chunk")};
    spec::Depths found{.prefetch = open.prefetch ? 1 : run.overlap.prefetch,
                       .chunk_elements = open.chunk ? spec::chunk_at_rest : run.tiers.chunk_elements,
                       .why_prefetch = open.prefetch ? "one segment ahead" : "",
                       .why_chunk = open.chunk ? "16 MiB of fp32" : ""};
    if (open.any() && options.choose_depths && is_away(run.tiers) && !run.tiers.open.any()) {
        found = options.choose_depths(run, resolution.machine, open);
    }
    if (open.prefetch) {
        run.overlap.prefetch = found.prefetch;
        resolution.settle_integer("overlap.prefetch", found.prefetch, found.why_prefetch);
    }
    if (open.chunk) {
        run.tiers.chunk_elements = found.chunk_elements;
        resolution.settle_integer("tiers.chunk", found.chunk_elements, found.why_chunk);
    }
    return is_away(run.tiers)
               ? fmt::format("prefetch {}{}; chunks of {} elements{}", run.overlap.prefetch,
                             because(found.why_prefetch), format_grouped(run.tiers.chunk_elements),
                             because(found.why_chunk))
               : "";
}

}  // namespace ziggurat::deck
