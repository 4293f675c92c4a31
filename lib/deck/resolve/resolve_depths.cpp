#include <fmt/format.h>

#include <algorithm>

#include "base/text/units.hpp"
#include "deck/resolve/resolve.hpp"

namespace ziggurat::deck {
namespace {

std::string because(const std::string& reason) {
    return reason.empty() ? "" : " (" + reason + ")";
}

}  // namespace

std::string resolve_depths(Resolution& resolution) {
    spec::RunSpec& run = resolution.run;
    const auto& options = resolution.options;
    const spec::AutoDepths open{.prefetch = resolution.is_auto("overlap.prefetch"),
                                .optimizer_prefetch = resolution.is_auto("overlap.optimizer_prefetch"),
                                .chunk = resolution.is_auto("tiers.chunk")};
    auto found = spec::depths_at_rest(run, open);
    if (open.any() && options.choose_depths && spec::is_any_state_away(run) && !spec::has_auto_home(run)) {
        found = options.choose_depths(run, resolution.machine, open);
    }
    if (open.prefetch) {
        run.overlap.prefetch = found.prefetch;
        resolution.set_resolved_integer("overlap.prefetch", found.prefetch, found.prefetch_reason);
    }
    if (open.optimizer_prefetch) {
        found.optimizer_prefetch = spec::are_optimizer_states_on_nvme(run) ? found.optimizer_prefetch : 0;
        run.overlap.optimizer_prefetch = found.optimizer_prefetch;
        resolution.set_resolved_integer("overlap.optimizer_prefetch", found.optimizer_prefetch,
                                        found.optimizer_prefetch_reason);
    }
    if (open.chunk) {
        run.tiers.chunk_elements = found.chunk_elements;
        resolution.set_resolved_integer("tiers.chunk", found.chunk_elements, found.chunk_reason);
    }
    if (!spec::is_any_state_away(run)) {
        return "";
    }
    auto text = fmt::format("prefetch {}{}", run.overlap.prefetch, because(found.prefetch_reason));
    if (spec::are_optimizer_states_on_nvme(run)) {
        const bool is_raised = run.overlap.optimizer_prefetch < 2 * run.overlap.prefetch;
        text += fmt::format("; optimizer states {}{}",
                            std::max(run.overlap.optimizer_prefetch, 2 * run.overlap.prefetch),
                            because(is_raised ? "twice that" : found.optimizer_prefetch_reason));
    }
    return text + fmt::format("; chunks of {} elements{}", format_grouped(run.tiers.chunk_elements),
                              because(found.chunk_reason));
}

}  // namespace ziggurat::deck
