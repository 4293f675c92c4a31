/// Any layout of tensor, pipeline and data ranks trains as one rank does: random decks, in fp32,
/// against one rank.
///
/// Runs ZIGGURAT_FUZZ decks, from seed ZIGGURAT_FUZZ_SEED on. A failing deck is printed in a form that
/// `ziggurat train` accepts in the root of the sources. Further tests plant bugs of these axes in the
/// programs of small decks that have the feature: each bug must change at least one of twenty.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <iterator>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "comm/control.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/place/derive_dependencies.hpp"
#include "spec/weight_versions.hpp"
#include "tests/fuzz/nvme_folder.hpp"
#include "tests/fuzz/rounds.hpp"
#include "tests/fuzz/sent_bytes.hpp"
#include "tests/fuzz/side_by_side.hpp"
#include "tests/support/class_b.hpp"
#include "tests/support/device/test_processors.hpp"
#include "tests/support/random/random_axes_deck.hpp"
#include "tests/support/random/spec_coverage.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/simulated_ranks.hpp"
#include "tests/support/tiny_checkpoints.hpp"

namespace ziggurat::test {
namespace {

using schedule::Op;
using schedule::OpKind;
using schedule::Program;
using schedule::Purpose;
using schedule::Role;

/// Draws a deck of each seed from the first seed on.
std::vector<RandomDeck> random_decks(std::int64_t count, int max_ranks, const std::string& nvme_folder) {
    const auto first = count_from_environment("ZIGGURAT_FUZZ_SEED", 1);
    std::vector<RandomDeck> decks;
    for (std::int64_t i = 0; i < count; ++i) {
        decks.push_back(random_deck_of_axes(static_cast<std::uint64_t>(first + i), max_ranks, nvme_folder));
    }
    return decks;
}

/// Returns the bounds. Gradients accumulated in bf16 are rounded in another order.
///
/// Pipelines without a flush have bounds that are wide enough for trainings which multiply rounding errors.
ClassBBounds bounds_of(const spec::RunSpec& run) {
    return run.precision.gradient == spec::DType::f32
               ? (spec::has_no_flush(run.parallel)
                      ? ClassBBounds{.gradient = 1e-4, .norm = 1e-3, .loss = 1e-4, .weights = 1e-3}
                      : ClassBBounds{})
               : ClassBBounds{.gradient = 0.05, .norm = 0.05, .loss = 1e-3, .weights = 0.02};
}

/// Returns the largest difference of a first gradient, relative to the norm of its tensor.
double first_gap(const TinyOutcome& some, const TinyOutcome& others) {
    double most = 0;
    for (const auto& [name, gap] : first_gradient_gaps(some, others)) {
        most = std::max(most, gap);
    }
    return most;
}

/// Returns the bounds for a training that multiplies rounding errors.
///
/// They are ten times the effect of another order of sums on one rank: of micro-batches of one sample, and of
/// the whole batch. If the first gradients of `ours` differ more than those of that order, later steps may
/// too. The bound of the first gradients is ten times the effect of initial weights that differ by their
/// rounding, at most 1e-4.
ClassBBounds widened(ClassBBounds bounds,
                     spec::RunSpec run,
                     const comm::Context& group,
                     const TinyOutcome& ours,
                     const TinyOutcome& expected) {
    const auto gap = [](const std::vector<double>& some, const std::vector<double>& others) {
        double most = 0;
        for (std::size_t step = 0; step < others.size(); ++step) {
            most = std::max(most, std::abs(some[step] / others[step] - 1));
        }
        return most;
    };
    auto rounded = run;
    rounded.model.init_std *= 1 + 2e-7;
    const auto of_rounding = first_gap(train_on_host(rounded, group, Keep::tensors), expected);
    bounds.gradient = std::max(bounds.gradient, std::min(10 * of_rounding, 1e-4));
    for (const auto samples : {std::int64_t{1}, run.train.global_batch}) {
        run.train.micro_batch = samples;
        run.train.micro_batches = run.train.global_batch / samples;
        const auto other = train_on_host(run, group, Keep::tensors);
        const auto begin = first_gap(other, expected);
        const auto factor = 10 * (begin > 0 ? std::max(1.0, first_gap(ours, expected) / begin) : 1.0);
        const auto of_norms = factor * gap(other.norms, expected.norms);
        bounds.norm = std::max(bounds.norm, of_norms);
        bounds.weights = std::max(bounds.weights, of_norms);
        bounds.loss = std::max(bounds.loss, factor * gap(other.losses, expected.losses));
    }
    return bounds;
}

/// Describes the difference between the run and one rank with the whole work, trained by the group's
/// first rank.
///
/// Collective: over `group`, the ranks of the run
std::string difference_to_one_rank(const RandomDeck& deck,
                                   const comm::Context& group,
                                   const TinyOutcome& ours) {
    const auto reference = alone(deck.run);
    const bool is_part = group.rank() < reference.parallel.ranks;
    const auto part = group.group().split(is_part ? 0 : 1);
    if (!is_part) {
        return {};
    }
    const auto expected = train_on_host(reference, group.in(part), Keep::tensors);
    const auto bounds = bounds_of(deck.run);
    const auto difference = class_b_difference(ours, expected, bounds);
    if (difference.empty() || reference.parallel.ranks > 1) {
        return difference;
    }
    const auto& myself = part;
    return class_b_difference(ours, expected,
                              widened(bounds, alone(deck.run), group.in(myself), ours, expected));
}

/// Trains, and checks the sent bytes.
///
/// Collective: over `group`, the ranks of the run
std::string difference_in_one_layout(const RandomDeck& deck, const comm::Context& group) {
    const auto program = train::build_programs(deck.run, group.rank()).train;
    std::string difference;
    const auto ours = train_tiny(deck.run, group, Keep::tensors, [&](const train::Assembly& assembly) {
        difference =
            sent_bytes_difference(deck.run, group, program, assembly.bytes_moved(), deck.run.train.steps);
    });
    return difference + difference_to_one_rank(deck, group, ours);
}

/// Trains one of two jobs of a training, until `last_step`, and checks the sent bytes.
///
/// \param difference  receives the description of wrong bytes
/// Collective: over `group`, the ranks of the run
TinyOutcome job_of(const spec::RunSpec& run,
                   const comm::Context& group,
                   std::int64_t last_step,
                   std::string& difference) {
    const auto program = train::build_programs(run, group.rank()).train;
    auto outcome = train_and_save(run, group, Keep::tensors, last_step);
    const auto steps = std::ssize(outcome.training.losses);
    difference += sent_bytes_difference(run, group, program, outcome.bytes_moved, steps);
    return std::move(outcome.training);
}

/// Trains the first half in one layout, and the second half in another.
///
/// Collective: over `group`, the ranks of the run
std::string difference_over_two_layouts(const RandomDeck& deck,
                                        const comm::Context& group,
                                        const std::string& nvme_folder,
                                        const SharedFolder& folder) {
    const auto next = other_layout_of(deck, nvme_folder);
    const auto half = deck.run.train.steps / 2;
    auto run = deck.run;
    run.run.dir = folder.file(std::to_string(deck.seed));
    run.run.resume = spec::Resume::automatic;
    run.checkpoint.every = spec::Interval{.steps = 1000};
    std::string difference;
    auto ours = job_of(run, group, half, difference);
    const auto second = group.group().split(group.rank() < next.ranks ? 0 : 1);
    if (group.rank() < next.ranks) {
        auto rest = next.run;
        rest.run.dir = run.run.dir;
        rest.run.resume = spec::Resume::must;
        rest.checkpoint.every = run.checkpoint.every;
        const auto went_on = [&] {
            try {
                return job_of(rest, group.in(second), rest.train.steps, difference);
            } catch (...) {
                std::fprintf(stderr, "the second half was on %s\n", described(next).c_str());
                throw;
            }
        }();
        ours.losses.insert(ours.losses.end(), went_on.losses.begin(), went_on.losses.end());
        ours.norms.insert(ours.norms.end(), went_on.norms.begin(), went_on.norms.end());
        ours.weights = went_on.weights;
    }
    difference += difference_to_one_rank(deck, group, ours);
    return difference.empty() ? difference : difference + ", and the second half was on " + described(next);
}

TEST(RandomAxes, TrainAsOneRankDoes) {
    const NvmeFolder nvme;
    const SharedFolder folder{world()};  // outlives the runs: a failing run must not wait for others
    const auto decks = random_decks(count_from_environment("ZIGGURAT_FUZZ", 30), world().size(), nvme.path());
    if (world().rank() == 0) {
        Coverage coverage;
        for (const auto& deck : decks) {
            coverage.note(deck.run);
            coverage.note("ranks", std::to_string(deck.ranks));
        }
        std::cout << (decks.size() == 1 ? described(decks.front()) : coverage.report());
    }
    examine(decks, [&](const RandomDeck& deck, const comm::Context& group) {
        const bool goes_on_elsewhere = deck.seed % 6 == 0 && !spec::has_no_flush(deck.run.parallel);
        return goes_on_elsewhere ? difference_over_two_layouts(deck, group, nvme.path(), folder)
                                 : difference_in_one_layout(deck, group);
    });
}

/// A bug, planted on the ranks where it is possible.
struct AxesBug {
    const char* name;
    bool (*has_feature)(const spec::RunSpec& run);  ///< true if the bug is possible
    bool (*plant)(Program& program, const schedule::ModelLayout& model);
};

void PrintTo(const AxesBug& bug, std::ostream* out) {
    *out << bug.name;
}

void forget(Op& op) {
    op.kind = OpKind::fill;
    op.blocks.clear();
    op.reads.clear();
    op.writes.clear();
}

/// Plants the bug in every op that `is_place` accepts.
template <class IsPlace, class Spoil>
bool spoil_all(Program& program, const IsPlace& is_place, const Spoil& spoil) {
    bool has_any = false;
    for (auto& op : program.ops) {
        if (is_place(op)) {
            spoil(op);
            has_any = true;
        }
    }
    return has_any;
}

const layout::Phase& phase_of(const Op& op, const schedule::ModelLayout& model) {
    return model.table.units[static_cast<std::size_t>(op.unit)].phases[static_cast<std::size_t>(op.phase)];
}

/// Makes each deferred weight product of `to` read what the same product of micro-batch `from` reads.
bool read_another_microbatch(Program& program, int from, int to) {
    return spoil_all(
        program, [&](const Op& op) { return op.is_deferred && op.microbatch == to; },
        [&](Op& op) {
            const auto of_from = std::ranges::find_if(program.ops, [&](const Op& other) {
                return other.is_deferred && other.microbatch == from && other.unit == op.unit &&
                       other.phase == op.phase && other.segment == op.segment;
            });
            op.reads = of_from->reads;
        });
}

bool has_tensor_ranks(const spec::RunSpec& run) {
    return run.parallel.tensor > 1 && !run.parallel.has_grid();
}

bool has_deferred_products(const spec::RunSpec& run) {
    return run.parallel.stages > 1 && run.train.micro_batches > 1 &&
           run.parallel.pipeline_schedule == spec::PipelineSchedule::zero_bubble;
}

constexpr std::array bugs = {
    AxesBug{"ASumOverTheTensorAxisIsMissing", has_tensor_ranks,
            [](Program& program, const schedule::ModelLayout&) {
                return spoil_all(
                    program,
                    [](const Op& op) {
                        return op.purpose == Purpose::tensor && op.kind == OpKind::all_reduce;
                    },
                    forget);
            }},
    AxesBug{"APieceOfAProductHasTheRowsOfTheFirst",
            [](const spec::RunSpec& run) { return has_tensor_ranks(run) && run.overlap.tensor_pieces; },
            [](Program& program, const schedule::ModelLayout& model) {
                return spoil_all(
                    program,
                    [&](const Op& op) {
                        return op.kind == OpKind::compute && op.row_begin > 0 && op.unit >= 0 &&
                               phase_of(op, model).kind == layout::PhaseKind::linear &&
                               program.find_read(op, Role::input) != nullptr;
                    },
                    [](Op& op) {
                        for (auto& operand : op.reads) {
                            if (operand.role == Role::input) {
                                operand.runs = {{0, operand.bytes()}};
                            }
                        }
                    });
            }},
    AxesBug{"ALossIsCountedByEveryTensorRank", has_tensor_ranks,
            [](Program& program, const schedule::ModelLayout& model) {
                if (model.tensor_rank == 0 || model.stage + 1 != model.mesh.degree(spec::Axis::pipeline)) {
                    return false;
                }
                return spoil_all(
                    program, [](const Op& op) { return op.kind == OpKind::step_end; },
                    [&](Op& op) {
                        for (int m = 0; m < program.microbatches; ++m) {
                            const int losses = program.trainer_buffers.of(schedule::BatchTensor::losses, m);
                            op.reads.push_back(whole(program, losses, Role::losses));
                        }
                    });
            }},
    AxesBug{"HalfOfATiedGradientIsMissing",
            [](const spec::RunSpec& run) { return run.parallel.stages > 1 && run.model.tie_embeddings; },
            [](Program& program, const schedule::ModelLayout& model) {
                return spoil_all(
                    program,
                    [&](const Op& op) {
                        const bool sums = op.kind == OpKind::all_reduce && op.purpose == Purpose::gradients;
                        return sums && model.is_shared_by_stages(0) &&
                               program.groups[static_cast<std::size_t>(op.group)].name ==
                                   "first and last stage";
                    },
                    forget);
            }},
    AxesBug{"HeadsAreTakenForTheNextOnes", has_tensor_ranks,
            [](Program& program, const schedule::ModelLayout& model) {
                const auto is_product_of_heads = [&](const Op& op) {
                    return op.kind == OpKind::compute && op.direction == schedule::Direction::forward &&
                           phase_of(op, model).name == "qkv";
                };
                return model.tensor_rank > 0 && spoil_all(program, is_product_of_heads, [&](Op& op) {
                           auto& weight =
                               *std::ranges::find(op.reads, Role::weight, &schedule::Operand::role);
                           auto& run = weight.runs.front();
                           const auto row = phase_of(op, model).in * model.element_bytes;
                           if (run.offset + run.bytes + row <= program.buffer(weight.buffer).bytes) {
                               run.offset += row;
                           }
                       });
            }},
    AxesBug{"AVisibleBlockOfARingIsSkipped",
            [](const spec::RunSpec& run) {
                return run.parallel.context > 1 && run.parallel.context_kind == spec::ContextKind::ring;
            },
            [](Program& program, const schedule::ModelLayout& model) {
                // Forward rounds that write the output would leave it undefined.
                return spoil_all(
                    program,
                    [&](const Op& op) {
                        const bool is_round = op.kind == OpKind::compute && op.peer >= 0;
                        return is_round && op.peer != model.context_rank &&
                               program.find_write(op, Role::output) == nullptr;
                    },
                    forget);
            }},
    AxesBug{"SumsAlongAGridAreMissing", [](const spec::RunSpec& run) { return run.parallel.has_grid(); },
            [](Program& program, const schedule::ModelLayout& model) {
                return model.has_grid() && spoil_all(
                                               program,
                                               [](const Op& op) {
                                                   return op.purpose == Purpose::tensor &&
                                                          op.kind == OpKind::reduce_scatter;
                                               },
                                               forget);
            }},
    AxesBug{"AStashIsOneVersionLate",
            [](const spec::RunSpec& run) { return spec::has_no_flush(run.parallel); },
            [](Program& program, const schedule::ModelLayout&) {
                // The copy follows the update, so a stash has the version after the one that forward used.
                const auto is_stash = [](const Op& op) { return op.purpose == Purpose::stash; };
                const auto late = std::ranges::stable_partition(program.ops, std::not_fn(is_stash));
                if (late.empty()) {
                    return false;
                }
                schedule::derive_dependencies(program);
                return true;
            }},
    AxesBug{"AMicroBatchIsInWeightGradientsTwice", has_deferred_products,
            [](Program& program, const schedule::ModelLayout&) {
                return program.microbatches > 1 && read_another_microbatch(program, 0, 1);
            }},
    AxesBug{"GradientsAreSummedBeforeTheLastWeightProducts", has_deferred_products,
            [](Program& program, const schedule::ModelLayout&) {
                return spoil_all(
                    program,
                    [&](const Op& op) { return op.is_deferred && op.microbatch == program.microbatches - 1; },
                    forget);
            }},
};

/// Small decks that all bugs share.
class AxesBugs : public ::testing::TestWithParam<AxesBug> {
  protected:
    static void SetUpTestSuite() {
        nvme_.emplace();
        drawn_ = random_decks(num_drawn, max_ranks, nvme_->path());
        std::erase_if(drawn_, [](const RandomDeck& deck) { return deck.run.data.seq > max_seq; });
    }
    static void TearDownTestSuite() { nvme_.reset(); }

