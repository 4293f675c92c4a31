#include "plan/rank_programs.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "plan/library_memory.hpp"
#include "plan/memory_table.hpp"
#include "schedule/build_program.hpp"
#include "schedule/model_layout.hpp"

namespace ziggurat::plan {
namespace {

using schedule::ModelLayout;
using schedule::Program;
using schedule::Variant;

/// Limit like max_passes, for passes of tiled layers, converted to untiled ones.
constexpr std::int64_t max_plain_passes = 2048;

/// Returns the micro-batches of a step to build. After some, each finds the arena in the state that the
/// one before left. So the cost of a plan does not depend on their number.
std::int64_t microbatches_to_build(const ReducedRun& built) {
    const auto& spec = built.spec;
    const auto passes = passes_of_step(spec);
    const auto plain = passes * weight_of_layer(spec);
    const bool are_few =
        built.layers.is_whole() ? passes <= max_passes && plain <= max_plain_passes : plain <= max_passes;
    return are_few ? spec.train.micro_batches
                   : std::min(spec.train.micro_batches, enough_micro_batches(spec.parallel));
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

/// Builds the reduced training program of a rank, for its memory only.
Program build_shortened(const spec::RunSpec& whole, const ReducedRun& built, const ModelLayout& model) {
    auto spec = built.spec;
    spec.train.micro_batches = microbatches_to_build(built);
    auto program = schedule::build_placed(spec, model, Variant::train);
    scale_up(program, built, whole);
    add_batches(program, whole.train.micro_batches - spec.train.micro_batches);
    return program;
}

/// True if the model has a trained tensor; false for validation and sampling.
bool trains_anything(const ModelLayout& model) {
    return model.first_trained_unit < std::ssize(model.table.units);
}

/// Returns the bytes that a rank reserves for both programs, which run one at a time: the larger
/// arenas.
TierBytes reserved(const spec::RunSpec& spec, const Program& train, const Program& evaluate) {
    TierBytes bytes{};
    for (std::size_t a = 0; a < schedule::num_arenas; ++a) {
        bytes[schedule::tier_of_arena(a)] += std::max(train.arena_bytes[a], evaluate.arena_bytes[a]);
    }
    bytes[tier_index(spec::Tier::host)] +=
        std::max(staging_bytes(spec, train), staging_bytes(spec, evaluate));
    return bytes;
}

/// \param train  without ops if no tensor is trained
RankPrograms of_both(const spec::RunSpec& spec, Program train, Program evaluate) {
    RankPrograms made;
    made.bytes = reserved(spec, train, evaluate);
    made.libraries = library_memory(spec, std::array<const Program*, 2>{&train, &evaluate}).total();
    made.ops = train.ops.size() + evaluate.ops.size();
    made.train = std::move(train.ops.empty() ? evaluate : train);
    return made;
}

}  // namespace

std::int64_t passes_of_step(const spec::RunSpec& spec) {
    return (spec.model.layers + 2) * spec.train.micro_batches;
}

RankPrograms build_small(const spec::RunSpec& whole, const ReducedRun& built, int rank) {
    const auto& spec = built.spec;
    const ModelLayout model{spec, rank};
    auto evaluate = schedule::build_placed(spec, model, Variant::evaluate);
    scale_up(evaluate, built, whole);
    if (!trains_anything(model)) {
        return of_both(spec, {}, std::move(evaluate));
    }
    return of_both(spec, build_shortened(whole, built, model), std::move(evaluate));
}

RankPrograms build_whole(const spec::RunSpec& spec, int rank) {
    const ModelLayout model{spec, rank};
    return of_both(spec,
                   trains_anything(model) ? schedule::build_placed(spec, model, Variant::train) : Program{},
                   schedule::build_placed(spec, model, Variant::evaluate));
}

}  // namespace ziggurat::plan
