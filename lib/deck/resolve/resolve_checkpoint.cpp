#include "deck/resolve/resolve.hpp"

namespace ziggurat::deck {

void resolve_checkpoint(Resolution& resolution) {
    Values& values = resolution.values;
    spec::Checkpoint& checkpoint = resolution.run.checkpoint;
    if (resolution.is_auto("checkpoint.every")) {
        const spec::Interval half_an_hour{.steps = 0, .seconds = 1800};
        values.set_resolved("checkpoint.every", half_an_hour, "30min", "and at the end");
    }
    if (values.has("checkpoint.every") && !values.is_keyword("checkpoint.every", "none")) {
        checkpoint.every = values.as<spec::Interval>("checkpoint.every");
    }
    checkpoint.keep_last = values.integer("checkpoint.keep.last");
    checkpoint.keep_every_steps = values.is_keyword("checkpoint.keep.milestones", "none")
                                      ? 0
                                      : values.integer("checkpoint.keep.milestones");
    checkpoint.keep_best =
        values.is_keyword("checkpoint.keep.best", "none") ? 0 : values.integer("checkpoint.keep.best");
    checkpoint.is_async = values.boolean("checkpoint.async");
}

}  // namespace ziggurat::deck