    /// Returns the first twenty decks that have the feature of the bug.
    static std::vector<RandomDeck> decks_for(const AxesBug& bug) {
        std::vector<RandomDeck> chosen;
        std::ranges::copy_if(drawn_, std::back_inserter(chosen),
                             [&](const RandomDeck& deck) { return bug.has_feature(deck.run); });
        chosen.resize(std::min(chosen.size(), max_decks));
        return chosen;
    }

    static constexpr std::size_t max_decks = 20;

  private:
    static constexpr std::int64_t num_drawn = 120;
    static constexpr int max_ranks = 4;  // a grid and a stage of a pipeline have two to four
    static constexpr std::int64_t max_seq = 64;

    static std::optional<NvmeFolder> nvme_;
    static std::vector<RandomDeck> drawn_;
};

std::optional<NvmeFolder> AxesBugs::nvme_;
std::vector<RandomDeck> AxesBugs::drawn_;

/// Returns the first difference of a deck's training with the bug; empty if no deck shows it.
///
/// Collective: over the world
std::string first_difference(const std::vector<RandomDeck>& decks, const AxesBug& bug) {
    std::vector<int> ranks;
    ranks.reserve(decks.size());
    for (const auto& deck : decks) {
        ranks.push_back(deck.ranks);
    }
    for (const auto& round : rounds_of(ranks, world().size())) {
        const int run = round[static_cast<std::size_t>(world().rank())];
        const auto group = world().group().split(run + 1);
        std::string found;
        if (run >= 0) {
            const auto& deck = decks[static_cast<std::size_t>(run)];
            const auto in_run = world().in(group);
            auto programs = train::build_programs(deck.run, group.rank());
            const schedule::ModelLayout model{deck.run, group.rank()};
            if (!comm::all_agree(in_run, !bug.plant(programs.train, model))) {
                TinyHooks hooks;
                hooks.programs = [&](train::Programs& given) { given = programs; };
                found = difference_to_one_rank(deck, in_run,
                                               train_tiny(deck.run, in_run, Keep::tensors, {}, hooks));
            }
        }
        for (const auto& by_rank : comm::gather(world(), found)) {
            found = found.empty() ? by_rank : found;
        }
        if (found = comm::broadcast(world(), found); !found.empty()) {
            return found;
        }
    }
    return {};
}

TEST_P(AxesBugs, AreSeen) {
    const auto decks = decks_for(GetParam());
    const auto difference = first_difference(decks, GetParam());
    EXPECT_NE(difference, "") << "in " << decks.size() << " decks";
    if (world().rank() == 0) {
        std::cout << difference << ", in one of " << decks.size() << " decks\n";
    }
}

INSTANTIATE_TEST_SUITE_P(Planted, AxesBugs, ::testing::ValuesIn(bugs), [](const auto& made) {
    return made.param.name;
});

}  // namespace
}  // namespace ziggurat::test
