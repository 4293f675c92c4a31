#include "deck/resolve/resolve.hpp"

namespace ziggurat::deck {

void resolve_recompute(Resolution& resolution) {
    const Values& values = resolution.values;
    const std::string kind = values.word("recompute.kind");
    resolution.run.recompute.kind = kind == "selective" ? spec::RecomputeKind::selective
                                    : kind == "full"    ? spec::RecomputeKind::full
                                                        : spec::RecomputeKind::none;
    resolution.run.recompute.every = static_cast<int>(values.integer("recompute.every"));
}

}  // namespace ziggurat::deck
