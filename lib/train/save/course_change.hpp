/// Comparison of a run's length and learning rate with those of the checkpoint that it goes on from.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/deck_changes.hpp"
#include "checkpoint/manifest.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::train {

struct CourseNews {
    std::vector<std::string> warnings;  ///< the training is another one
    std::vector<std::string> notes;
};

/// What changed keys of length, batch and learning rate mean: steps that are left, and the learning rate at
/// the seam where it is another than it would have been.
///
/// \param deck  differences between the deck of the checkpoint and the present one
CourseNews judge_course(const spec::RunSpec& spec,
                        const checkpoint::TrainingProgress& before,
                        const std::vector<checkpoint::DeckChange>& deck);

}  // namespace ziggurat::train
