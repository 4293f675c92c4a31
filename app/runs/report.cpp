#include <vector>

#include "app/commands.hpp"
#include "app/runs/plotted_runs.hpp"
#include "app/runs/run_differences.hpp"
#include "plot/page.hpp"

namespace ziggurat::app {

int report(const Arguments& arguments) {
    const auto histories = read_histories(arguments.paths);
    const auto differences =
        histories.size() > 1 ? differences_of(histories) : std::vector<plot::RunDifference>{};
    write_drawing(drawing_of(histories, arguments.out, "report.html"),
                  plot::page(histories, differences, figure_style(arguments, histories)), histories);
    return 0;
}

}  // namespace ziggurat::app
