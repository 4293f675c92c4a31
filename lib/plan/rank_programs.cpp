#include "plan/rank_programs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

#include "plan/library_memory.hpp"
#include "plan/memory_table.hpp"
#include "schedule/build_program.hpp"
#include "schedule/model_layout.hpp"
#include "spec/depths.hpp"
#include "spec/passes_with_cache.hpp"

namespace ziggurat::plan {
namespace {

using schedule::ModelLayout;
using schedule::Program;
using schedule::Variant;

/// Limit like max_passes, for passes of tiled layers, converted to untiled ones.
constexpr std::int64_t max_plain_passes = 2048;

/// Returns the micro-batches of a step to build. After some, each finds the arena in the state that the
/// one before left. So the cost of a plan does not depend on their number, except by layer.
std::int64_t microbatches_to_build(const ReducedRun& built) {
    const auto& spec = built.spec;
    const auto passes = passes_of_step(spec);
    const auto plain = passes * weight_of_layer(spec);
    const bool are_few =
        built.layers.is_whole() ? passes <= max_passes && plain <= max_plain_passes : plain <= max_passes;
    return are_few ? spec.train.micro_batches : enough_micro_batches(spec);
}

/// Adds memory for the tokens of `others` more micro-batches.
void add_batches(Program& program, std::int64_t others) {
    schedule::Buffer made;
    for (const auto& buffer : program.buffers) {
        if (buffer.lifetime == schedule::Lifetime::inputs && buffer.microbatch == 0) {
            made.tier = buffer.tier;  // equal for all of them
            made.bytes += buffer.bytes * others;
        }
    }
    if (made.bytes == 0) {
        return;
    }
    made.name = "batches of the other micro-batches";
    made.lifetime = schedule::Lifetime::inputs;
    made.consumer = schedule::MemoryCategory::batch;
    auto& arena = program.arena_bytes[schedule::arena_of(made)];
    made.offset = arena;
    arena += made.bytes;
    program.add_buffer(std::move(made));
}

/// True if the model has a trained tensor; false for validation and sampling.
bool trains_anything(const ModelLayout& model) {
    return model.first_trained_unit < std::ssize(model.table.units);
}

/// Programs of a rank that run one at a time, and so use the same memory.
class OneAtATime {
  public:
    /// \param whole  the run, if `spec` is a smaller one
    OneAtATime(const spec::RunSpec& spec, const spec::RunSpec& whole, int rank) : spec_{spec}, whole_{whole} {
        facts_.rank = rank;
    }

    /// Facts of the process; the caller adds those of the training program.
    ProcessFacts& facts() noexcept { return facts_; }

    /// \param larger  ops of the run's program for each op of this one
    void add(Program program, double larger = 1) {
        facts_.ops += std::llround(larger * static_cast<double>(program.ops.size()));
        programs_.push_back(std::move(program));
    }

    /// Returns their memory. The program to report is the first one if it trains, else the largest one.
    RankPrograms take() {
        RankPrograms made;
        std::vector<const Program*> all;
        ByArena largest{};
        std::int64_t staging = 0;
        for (const auto& program : programs_) {
            all.push_back(&program);
            made.ops += program.ops.size();
            staging = std::max(staging, staging_bytes(spec_, program));
            for (std::size_t a = 0; a < schedule::num_arenas; ++a) {
                largest[a] = std::max(largest[a], program.arena_bytes[a]);
            }
        }
        for (std::size_t a = 0; a < schedule::num_arenas; ++a) {
            made.bytes[schedule::tier_of_arena(a)] += largest[a];
        }
        made.bytes[tier_index(spec::Tier::host)] += staging;
        made.libraries = library_memory(spec_, all).total();
        facts_.arena_bytes = largest;
        made.process = process_memory(whole_, facts_);
        made.train = std::move(programs_[reported()]);
        return made;
    }

  private:
    using ByArena = std::array<std::int64_t, schedule::num_arenas>;

