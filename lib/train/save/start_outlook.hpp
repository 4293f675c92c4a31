/// Preview of the state that `train` would start from.
#pragma once

#include <string>

#include "train/save/start_judge.hpp"

namespace ziggurat::train {

struct StartOutlook {
    std::string line;  ///< `after step 8 of 12, from ...`; empty: from scratch, with initial values
    StartNews news;
};

/// Checks the checkpoints and models that the run would start from, as resume() does before loading.
///
/// It checks names, sizes, headers, and the hashes that can be checked quickly.
///
/// Collective: local
/// Errors:     those of resume(), and of RunDirectory::begin_afresh() without a backup
StartOutlook look_ahead(const Intent& intent);

}  // namespace ziggurat::train
