#include "plan/checkpoint_size.hpp"

#include <algorithm>
#include <numeric>

#include "layout/counts.hpp"
#include "layout/state_kinds.hpp"
#include "spec/dtype.hpp"

namespace ziggurat::plan {

namespace {

/// Returns the maximum number of checkpoints that remain at the end. Saves by time or tokens rarely
/// fall on a milestone.
std::int64_t max_kept(const spec::Checkpoint& checkpoint, std::int64_t steps) {
    const auto& every = *checkpoint.every;
    const bool has_milestones = checkpoint.keep_every_steps > 0 && every.steps > 0;
    const auto milestones = has_milestones ? steps / std::lcm(checkpoint.keep_every_steps, every.steps) : 0;
    const auto kept = checkpoint.keep_last + milestones + checkpoint.keep_best;
    const bool is_by_steps =
        every.steps > 0 && every.tokens == 0 && every.seconds == 0 && checkpoint.keep_best == 0;
    return is_by_steps ? std::min(kept, (steps + every.steps - 1) / every.steps) : kept;
}

}  // namespace

CheckpointSize checkpoint_size(const spec::RunSpec& spec) {
    const auto trained = layout::count_trained(spec);
    const auto frozen = layout::count_parameters(spec.model).total - trained;
    CheckpointSize size;
    for (const auto kind : layout::state_kinds) {
        if (layout::is_kept(kind, spec) && layout::piece_of(kind, layout::masters_of(spec))) {
            size.bytes += spec::element_bytes(layout::type_of(kind, spec.precision)) *
                          (layout::is_of_frozen(kind) ? frozen : trained);
        }
    }
    size.kept = spec.checkpoint.every ? max_kept(spec.checkpoint, spec.train.steps) : 0;
    size.bytes_kept = size.kept * size.bytes;
    size.bytes_at_most = size.bytes_kept + size.bytes;
    return size;
}

}  // namespace ziggurat::plan
