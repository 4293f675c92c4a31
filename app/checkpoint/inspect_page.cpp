#include "app/checkpoint/inspect_page.hpp"

#include "app/deck/deck_options.hpp"
#include "plot/history_reader.hpp"

namespace ziggurat::app {

int inspect_page(const InspectOptions& options) {
    const auto history = plot::read_history(options.folder);
    PlanOptions planned;
    planned.deck = options.folder;
    planned.time = true;
    planned.html = options.html;
    planned.json = options.json;
    if (history.ranks > 0) {
        planned.ranks = static_cast<int>(history.ranks);
    }
    return plan(planned);
}

}  // namespace ziggurat::app
