/// Outlook on what `train` would begin with here and now.
#pragma once

#include <string>

#include "train/save/start_judge.hpp"

namespace ziggurat::train {

struct StartOutlook {
    std::string line;  ///< `after step 8 of 12, from ...`; empty: afresh, with initial values
    StartNews news;
};

/// Looks at the checkpoints and models that the run would begin with, as resume() does before it loads them:
/// names, sizes, headers and the hashes that are quickly checked.
///
/// Collective: local
/// Errors:     those of resume(), and of RunDirectory::begin_afresh() without a backup
StartOutlook look_ahead(const Intent& intent);

}  // namespace ziggurat::train
