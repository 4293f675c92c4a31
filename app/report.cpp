#include "app/commands.hpp"
#include "app/drawn_runs.hpp"
#include "plot/page.hpp"

namespace ziggurat::app {

int report(const Arguments& arguments) {
    const auto histories = read_histories(arguments.paths);
    write_drawing(drawing_of(histories, arguments.out, "report.html"), plot::page(histories), histories);
    return 0;
}

}  // namespace ziggurat::app
