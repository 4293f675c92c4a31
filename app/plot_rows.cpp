/// The command that draws what runs have told: plot.
#include "app/option_rows.hpp"

namespace ziggurat::app {

CommandRow plot_row() {
    return {.command = Command::plot,
            .name = "plot",
            .doc = "Draws loss, speed and waits of runs, as an SVG file or in the terminal. Starts nothing.",
            .positionals = {{"RUN...",
                             "the folder of a run, or its metrics.jsonl; several are drawn beside each other",
                             [](Arguments& arguments, const std::string& word) {
                                 arguments.paths.push_back(word);
                             }}},
            .options = {{"--out", "FILE.svg", "a file whose name ends in .svg",
                         "what is written (default: plot.svg beside the metrics of the first run)",
                         [](Arguments& arguments, const std::string& text) {
                             arguments.out = text;
                             return text.size() > 4 && text.ends_with(".svg");
                         }},
                        flag("--terminal", &Arguments::terminal,
                             "draw with characters instead, as wide as the terminal")},
            .examples = {{"ziggurat plot runs/quickstart", "into runs/quickstart/plot.svg"},
                         {"ziggurat plot runs/quickstart --terminal", "here, also while it trains"},
                         {"ziggurat plot runs/a runs/b --out both.svg", "two runs in one picture"}},
            .problem = [](const Arguments& arguments, const Given&) -> std::string {
                if (arguments.paths.empty()) {
                    return "no run is given. Name its folder, for instance runs/quickstart.";
                }
                return arguments.terminal && !arguments.out.empty()
                           ? "--terminal and --out are two places to draw in. Name one of them."
                           : "";
            }};
}

}  // namespace ziggurat::app
