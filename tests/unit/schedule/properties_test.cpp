/// Properties of the programs of all runs, checked on ZIGGURAT_SPECS random ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <random>
#include <set>

#include "schedule/build_program.hpp"
#include "schedule/place/derive_dependencies.hpp"
#include "schedule/place/place_buffers.hpp"
#include "schedule/verify/check_program.hpp"
#include "schedule/verify/simulate.hpp"
#include "schedule/volumes/volumes.hpp"
#include "spec/stage_state.hpp"
#include "tests/support/random/random_spec.hpp"
#include "tests/support/random/spec_coverage.hpp"
#include "tests/support/random/spec_variants.hpp"
#include "tests/support/simulated_ranks.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

std::string as_text(const Volumes& v) {
    return std::to_string(v.gathers) + " gathered, " + std::to_string(v.secondary) + " from second copies, " +
           std::to_string(v.reduction) + " reduced, " + std::to_string(v.publication) + " published";
}

/// Describes the difference between the volumes of the program and the formulas; empty if they agree.
std::string complaint_about_volumes(const spec::RunSpec& spec, const Program& program) {
    if (!spec.tiers.tiles.empty()) {
        return {};  // the formulas cover only whole units
    }
    const ModelLayout model{spec, program.rank};
    auto formula = volumes_by_formula(spec::of_stage(spec, model.stage), model);
    formula.accumulated = 0;  // not visible in programs
    const auto counted = volumes_counted(program);
    return counted == formula ? std::string{}
                              : "rank " + std::to_string(program.rank) + " sends " + as_text(counted) +
                                    " instead of " + as_text(formula) + " elements\n";
}

/// Describes all errors of the programs of a run; empty if they are correct.
std::string complaints(const spec::RunSpec& spec, const std::vector<Program>& programs, std::uint64_t seed) {
    std::string text;
    for (const auto& program : programs) {
        for (const auto& finding : check_program(program)) {
            text += std::string{to_string(finding.kind)} + ": " + finding.text + "\n";
        }
        text += complaint_about_volumes(spec, program);
        if (!text.empty()) {
            return text;
        }
    }
    const ExpectedResults truth{spec};
    return simulate(programs, &truth, {.seed = seed, .buffered_sends = seed % 3 == 0 ? 1 : 0}).report();
}

/// Returns a random run, every other one on GPUs, which read weights in place.
///
/// In each third, chunks stay on the device, in memory without a limit or only in free memory.
spec::RunSpec random_run(std::int64_t seed) {
    auto spec = test::random_spec(static_cast<std::uint64_t>(seed),
                                  {.stages_differ = true, .by_layer = true, .fates = true, .grids = true});
    if (seed % 3 == 0) {
        spec.tiers.movement = spec::Movement::chunks;
        spec.tiers.device_budget_bytes = seed % 2 == 0 ? 1 : spec.tiers.device_budget_bytes;
    }
    spec.tiers.device = seed % 2 == 0 ? spec::DeviceKind::host : spec::DeviceKind::cuda;
    return spec;
}

TEST(Volumes, InBytesAreWhatProgramsSend) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        auto spec = test::random_spec(seed, {.context = false, .tiles = false});
        spec.parallel.tensor = spec.parallel.stages = 1;
        spec.parallel.stage_layers.clear();
        spec.parallel.sequence = false;
        spec.parallel.ranks = spec.parallel.data;
        auto sent = bytes_sent_by_purpose(build_program(spec, 0, Variant::train));
        for (const auto& [purpose, bytes] :
             bytes_of(volumes_by_formula(spec, ModelLayout{spec, 0}), spec.precision)) {
            EXPECT_EQ(sent[purpose], bytes)
                << to_string(purpose) << ", seed " << seed << ": " << test::described(spec);
        }
    }
}

