/// Preview of the state that `train` would start from.
#pragma once

#include <string>

#include "train/resume/start_check.hpp"

namespace ziggurat::train {

struct StartPreview {
    std::string line;  ///< `after step 8 of 12, from ...`; empty: from scratch, with initial values
    StartReport report;
};

/// Checks the checkpoints and models that the run would start from, as resume() does before loading.
///
/// It checks names, sizes, headers, and the hashes that can be checked quickly.
///
/// Collective: local
/// Errors:     those of resume(), and of RunDirectory::start_from_scratch() without a backup
StartPreview preview_start(const StartRequest& intent);

}  // namespace ziggurat::train
