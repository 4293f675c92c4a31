/// Comparison of a run's length and learning rate with those of the checkpoint that it resumes from.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/catalogue/deck_changes.hpp"
#include "checkpoint/manifest.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::train {

struct ScheduleReport {
    std::vector<std::string> warnings;  ///< changes of the training
    std::vector<std::string> notes;
};

/// Reports the effect of changed deck keys for length, batch size and learning rate.
///
/// The messages contain the number of remaining steps. They contain the learning rate of the next step if it
/// differs from the rate without the change.
///
/// \param deck  differences between the deck of the checkpoint and the present deck
ScheduleReport check_schedule(const spec::RunSpec& spec,
                              const checkpoint::TrainingProgress& before,
                              const std::vector<checkpoint::DeckChange>& deck);

}  // namespace ziggurat::train
