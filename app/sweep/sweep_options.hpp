/// Command that trains a deck with several values: sweep.
#pragma once

#include <optional>
#include <string>

#include "app/command_line/command_row.hpp"
#include "app/deck/deck_options.hpp"

namespace ziggurat::app {

struct SweepOptions : Options, JobDeck {
    std::optional<int> ranks;  ///< of each run; empty: as check assumes
    std::string launch;        ///< command that starts the ranks; empty: mpirun, if there are several
    std::string folder;        ///< folder of the runs; empty: run.dir of the deck with the suffix `-sweep`
    bool table = false;        ///< print the table of the runs so far, and start none
};

CommandRowOf<SweepOptions> sweep_row();

/// Trains a deck once for each combination of values, one run after the other. Never starts MPI itself.
int sweep(const SweepOptions& options);

}  // namespace ziggurat::app
