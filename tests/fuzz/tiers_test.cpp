/// Tiers never change the training: random decks with offloaded state against the same without.
///
/// Runs ZIGGURAT_FUZZ decks, from seed ZIGGURAT_FUZZ_SEED on. A failing deck is printed in a form that
/// `ziggurat train` accepts in the root of the sources.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <string>
#include <vector>

#include "comm/control.hpp"
#include "spec/depths.hpp"
#include "tests/fuzz/moved.hpp"
#include "tests/fuzz/nvme_folder.hpp"
#include "tests/fuzz/saving.hpp"
#include "tests/fuzz/side_by_side.hpp"
#include "tests/fuzz/training.hpp"
#include "tests/support/device/test_processors.hpp"
#include "tests/support/random/draw.hpp"
#include "tests/support/random/random_deck.hpp"
#include "tests/support/random/spec_coverage.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/simulated_ranks.hpp"
#include "tests/support/tiny_checkpoints.hpp"

namespace ziggurat::test {
namespace {

std::vector<RandomDeck> random_decks(const std::string& nvme_folder) {
    const auto first = count_from_environment("ZIGGURAT_FUZZ_SEED", 1);
    std::vector<RandomDeck> decks;
    for (std::int64_t i = 0; i < count_from_environment("ZIGGURAT_FUZZ", 30); ++i) {
        decks.push_back(
            random_deck_of_tiers(static_cast<std::uint64_t>(first + i), world().size(), nvme_folder));
    }
    return decks;
}

void print_draws(const std::vector<RandomDeck>& decks) {
    Coverage coverage;
    for (const auto& deck : decks) {
        coverage.note(deck.run);
        coverage.note("ranks", std::to_string(deck.ranks));
    }
    std::cout << (decks.size() == 1 ? described(decks.front()) : coverage.report());
}

/// Draws a course with one step that is not finite, and with a validation at a random step.
LrScheduleState drawn_course(Draw& draw, std::int64_t steps) {
    LrScheduleState course;
    course.non_finite_step = draw.between(1, steps);
    course.looks_at_that_step = draw.chance(0.5);
    course.validated_after = draw.between(1, steps);
    return course;
}

/// Returns a norm at which half the steps clip: the minimum norm of the first steps, because norms
/// fall.
///
/// Collective: over `group`, the ranks of `run`
double low_norm(spec::RunSpec run, const comm::Context& group) {
    run.optimizer.clip = spec::ClipPolicy::off;
    LrScheduleState course;
    course.steps = 5;
    const auto norms =
        train_on_made_up_batches(run, group, train::build_programs(run, group.rank()), course).grad_norms;
    return *std::ranges::min_element(norms);
}

class Clipped {
  public:
    void note(const std::vector<double>& norms, double clip_norm) {
        for (const double norm : norms) {
            steps_ += std::isfinite(norm) ? 1 : 0;
            clipped_ += norm > clip_norm ? 1 : 0;
        }
    }
    double share() const {
        return steps_ > 0 ? static_cast<double>(clipped_) / static_cast<double>(steps_) : 0;
    }

  private:
    std::int64_t steps_ = 0, clipped_ = 0;
};

TEST(FuzzOfTiers, RandomHomesLeaveTheBitsOfTheDeviceAloneAndMoveWhatIsAwayFromIt) {
    const NvmeFolder folder;
    const SharedFolder runs{world()};
    const auto decks = random_decks(folder.path());
    if (world().rank() == 0) {
        print_draws(decks);
    }
    Clipped clipped;
    examine(decks, [&](const RandomDeck& deck, const comm::Context& group) {
        Draw draw{deck.seed + 1'000'000};
        auto course = drawn_course(draw, deck.run.train.steps);
        // One save, followed by further steps.
        const auto saved_step = draw.between(deck.run.train.steps / 2 + 1, deck.run.train.steps - 1);
        const bool goes_on = draw.chance(0.3);
        auto run = deck.run;
        const bool is_by_unit = run.optimizer.clip == spec::ClipPolicy::per_unit;
        if (!run.overlap.optimizer_with_backward) {
            run.optimizer.clip = is_by_unit ? spec::ClipPolicy::per_unit : spec::ClipPolicy::global;
        } else if (!spec::speculates(run)) {
            course.non_finite_step = 0;  // such a step cannot be skipped
        }
        // A unit has only a part of the norm.
        run.optimizer.clip_norm = low_norm(without_tiers(run), group) * (is_by_unit ? 0.5 : 1);
        const auto train = [&](const spec::RunSpec& as) {
            return train_on_made_up_batches(as, group, train::build_programs(as, group.rank()), course);
        };
        const auto expected = [&] {
            const OnHost on_host;
            return train(without_tiers(run));
        }();
        clipped.note(expected.grad_norms, run.optimizer.clip_norm);
        run.run.dir = runs.file(std::to_string(deck.seed));
        run.run.resume = spec::Resume::never;
        run.checkpoint = {spec::Interval{.steps = saved_step}, 100, 0, true};
        course.saves = true;
        const auto ours = train(run);
        auto difference = ours.first_difference(expected);
        if (difference.empty()) {
            difference = lack_of_movement(run, group, ours.bytes_by_link, ours.redone_by_link);
        }
        if (comm::all_agree(group, difference.empty()) && goes_on) {
            auto again = without_tiers(run);
            again.run.dir += "again";
            again.run.resume = spec::Resume::path;
            again.run.resume_path = checkpoint_folder(run, saved_step);
            again.checkpoint = {};
            const auto resumed = train(again);
            auto rest = expected;
            rest.loss_sums.erase(rest.loss_sums.begin(), rest.loss_sums.begin() + saved_step);
            rest.grad_norms.erase(rest.grad_norms.begin(), rest.grad_norms.begin() + saved_step);
            std::erase_if(rest.skipped_steps, [&](auto step) { return step <= saved_step; });
            rest.validation_hash = resumed.validation_hash;
            difference = resumed.first_difference(rest);
            if (!difference.empty()) {
                difference = fmt::format("resumed after step {}: {}", saved_step, difference);
            }
        }
        return difference;
    });
    if (world().rank() == 0) {
        const auto by_formula =
            std::ranges::count_if(decks, [](const RandomDeck& deck) { return has_closed_forms(deck.run); });
        std::cout << fmt::format("{:.0f} % of the steps clip; {} decks move what closed forms say\n",
                                 100 * clipped.share(), by_formula);
        EXPECT_TRUE(decks.size() < 10 || by_formula > 0);
        EXPECT_TRUE(decks.size() < 10 || (clipped.share() > 0.25 && clipped.share() < 0.75));
    }
}

}  // namespace
}  // namespace ziggurat::test
