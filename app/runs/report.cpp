#include <vector>

#include "app/runs/plot_options.hpp"
#include "app/runs/plotted_runs.hpp"
#include "app/runs/run_differences.hpp"
#include "plot/page.hpp"

namespace ziggurat::app {

int report(const ReportOptions& options) {
    const auto histories = read_histories(options.paths);
    const auto differences =
        histories.size() > 1 ? differences_of(histories) : std::vector<plot::RunDifference>{};
    write_drawing(drawing_of(histories, options.out, "report.html"),
                  plot::page(histories, differences, figure_style(options, histories)), histories);
    return 0;
}

}  // namespace ziggurat::app
