/// Specification of a run, as plain data.
///
/// `deck` fills a RunSpec from text and checks it; all other code only reads it. Every `auto` is resolved,
/// and all units are bytes, seconds, elements, sequences or steps. A RunSpec is complete: nothing below `app`
/// reads text or environment variables.
#pragma once

#include <cstdint>
#include <vector>

#include "spec/sections/data_settings.hpp"
#include "spec/sections/model_settings.hpp"
#include "spec/sections/parallel_settings.hpp"
#include "spec/sections/precision_settings.hpp"
#include "spec/sections/run_settings.hpp"
#include "spec/sections/tier_settings.hpp"
#include "spec/sections/train_settings.hpp"

namespace ziggurat::spec {

/// Forward passes of tokens of any sequences that read and extend a KV cache. Decks do not set them.
struct CachedPasses {
    std::int64_t sequences = 0;    ///< in the cache at a time; 0: the run has no such passes
    std::int64_t positions = 0;    ///< maximum length of a sequence
    std::int64_t pages = 0;        ///< of each layer (layout::CacheSizes); 0: enough for all sequences
    std::int64_t prompt_rows = 0;  ///< tokens of a pass that computes no logits
    std::int64_t logit_rows = 0;   ///< tokens of a pass that computes logits and losses

    bool operator==(const CachedPasses&) const = default;
};

struct RunSpec {
    Run run;
    Model model;
    Data data;
    Train train;
    Validate validate;
    Parallel parallel;
    Sharding sharding;
    Tiers tiers;
    Overlap overlap;
    Recompute recompute;
    /// State per pipeline stage; replaces `recompute` and the homes in `tiers`. Empty if all stages are
    /// equal. If set, parallel.stage_layers lists the layers of all stages.
    std::vector<StageState> stages;
    Precision precision;
    Optimizer optimizer;
    LearningRate schedule;
    Checkpoint checkpoint;
    Logging logging;
    Debug debug;
    /// Set for inference, which then has no other passes. See spec::cached_passes.
    CachedPasses cached;

    bool operator==(const RunSpec&) const = default;
};

}  // namespace ziggurat::spec
