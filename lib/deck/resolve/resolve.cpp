#include "deck/resolve/resolve.hpp"

#include <fmt/format.h>

#include "deck/schema/schema.hpp"

namespace ziggurat::deck {

bool Resolution::require(const std::string& path, const std::string& reason) const {
    if (values.is_bad(path)) {
        return false;
    }
    if (values.has(path)) {
        return true;
    }
    if (values.is_empty(path)) {
        const SourceLocation at = values.location(path);
        found.error(at, fmt::format("'{}' has no value", path), reason,
                    at.file == command_line_name ? "Write one after the '='." : "Write one after the colon.");
    } else {
        found.error(values.location(path), fmt::format("missing key '{}'", path), reason, "Add it.");
    }
    values.mark_bad(path);
    return false;
}

void Resolution::set_resolved_integer(const std::string& path,
                                      std::int64_t number,
                                      const std::string& reason) const {
    values.set_resolved(path, number, fmt::format("{}", number), reason);
}

void Resolution::erase_default(const std::string& path) const {
    if (!values.is_written(path)) {
        values.erase(path);
    }
}

std::int64_t Resolution::steps_of(const std::string& path) const {
    const auto length = values.as<TrainingLength>(path);
    const std::int64_t step_tokens = run.train.global_batch * run.data.seq;
    switch (length.unit) {
        case TrainingLength::Unit::steps:
            return length.steps;
        case TrainingLength::Unit::tokens:
            return step_tokens > 0 ? (length.tokens + step_tokens - 1) / step_tokens : 0;
        case TrainingLength::Unit::share:
            break;
    }
    return static_cast<std::int64_t>(length.share * static_cast<double>(run.train.steps));
}

void resolve(Resolution& resolution) {
    resolution.require(
        "deck_version",
        fmt::format("it is the version of the deck's schema; the present one is {}", deck_version));
    resolve_run(resolution);
    resolve_tokenizer(resolution);
    resolve_model(resolution);
    resolve_data(resolution);
    resolve_parallel(resolution);
    resolve_train(resolution);
    resolve_validate(resolution);
    resolve_checkpoint(resolution);
    resolve_logging(resolution);
    resolve_sharding(resolution);
    resolve_tiers(resolution);
    resolve_transport(resolution);
    resolve_precision(resolution);
    resolve_recompute(resolution);
    resolve_stages(resolution);
    resolve_overlap(resolution);
    resolve_debug(resolution);
    resolve_optimizer(resolution);
    resolve_schedule(resolution);
}

}  // namespace ziggurat::deck
