#include "plan/checkpoint_size.hpp"

#include "layout/counts.hpp"
#include "layout/state_kinds.hpp"
#include "spec/dtype.hpp"

namespace ziggurat::plan {

CheckpointSize checkpoint_size(const spec::RunSpec& spec) {
    const auto trained = layout::count_trained(spec);
    const auto frozen = layout::count_parameters(spec.model).total - trained;
    const auto& keep = spec.checkpoint;
    CheckpointSize size;
    for (const auto kind : layout::state_kinds) {
        if (layout::is_kept(kind, spec.precision) &&
            layout::is_saved(kind, layout::has_master(spec.precision))) {
            size.bytes += spec::element_bytes(layout::type_of(kind, spec.precision)) *
                          (layout::is_of_frozen(kind) ? frozen : trained);
        }
    }
    size.kept = keep.keep_last + (keep.keep_every_steps > 0 ? spec.train.steps / keep.keep_every_steps : 0);
    size.bytes_kept = size.kept * size.bytes;
    size.bytes_at_most = size.bytes_kept + size.bytes;
    return size;
}

}  // namespace ziggurat::plan
