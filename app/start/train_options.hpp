/// Command that trains: train.
#pragma once

#include "app/command_line/command_row.hpp"
#include "app/deck/deck_options.hpp"

namespace ziggurat::app {

struct TrainOptions : Options, JobDeck {
    bool backup = false;  ///< rename old checkpoints and start from scratch
};

CommandRowOf<TrainOptions> train_row();

/// Trains. Collective: over all ranks that the launcher started; one rank without a launcher
int train(const TrainOptions& options);

}  // namespace ziggurat::app
