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
    const spec::OpenDepths open{.prefetch = resolution.is_auto("overlap.prefetch"),
                                .optimizer_prefetch = resolution.is_auto("overlap.optimizer_prefetch"),
                                .chunk = resolution.is_auto("tiers.chunk")};
    spec::Depths found{.prefetch = open.prefetch ? 1 : run.overlap.prefetch,
                       .optimizer_prefetch = open.optimizer_prefetch ? 0 : run.overlap.optimizer_prefetch,
                       .chunk_elements = open.chunk ? spec::chunk_at_rest : run.tiers.chunk_elements,
                       .why_prefetch = open.prefetch ? "one segment ahead" : "",
                       .why_optimizer_prefetch = open.optimizer_prefetch ? "no optimizer states on NVMe" : "",
                       .why_chunk = open.chunk ? "16 MiB of fp32" : ""};
    if (open.any() && options.choose_depths && is_away(run.tiers) && !run.tiers.open.any()) {
        found = options.choose_depths(run, resolution.machine, open);
    }
    if (open.prefetch) {
        run.overlap.prefetch = found.prefetch;
        resolution.settle_integer("overlap.prefetch", found.prefetch, found.why_prefetch);
    }
    if (open.optimizer_prefetch) {
        run.overlap.optimizer_prefetch = found.optimizer_prefetch;
        resolution.settle_integer("overlap.optimizer_prefetch", found.optimizer_prefetch,
                                  found.why_optimizer_prefetch);
    }
    if (open.chunk) {
        run.tiers.chunk_elements = found.chunk_elements;
        resolution.settle_integer("tiers.chunk", found.chunk_elements, found.why_chunk);
    }
    if (!is_away(run.tiers)) {
        return "";
    }
    auto text = fmt::format("prefetch {}{}", run.overlap.prefetch, because(found.why_prefetch));
    if (run.tiers.optimizer.nvme > 0) {
        text += fmt::format("; optimizer states {}{}", run.overlap.optimizer_prefetch,
                            because(found.why_optimizer_prefetch));
    }
    return text + fmt::format("; chunks of {} elements{}", format_grouped(run.tiers.chunk_elements),
                              because(found.why_chunk));
}

}  // namespace ziggurat::deck