TEST(Programs, OfAllRanksTogetherDoWhatWasAskedFor) {
    const auto count = test::count_from_environment("ZIGGURAT_SPECS", 200);
    test::Coverage coverage;
    for (std::int64_t seed = 1; seed <= count; ++seed) {
        const auto spec = random_run(seed);
        coverage.note(spec);
        const auto programs = test::programs_of_all_ranks(spec);

        const auto mismatch = complaints(spec, programs, static_cast<std::uint64_t>(seed));

        ASSERT_EQ(mismatch, "") << "seed " << seed << ": " << test::described(spec);
    }
    std::printf("%s", coverage.report().c_str());
    for (const auto& [key, values] : coverage.counts()) {
        EXPECT_GE(values.size(), 2U) << key << " never varies";
    }
}

TEST(Programs, WithoutAFlushUseTheVersionsAndSlotsOfTheirRule) {
    const auto count = test::count_from_environment("ZIGGURAT_SPECS", 200) / 2;
    std::int64_t pipelines = 0;
    for (std::int64_t seed = 1; seed <= count; ++seed) {
        auto spec = random_run(seed);
        if (spec.parallel.stages == 1) {
            continue;
        }
        spec = test::without_flush(std::move(spec));
        ++pipelines;

        const auto mismatch =
            complaints(spec, test::programs_of_all_ranks(spec), static_cast<std::uint64_t>(seed));

        ASSERT_EQ(mismatch, "") << "seed " << seed << ": " << test::described(spec);
    }
    EXPECT_GT(pipelines, count / 3);
}

TEST(Programs, ThatEvaluateEndAndReadWhatWasWritten) {
    const auto count = test::count_from_environment("ZIGGURAT_SPECS", 200) / 2;
    for (std::int64_t seed = 1; seed <= count; ++seed) {
        const auto spec = random_run(seed);
        const auto programs = test::programs_of_all_ranks(spec, Variant::evaluate);
        for (const auto& program : programs) {
            const auto findings = check_program(program);
            ASSERT_TRUE(findings.empty())
                << findings.front().text << ", seed " << seed << ": " << test::described(spec);
        }
        const ExpectedResults truth{spec};
        const auto result = simulate(programs, &truth, {.seed = static_cast<std::uint64_t>(seed)});

        ASSERT_EQ(result.report(), "") << "seed " << seed << ": " << test::described(spec);
    }
}

/// Plants a bug in programs. Returns false if they have no op for it.
using Plant = std::function<bool(std::vector<Program>&, std::mt19937_64&)>;

/// Plants the bug in the first 20 random runs that have an op for it.
///
/// Returns the number of the run in which it is found, from 1; -1 if it is never found.
std::int64_t found_at(const Plant& plant) {
    std::mt19937_64 random{7};
    std::int64_t planted = 0;
    for (std::uint64_t seed = 1; seed <= 400 && planted < 20; ++seed) {
        const auto spec = test::random_spec(seed);
        auto programs = test::programs_of_all_ranks(spec);
        if (plant(programs, random)) {
            ++planted;
            if (!complaints(spec, programs, seed).empty()) {
                return planted;
            }
        }
    }
    return -1;
}

/// Returns the ops of one rank that satisfy `wanted`.
std::vector<int> ops_where(const Program& program, const std::function<bool(const Op&)>& wanted) {
    std::vector<int> found;
    for (int i = 0; i < static_cast<int>(program.ops.size()); ++i) {
        if (wanted(program.ops[static_cast<std::size_t>(i)])) {
            found.push_back(i);
        }
    }
    return found;
}

template <class T>
const T& one_of(const std::vector<T>& all, std::mt19937_64& random) {
    return all[static_cast<std::size_t>(random() % all.size())];
}

