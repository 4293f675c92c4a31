#include <cstdio>
#include <string>
#include <vector>

#include "app/output/output_style.hpp"
#include "app/output/svg_to_png.hpp"
#include "app/runs/plot_options.hpp"
#include "app/runs/plotted_runs.hpp"
#include "app/runs/run_differences.hpp"
#include "plot/comparison.hpp"
#include "plot/csv.hpp"
#include "plot/svg/svg.hpp"
#include "plot/terminal.hpp"
#include "plot/x_axis.hpp"

namespace ziggurat::app {
namespace {

void print(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
}

void print_drawing(const std::vector<plot::History>& histories, plot::FigureStyle style) {
    const auto terminal = style_of_output();
    style.max_points = plot::points_across(terminal);
    print(plot::terminal_text(plot::make_figure(histories, style), terminal));
}

/// Prints the table at the width of the terminal; without a terminal, all runs in one row of columns.
void print_table(const std::vector<plot::History>& histories) {
    print(plot::comparison_text(histories, differences_of(histories), screen_of_output().columns()));
}

void submit_numbers(const std::vector<plot::History>& histories,
                    const plot::XRange& range,
                    const std::string& file) {
    std::vector<plot::History> parts;
    for (const auto& history : histories) {
        parts.push_back(plot::part_of(history, range));
    }
    const auto numbers = plot::csv(parts);
    if (file == "-") {
        print(numbers);
    } else {
        write_drawing(file, numbers, histories, "Name a file that can be written: --csv FILE.");
    }
}

}  // namespace

int plot(const PlotOptions& options) {
    const auto histories = read_histories(options.paths);
    auto style = figure_style(options, histories);
    style.max_points = plot::points_across_svg;
    const auto drawing = [&](plot::ColorScheme scheme) {
        return plot::svg(plot::make_figure(histories, style), scheme);
    };
    if (options.terminal) {
        print_drawing(histories, style);
    } else if (options.table) {
        print_table(histories);
    } else if (!options.csv.empty()) {
        submit_numbers(histories, style.x, options.csv);
    } else if (!options.png.empty()) {
        write_drawing(options.png, svg_to_png(drawing(plot::ColorScheme::light), options.png), histories,
                      remedy_of_png);
    } else {
        write_drawing(drawing_of(histories, options.out, "plot.svg"),
                      drawing(plot::ColorScheme::as_the_viewer_asks), histories);
    }
    return 0;
}

}  // namespace ziggurat::app
