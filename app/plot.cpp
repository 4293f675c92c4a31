#include <cstdio>
#include <vector>

#include "app/commands.hpp"
#include "app/drawn_runs.hpp"
#include "app/terminal.hpp"
#include "plot/svg.hpp"
#include "plot/terminal.hpp"

namespace ziggurat::app {
namespace {

int draw_in_terminal(const std::vector<plot::History>& histories) {
    const auto style = style_of_output();
    std::fputs(plot::terminal_text(plot::make_figure(histories, plot::points_across(style)), style).c_str(),
               stdout);
    return 0;
}

}  // namespace

int plot(const Arguments& arguments) {
    const auto histories = read_histories(arguments.paths);
    if (arguments.terminal) {
        return draw_in_terminal(histories);
    }
    write_drawing(drawing_of(histories, arguments.out, "plot.svg"),
                  plot::svg(plot::make_figure(histories, plot::points_across_svg)), histories);
    return 0;
}

}  // namespace ziggurat::app
