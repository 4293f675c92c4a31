#include "deck/resolve/resolve.hpp"

namespace ziggurat::deck {

void resolve_auto_tensor_overlap(Resolution& resolution) {
    if (!resolution.is_auto("overlap.tensor")) {
        return;
    }
    const auto& run = resolution.run;
    const auto& choose = resolution.options.choose_tensor_overlap;
    spec::TensorOverlapChoice chosen;
    if (run.parallel.tensor == 1) {
        chosen.reason = "there is one tensor rank";
    } else if (run.parallel.has_grid() && !run.parallel.has_cube()) {
        chosen.reason = "products of a grid of tensor ranks are in blocks";
    } else if (run.tiers.sequence_tiles > 1) {
        chosen.reason = "tiers.sequence_tiles divides the same products by rows";
    } else if (spec::has_auto_home(run)) {
        chosen.reason = "homes are not chosen";
    } else if (choose) {
        chosen = choose(run, resolution.machine);
    }
    resolution.run.overlap.tensor_pieces = chosen.in_pieces;
    resolution.values.set_resolved_keyword("overlap.tensor", chosen.in_pieces ? "ring" : "off",
                                           chosen.reason);
}

}  // namespace ziggurat::deck
