#include "plan/search/longest_sequence.hpp"

#include <algorithm>
#include <numeric>

#include "layout/context/context_rows.hpp"
#include "layout/families/family_descriptor.hpp"
#include "plan/plan_run.hpp"
#include "spec/batch_limits.hpp"

namespace ziggurat::plan {
namespace {

constexpr std::int64_t granule = 128;

}  // namespace

LongestSequence longest_sequence(spec::RunSpec run, const spec::MachineSpec& machine) {
    const auto& parallel = run.parallel;
    const auto step = std::lcm(granule, layout::position_parts(parallel));
    const bool has_rotary = layout::family_of(run.model).has_rotary_positions();
    const auto max_of_tokens = spec::max_micro_batch_tokens / run.train.micro_batch;
    const auto max = (has_rotary ? max_of_tokens : std::min(max_of_tokens, run.model.max_seq)) / step;
    const auto fits = [&](std::int64_t steps) {
        run.data.seq = steps * step;
        run.model.max_seq = std::max(run.model.max_seq, run.data.seq);
        return footprint_in_search(run, machine).fits();
    };
    std::int64_t below = 0;  // fits, or is 0
    std::int64_t above = std::clamp<std::int64_t>(run.data.seq / step, 1, std::max<std::int64_t>(1, max));
    while (above <= max && fits(above)) {
        below = above;
        above = below == max ? max + 1 : std::min(2 * below, max);
    }
    while (above - below > std::max<std::int64_t>(1, below / 64)) {
        const auto middle = std::midpoint(below, above);
        (fits(middle) ? below : above) = middle;
    }
    const bool is_bound = below == max && max > 0;
    return {.tokens = below * step,
            .is_bound_by_positions = is_bound && !has_rotary && run.model.max_seq <= max_of_tokens,
            .is_bound_by_tokens = is_bound && (has_rotary || run.model.max_seq > max_of_tokens)};
}

}  // namespace ziggurat::plan