/// Removes one collective on all members of its group, and repeats placement and ordering.
///
/// \param group  name of the group; empty: any
bool drop(std::vector<Program>& programs,
          OpKind kind,
          Purpose purpose,
          std::mt19937_64& random,
          const std::string& group = "") {
    auto& first = programs.front();
    const auto candidates = ops_where(first, [&](const Op& op) {
        return op.kind == kind && op.purpose == purpose &&
               (group.empty() || first.groups[static_cast<std::size_t>(op.group)].name == group);
    });
    if (candidates.empty()) {
        return false;
    }
    const auto dropped = first.ops[static_cast<std::size_t>(one_of(candidates, random))];
    const auto members = first.groups[static_cast<std::size_t>(dropped.group)].members;
    for (const int member : members) {
        auto& program = programs[static_cast<std::size_t>(member)];
        const auto same = ops_where(program, [&](const Op& op) { return op.label == dropped.label; });
        if (same.empty()) {
            return false;
        }
        program.ops.erase(program.ops.begin() + same.front());
        place_buffers(program);
        derive_dependencies(program);
    }
    return true;
}

TEST(PlantedBug, AMissingReductionIsFound) {
    EXPECT_GT(found_at([](auto& programs, auto& random) {
                  return drop(programs, OpKind::reduce_scatter, Purpose::gradients, random);
              }),
              0);
}

TEST(PlantedBug, AMissingSumOverTheTensorAxisIsFound) {
    EXPECT_GT(found_at([](auto& programs, auto& random) {
                  return drop(programs, OpKind::all_reduce, Purpose::tensor, random);
              }),
              0);
}

/// Returns four query heads and two key-value heads on four tensor ranks.
spec::RunSpec sharing_spec(int data, bool sequence) {
    auto spec = test::small_spec("llama", data);
    spec.parallel.tensor = 4;
    spec.parallel.ranks = 4 * data;
    spec.parallel.sequence = sequence;
    spec.sharding.parameters = spec.sharding.gradients = spec.sharding.optimizer = data;
    return spec;
}

TEST(Programs, OfRanksThatShareHeadsOfKeysSumTheirGradients) {
    for (const int data : {1, 2, 3}) {
        for (const bool sequence : {false, true}) {
            const auto spec = sharing_spec(data, sequence);
            EXPECT_EQ(complaints(spec, test::programs_of_all_ranks(spec), 1), "") << data << sequence;
        }
    }
}

TEST(PlantedBug, AMissingSumOverThoseThatShareAHeadIsFound) {
    const auto spec = sharing_spec(1, false);
    auto programs = test::programs_of_all_ranks(spec);
    std::mt19937_64 random{7};

    ASSERT_TRUE(drop(programs, OpKind::all_reduce, Purpose::gradients, random, "shared heads"));

    EXPECT_NE(complaints(spec, programs, 1), "");
}

TEST(PlantedBug, AMissingPublicationIsFound) {
    EXPECT_GT(found_at([](auto& programs, auto& random) {
                  return drop(programs, OpKind::all_gather, Purpose::publication, random);
              }),
              0);
}

TEST(PlantedBug, AnUpdateThatOneRankLeavesOutIsFound) {
    EXPECT_GT(found_at([](std::vector<Program>& programs, std::mt19937_64& random) {
                  auto& program = programs.back();
                  const auto updates =
                      ops_where(program, [](const Op& op) { return op.kind == OpKind::update; });
                  if (updates.empty()) {
                      return false;
                  }
                  program.ops.erase(program.ops.begin() + one_of(updates, random));
                  place_buffers(program);
                  derive_dependencies(program);
                  return true;
              }),
              0);
}

TEST(PlantedBug, AnEvictionThatIsLeftOutIsFound) {
    EXPECT_GT(found_at([](std::vector<Program>& programs, std::mt19937_64& random) {
                  auto& program = programs.front();
                  const auto evictions = ops_where(program, [&](const Op& op) {
                      const auto engine = program.lanes[static_cast<std::size_t>(op.lane)].engine;
                      return op.purpose == Purpose::state &&
                             (engine == Engine::device_to_host || engine == Engine::nvme_write);
                  });
                  if (evictions.empty()) {
                      return false;
                  }
                  program.ops.erase(program.ops.begin() + one_of(evictions, random));
                  place_buffers(program);
                  derive_dependencies(program);
                  return true;
              }),
              0);
}

