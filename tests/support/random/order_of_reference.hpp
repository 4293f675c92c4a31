/// Order of micro-batches of a reference run.
#pragma once

#include "spec/run_spec.hpp"

namespace ziggurat::test {

/// Returns the order of micro-batches of a run that must give the same bits as `run`: by micro-batch.
///
/// Exception: a tied table whose gradient is summed in place over the step. By layer, the parts of the head are
/// added before those of the lookup, so the reference has the order of the run.
inline spec::AccumulationOrder order_of_reference(const spec::RunSpec& run) {
    const bool sums_in_place =
        run.sharding.reduce == spec::ReducePlan::at_end && run.precision.gradient == spec::DType::f32;
    return run.model.tie_embeddings && sums_in_place ? run.train.accumulate
                                                     : spec::AccumulationOrder::by_micro_batch;
}

}  // namespace ziggurat::test
