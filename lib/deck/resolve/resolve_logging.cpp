#include "deck/resolve/resolve.hpp"

namespace ziggurat::deck {

void resolve_logging(Resolution& resolution) {
    resolution.run.logging.every = resolution.values.as<spec::Interval>("logging.every");
    resolution.run.logging.tensorboard = resolution.values.boolean("logging.tensorboard");
    resolution.run.logging.norms = resolution.values.integer("logging.norms");
}

}  // namespace ziggurat::deck
