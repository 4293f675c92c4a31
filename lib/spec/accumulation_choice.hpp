/// Choice of train.accumulate: auto.
#pragma once

#include <string>

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// Order of micro-batches, and why it was chosen.
struct AccumulationChoice {
    AccumulationOrder order = AccumulationOrder::by_micro_batch;
    std::string reason;
};

}  // namespace ziggurat::spec
