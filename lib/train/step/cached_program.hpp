/// A program with a KV cache, with everything that runs it.
#pragma once

#include <memory>
#include <vector>

#include "schedule/step_program.hpp"
#include "train/ops/bind_collectives.hpp"
#include "train/ops/logits_probe.hpp"
#include "train/step/batch_slots.hpp"
#include "train/step/executor.hpp"

namespace ziggurat::train {

/// Program of Variant::cached. Its user fills the slot, runs a step and reads losses or watched logits.
struct CachedProgram {
    const schedule::Program& program;
    std::vector<BatchSlot> slots;
    GroupCollectives groups;
    LogitsProbe watch;
    std::unique_ptr<Executor> executor = {};

    CachedProgram(const spec::RunSpec& spec,
                  const RankGroups& all,
                  const schedule::ModelLayout& model,
                  const schedule::Program& of,
                  const state::TierMemory& memory)
        : program{of},
          slots{batch_slots(of, memory)},
          groups{all, of, spec},
          watch{spec, model, of, memory} {}

    const BatchSlot& slot() const { return slots.front(); }
};

}  // namespace ziggurat::train
