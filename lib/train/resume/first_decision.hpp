/// Decisions about the start of a run that rank 0 makes for all ranks, since it reads the folders.
#pragma once

#include <functional>
#include <string>

#include "comm/context.hpp"

namespace ziggurat::train {

/// Decision of rank 0, as broadcast to all ranks.
struct Decision {
    std::string path = {};  ///< empty: start from scratch
    bool is_own = true;
    std::string manifest = {};  ///< the text of COMPLETE, with the order of the samples that follow
    std::string deck = {};      ///< the effective deck, with the inputs that the run began with
};

/// Calls `decide` on rank 0 and broadcasts its result, or its error, to all ranks.
///
/// Collective: over `world`
/// Errors:     those of `decide`, and Stopped, on all ranks
Decision decide_on_first(const comm::Context& world, const std::function<Decision()>& decide);

}  // namespace ziggurat::train