TEST(PlantedBug, AMissingWaitIsFoundEveryTime) {
    const auto drops_a_wait = [](std::vector<Program>& programs, std::mt19937_64& random) {
        auto& program = one_of(programs, random);
        const auto candidates = ops_where(program, [](const Op& op) { return !op.waits_for.empty(); });
        if (candidates.empty()) {
            return false;
        }
        auto& waits =
            const_cast<Program&>(program).ops[static_cast<std::size_t>(one_of(candidates, random))].waits_for;
        waits.erase(waits.begin() + static_cast<std::ptrdiff_t>(random() % waits.size()));
        return true;
    };
    std::mt19937_64 random{11};
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        auto programs = test::programs_of_all_ranks(test::random_spec(seed));
        if (drops_a_wait(programs, random)) {
            EXPECT_TRUE(std::any_of(programs.begin(), programs.end(),
                                    [](const Program& p) { return !check_program(p).empty(); }))
                << "seed " << seed;
        }
    }
}

TEST(PlantedBug, AMissingWaitIsFoundByRunningToo) {
    EXPECT_GT(found_at([](std::vector<Program>& programs, std::mt19937_64&) {
                  // Removes every wait for the result of a collective.
                  for (auto& program : programs) {
                      for (auto& op : program.ops) {
                          if (op.kind == OpKind::compute) {
                              op.waits_for.clear();
                          }
                      }
                  }
                  return true;
              }),
              0);
}

TEST(PlantedBug, ALeaseThatEndsBeforeItsLastUseIsFound) {
    const auto releases_early = [](std::vector<Program>& programs, std::mt19937_64& random) {
        auto& program = programs.front();
        std::vector<int> leases;
        for (int b = 0; b < static_cast<int>(program.buffers.size()); ++b) {
            const auto& buffer = program.buffers[static_cast<std::size_t>(b)];
            if (buffer.lifetime == Lifetime::transient && buffer.state == StateKind::parameters &&
                buffer.offset >= 0) {
                leases.push_back(b);
            }
        }
        if (leases.empty()) {
            return false;
        }
        const int lease = one_of(leases, random);
        const auto ranges = live_ranges(program);
        auto& last = program.ops[static_cast<std::size_t>(ranges[static_cast<std::size_t>(lease)].last)];
        const auto reads = last.reads;
        std::erase_if(last.reads, [&](const Operand& operand) { return operand.buffer == lease; });
        place_buffers(program);
        derive_dependencies(program);
        last.reads = reads;
        return true;
    };

    EXPECT_GT(found_at(releases_early), 0);
}

TEST(PlantedBug, TwoCollectivesInAnotherOrderOnOneRankAreFound) {
    const auto swaps = [](std::vector<Program>& programs, std::mt19937_64& random) {
        auto& program = programs.back();
        std::vector<std::pair<int, int>> neighbours;
        std::vector<int> last(program.lanes.size(), -1);
        for (const int i : ops_where(program, [](const Op& op) {
                 return op.kind == OpKind::reduce_scatter || op.kind == OpKind::all_gather;
             })) {
            auto& before = last[static_cast<std::size_t>(program.ops[static_cast<std::size_t>(i)].lane)];
            if (before >= 0) {
                neighbours.emplace_back(before, i);
            }
            before = i;
        }
        if (neighbours.empty()) {
            return false;
        }
        const auto [a, b] = one_of(neighbours, random);
        std::swap(program.ops[static_cast<std::size_t>(a)], program.ops[static_cast<std::size_t>(b)]);
        place_buffers(program);
        derive_dependencies(program);
        return true;
    };

    EXPECT_GT(found_at(swaps), 0);
}

}  // namespace
}  // namespace ziggurat::schedule
