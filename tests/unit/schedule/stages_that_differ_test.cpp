/// Stages with individual recomputation and homes.
#include <gtest/gtest.h>

#include "schedule/build_program.hpp"
#include "schedule/program_json.hpp"
#include "spec/stage_state.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

TEST(StagesThatDiffer, EachHasTheProgramOfARunThatIsAllLikeIt) {
    auto run = test::small_spec("llama");
    run.parallel.stages = run.parallel.ranks = 3;
    run.parallel.stage_layers = {1, 2, 1};
    run.model.layers = 4;
    run.train.micro_batches = 3;
    run.sharding.reduce = spec::ReducePlan::each_microbatch;
    std::vector<spec::StageState> states(3, spec::general_state(run));
    states[0].optimizer = {0, 1, 0};
    states[1].recompute = {spec::RecomputeKind::full, 2};
    states[1].gradients = states[1].activations = {0, 1, 0};
    states[2].parameters = {0, 0, 1};
    auto differing = run;
    differing.stages = states;
    for (int rank = 0; rank < 3; ++rank) {
        const auto& state = states[static_cast<std::size_t>(rank)];
        const auto program = build_program(differing, rank, Variant::train);
        EXPECT_EQ(program_as_json(program),
                  program_as_json(build_program(spec::with_state(run, state), rank, Variant::train)));
        EXPECT_NE(program_as_json(program), program_as_json(build_program(run, rank, Variant::train)))
            << rank;
    }
}

}  // namespace
}  // namespace ziggurat::schedule
