#include "train/control/time_limit.hpp"

#include "layout/counts.hpp"

namespace ziggurat::train {
namespace {

// Estimate until a checkpoint has been measured: master weights and two moments, written to a slow cluster
// disk.
constexpr double checkpoint_bytes_per_parameter = 12;
constexpr double assumed_bytes_per_second = 1e9;

}  // namespace

std::optional<TimeLimit> find_time_limit(const spec::RunSpec& spec,
                                         std::int64_t begin_ns,
                                         std::optional<std::int64_t> stop_at_ns,
                                         const std::string& deck_source) {
    const auto parameters = static_cast<double>(layout::count_parameters(spec.model).total);
    const double guess =
        spec.checkpoint.every ? parameters * checkpoint_bytes_per_parameter / assumed_bytes_per_second : 0;
    std::optional<TimeLimit> limit;
    if (spec.run.time_limit_seconds) {
        limit.emplace(begin_ns + static_cast<std::int64_t>(*spec.run.time_limit_seconds * 1e9), deck_source,
                      guess);
    }
    if (stop_at_ns && (!limit || *stop_at_ns < limit->end_ns())) {
        limit.emplace(*stop_at_ns, stop_at_variable, guess);
    }
    return limit;
}

}  // namespace ziggurat::train
