#include "deck/resolve/resolve.hpp"

namespace ziggurat::deck {

void resolve_overlap(Resolution& resolution) {
    const Values& values = resolution.values;
    spec::Overlap& overlap = resolution.run.overlap;
    if (!resolution.is_auto("overlap.prefetch")) {  // auto: resolve_depths does it
        overlap.prefetch = static_cast<int>(values.integer("overlap.prefetch"));
    }
    if (!resolution.is_auto("overlap.optimizer_prefetch")) {
        overlap.optimizer_prefetch = static_cast<int>(values.integer("overlap.optimizer_prefetch"));
    }
    if (resolution.is_auto("overlap.bucket")) {
        resolution.set_resolved_integer("overlap.bucket", 0, "each unit separately");
    }
    overlap.bucket_elements = values.integer("overlap.bucket");
    overlap.optimizer_with_backward = values.boolean("overlap.optimizer_with_backward");
    overlap.tensor_pieces = values.is_keyword("overlap.tensor", "ring");
    overlap.delayed_update = values.boolean("overlap.delayed_update.enabled");
    overlap.delayed_update_after = resolution.steps_of("overlap.delayed_update.after");
}

}  // namespace ziggurat::deck