    std::size_t reported() const {
        if (programs_.front().variant == Variant::train) {
            return 0;
        }
        const auto bytes = [](const Program& program) {
            return std::accumulate(std::begin(program.arena_bytes), std::end(program.arena_bytes),
                                   std::int64_t{0});
        };
        return std::ranges::max_element(programs_, {}, bytes) - programs_.begin();
    }

    const spec::RunSpec& spec_;
    const spec::RunSpec& whole_;
    ProcessFacts facts_;
    std::vector<Program> programs_;
};

double ratio(std::int64_t all, std::int64_t part) {
    return static_cast<double>(all) / static_cast<double>(part);
}

/// Adds the reduced training program of a rank, for its memory only.
void add_shortened(const spec::RunSpec& whole,
                   const ReducedRun& built,
                   const ModelLayout& model,
                   OneAtATime& programs) {
    auto spec = built.spec;
    spec.train.micro_batches = microbatches_to_build(built);
    if (spec.train.micro_batches < whole.train.micro_batches) {
        spec.tiers.movement = spec::Movement::fixed;  // chunks would use the memory of the missing batches
    }
    auto program = schedule::build_placed(spec, model, Variant::train);
    programs.facts().add_training(spec, model, program);
    programs.facts().scale_state(ratio(whole.model.layers, spec.model.layers));
    scale_up(program, built, whole);
    add_batches(program, whole.train.micro_batches - spec.train.micro_batches);
    programs.add(std::move(program), ratio(passes_of_step(whole), passes_of_step(spec)));
}

/// Adds the programs with a KV cache, built whole: they are short.
void add_cached(const spec::RunSpec& spec, int rank, OneAtATime& programs) {
    if (spec::cached_passes(spec).sequences == 0) {
        return;
    }
    for (const auto kind : {schedule::CachedKind::prompt, schedule::CachedKind::logits}) {
        programs.add(schedule::build_placed_cached(spec, rank, kind));
    }
}

}  // namespace

std::int64_t passes_of_step(const spec::RunSpec& spec) {
    return (spec.model.layers + 2) * spec.train.micro_batches;
}

bool times_with_chunks(const spec::RunSpec& spec) {
    return spec.tiers.movement == spec::Movement::chunks && spec::is_any_state_away(spec) &&
           passes_of_step(spec) <= max_passes;
}

RankPrograms build_small(const spec::RunSpec& whole, const ReducedRun& built, int rank) {
    const auto& spec = built.spec;
    OneAtATime programs{spec, whole, rank};
    if (!spec::has_only_cached_passes(whole)) {
        const ModelLayout model{spec, rank};
        if (trains_anything(model)) {
            add_shortened(whole, built, model, programs);
        }
        auto evaluate = schedule::build_placed(spec, model, Variant::evaluate);
        scale_up(evaluate, built, whole);
        programs.add(std::move(evaluate), ratio(whole.model.layers + 2, spec.model.layers + 2));
        if (whole.overlap.delayed_update && trains_anything(model)) {
            auto publish = schedule::build_placed(spec, model, Variant::publish);
            scale_up(publish, built, whole);
            programs.add(std::move(publish), ratio(whole.model.layers + 2, spec.model.layers + 2));
        }
    }
    add_cached(whole, rank, programs);
    return programs.take();
}

RankPrograms build_whole(const spec::RunSpec& spec, int rank) {
    OneAtATime programs{spec, spec, rank};
    if (!spec::has_only_cached_passes(spec)) {
        const ModelLayout model{spec, rank};
        if (trains_anything(model)) {
            auto program = schedule::build_placed(spec, model, Variant::train);
            programs.facts().add_training(spec, model, program);
            programs.add(std::move(program));
        }
        programs.add(schedule::build_placed(spec, model, Variant::evaluate));
        if (spec.overlap.delayed_update && trains_anything(model)) {
            programs.add(schedule::build_placed(spec, model, Variant::publish));
        }
    }
    add_cached(spec, rank, programs);
    return programs.take();
}

}  // namespace ziggurat::plan
