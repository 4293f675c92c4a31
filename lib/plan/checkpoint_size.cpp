#include "plan/checkpoint_size.hpp"

#include "layout/counts.hpp"
#include "spec/dtype.hpp"

namespace ziggurat::plan {

CheckpointSize checkpoint_size(const spec::RunSpec& spec) {
    constexpr std::int64_t bytes_of_trained = 3 * 4;
    const auto all = layout::count_parameters(spec.model).total;
    const auto trained = layout::count_trained(spec);
    const auto& keep = spec.checkpoint;
    CheckpointSize size;
    size.bytes = bytes_of_trained * trained + spec::element_bytes(spec.precision.compute) * (all - trained);
    size.kept = keep.keep_last + (keep.keep_every_steps > 0 ? spec.train.steps / keep.keep_every_steps : 0);
    size.bytes_kept = size.kept * size.bytes;
    size.bytes_at_most = size.bytes_kept + size.bytes;
    return size;
}

}  // namespace ziggurat::plan
