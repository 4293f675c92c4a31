/// Table row of the command sweep.
#include <string>

#include "app/command_line/option_rows.hpp"
#include "app/deck/job_size.hpp"
#include "app/sweep/sweep_options.hpp"

namespace ziggurat::app {

CommandRowOf<SweepOptions> sweep_row() {
    return {.name = "sweep",
            .doc = "Trains a deck once for each combination of values, and compares the runs.",
            .positionals = {{"DECK", "path of a deck, or the folder of a sweep, which then continues",
                             [](SweepOptions& options, const std::string& value) { options.deck = value; }},
                            {"KEY=VALUE,VALUE...",
                             "values to combine; a value without a comma is the same in all runs",
                             [](SweepOptions& options, const std::string& value) {
                                 options.overrides.push_back(value);
                             }}},
            .options = {whole("--ranks", "N", &SweepOptions::ranks, 1, max_ranks,
                              "ranks of each run (default: what the deck's degrees require)"),
                        text_option("--launch", "COMMAND", &SweepOptions::launch, "a command",
                                    "command before the program (default: mpirun -n N, if N is above 1)"),
                        text_option("--folder", "FOLDER", &SweepOptions::folder, "a path",
                                    "folder of the runs (default: run.dir of the deck, and -sweep)"),
                        flag("--table", &SweepOptions::table,
                             "print the table of the runs so far, and start none")},
            .examples =
                {{"ziggurat sweep decks/quickstart.yaml optimizer.lr=1e-4,3e-4,1e-3 run.seed=1,2 --ranks 2",
                  "six runs, a table, and a picture of their losses"},
                 {"ziggurat sweep runs/quickstart-sweep", "continues it, for instance after Ctrl-C"},
                 {"ziggurat sweep runs/quickstart-sweep --table", "which run is best so far?"}},
            .problem = [](const SweepOptions& options, const GivenOptions&) {
                return options.deck.empty()
                           ? std::string{"no deck is given. Name one, for instance decks/quickstart.yaml."}
                           : std::string{};
            }};
}

}  // namespace ziggurat::app
