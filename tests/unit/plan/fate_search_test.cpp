#include "plan/search/fate_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "layout/families/activations.hpp"
#include "plan/plan_run.hpp"
#include "plan/planned_time.hpp"
#include "plan/search/choose_homes.hpp"
#include "plan/search/fastest_homes.hpp"
#include "spec/fates.hpp"
#include "tests/unit/plan/recompute/layers_to_recompute.hpp"

namespace ziggurat::plan {
namespace {

using spec::ActivationFate;

TEST(FateGroups, BeginWithInputsOfLayersAndEndWithThoseThatAreCheapToRecompute) {
    for (const char* family : {"gpt2", "llama"}) {
        const auto spec = test::layers_to_recompute(family, 4);
        const auto groups = fate_groups(spec, rates_of(spec, test::gpu_to_recompute()));
        ASSERT_GE(groups.size(), 6U) << family;
        EXPECT_EQ(groups.front().names, (std::vector<std::string>{"embedding.x", "residual.out"})) << family;
        EXPECT_FALSE(groups.front().is_recomputable);
        EXPECT_TRUE(std::ranges::is_sorted(groups.begin() + 1, groups.end(), std::greater{},
                                           &FateGroup::seconds_per_byte));
        const auto position = [&](const std::string& name) {
            return std::ranges::find_if(groups, [&](const FateGroup& group) {
                return std::ranges::find(group.names, name) != group.names.end();
            });
        };
        EXPECT_LT(position("qkv"), position("mlp.active")) << family << ": a product takes longer";
        for (const auto& activation : layout::activations_of(layout::family_table(spec))) {
            const auto name =
                activation.name.starts_with("layers.") ? activation.name.substr(9) : activation.name;
            EXPECT_NE(position(name), groups.end()) << family << " " << name;
        }
    }
}

/// A machine with activations of four groups and a link, whose time of a step is known.
struct KnownTimes {
    std::vector<FateGroup> groups;
    std::vector<double> bytes;
    double device_bytes = 0;
    double host_bytes = 0;
    double link_seconds_per_byte = 0;
    double compute_seconds = 10;

    double cost(const std::vector<spec::FateRule>& fates, bool& device_fits) const {
        double kept = 0, moved = 0, on_host = 0, seconds = compute_seconds;
        for (std::size_t g = 0; g < groups.size(); ++g) {
            const auto fate = spec::fate_of(fates, groups[g].names.front()).value_or(ActivationFate::keep);
            kept += fate == ActivationFate::keep ? bytes[g] : 0;
            on_host += fate == ActivationFate::host ? bytes[g] : 0;
            moved += fate == ActivationFate::host   ? bytes[g]
                     : fate == ActivationFate::nvme ? 3 * bytes[g]
                                                    : 0;
            seconds += fate == ActivationFate::recompute ? bytes[g] * groups[g].seconds_per_byte : 0;
        }
        device_fits = kept <= device_bytes;
        const bool fits = device_fits && on_host <= host_bytes;
        return fits ? std::max(seconds, moved * link_seconds_per_byte)
                    : std::numeric_limits<double>::infinity();
    }

    double best_of_search(bool has_nvme) const {
        double best = std::numeric_limits<double>::infinity();
        search_fates(groups, has_nvme, [&](const std::vector<spec::FateRule>& fates, double& seconds) {
            bool device_fits = false;
            const double time = cost(fates, device_fits);
            if (time == std::numeric_limits<double>::infinity()) {
                return device_fits ? FateTrial::lacks_host : FateTrial::lacks_memory;
            }
            seconds = time;
            best = std::min(best, time);
            return FateTrial::fits;
        });
        return best;
    }

    /// Returns the minimum over all fates of all groups.
    double best_of_all(bool has_nvme) const {
        double best = std::numeric_limits<double>::infinity();
        const int fates_of_group = has_nvme ? 4 : 3;
        int count = 1;
        for (std::size_t g = 0; g < groups.size(); ++g) {
            count *= fates_of_group;
        }
        for (int choice = 0; choice < count; ++choice) {
            std::vector<spec::FateRule> fates;
            int rest = choice;
            bool is_possible = true;
            for (const auto& group : groups) {
                constexpr std::array all{ActivationFate::keep, ActivationFate::host,
                                         ActivationFate::recompute, ActivationFate::nvme};
                fates.push_back({group.names.front(), all[static_cast<std::size_t>(rest % fates_of_group)]});
                is_possible =
                    is_possible && (group.is_recomputable || fates.back().fate != ActivationFate::recompute);
                rest /= fates_of_group;
            }
            bool unused = false;
            best = is_possible ? std::min(best, cost(fates, unused)) : best;
        }
        return best;
    }
};

TEST(SearchFates, FindsTheFastestWhetherTheLinkIsFastOrSlow) {
    KnownTimes known{.groups = {{{"x"}, 0, false},
                                {{"a"}, 4, true},
                                {{"b"}, 2, true},
                                {{"c"}, 0.5, true},
                                {{"d"}, 0.1, true}},
                     .bytes = {1, 1, 1, 1, 1},
                     .device_bytes = 2,
                     .host_bytes = 100};
    std::set<double> times;
    for (const double link : {0.1, 4.0, 6.0, 8.0, 30.0}) {
        known.link_seconds_per_byte = link;
        EXPECT_EQ(known.best_of_search(false), known.best_of_all(false)) << link;
        times.insert(known.best_of_search(false));
    }
    EXPECT_GE(times.size(), 3U);
}

TEST(SearchFates, UsesDisksWhenTheHostIsFull) {
    KnownTimes known{.groups = {{{"x"}, 0, false}, {{"a"}, 40, true}, {{"b"}, 40, true}},
                     .bytes = {1, 1, 1},
                     .device_bytes = 0,
                     .host_bytes = 2,
                     .link_seconds_per_byte = 1};
    EXPECT_EQ(known.best_of_search(true), known.best_of_all(true));
    EXPECT_EQ(known.best_of_search(false), known.best_of_all(false)) << "one is recomputed";
    EXPECT_LT(known.best_of_search(true), known.best_of_search(false));
}

/// A run on one rank whose activations need more memory than the device has.
spec::RunSpec run_short_of_memory(const spec::MachineSpec& machine, double share) {
    auto spec = test::layers_to_recompute("gpt2", 8);
    const auto all = plan_run(spec, machine).footprint.needed[0];
    auto least = spec;
    least.recompute.kind = spec::RecomputeKind::full;
    least.tiers.activations = {0, 1, 0};
    const auto min = plan_run(least, machine).footprint.needed[0];
    spec.tiers.device_budget_bytes = min + static_cast<std::int64_t>(share * static_cast<double>(all - min));
    spec.tiers.host_budget_bytes = spec.tiers.nvme_budget_bytes = std::int64_t{1} << 40;
    return spec;
}

double seconds_of(const spec::RunSpec& run, const spec::MachineSpec& machine) {
    return planned_time(run, machine).step_seconds;
}

TEST(FastestFates, AreNeverSlowerThanOneKindAndOneHome) {
    int faster = 0;
    std::set<std::string> chosen_fates;
    for (const double link : {2e9, 12e9, 60e9}) {
        auto machine = test::gpu_to_recompute();
        machine.host_to_device_rate = machine.device_to_host_rate = link;
        for (const double share : {0.25, 0.6}) {
            const auto run = run_short_of_memory(machine, share);
            auto open = run;
            open.recompute.is_auto = open.tiers.open.activations = true;
            const auto chosen = choose_fastest_homes(open, machine);
            double best = seconds_of(choose_homes(open, machine), machine);
            for (const auto kind :
                 {spec::RecomputeKind::none, spec::RecomputeKind::selective, spec::RecomputeKind::full}) {
                auto one = open;
                one.recompute = {.kind = kind};
                one = choose_homes(one, machine);
                best =
                    plan_run(one, machine).footprint.fits() ? std::min(best, seconds_of(one, machine)) : best;
            }
            EXPECT_TRUE(plan_run(chosen, machine).footprint.fits());
            EXPECT_FALSE(chosen.tiers.open.activations || chosen.recompute.is_auto);
            EXPECT_LE(seconds_of(chosen, machine), best) << link << " " << share;
            faster += seconds_of(chosen, machine) < 0.99 * best ? 1 : 0;
            chosen_fates.insert(spec::write_fates(chosen.recompute.fates));
        }
    }
    EXPECT_GE(faster, 3);
    EXPECT_GE(chosen_fates.size(), 3U);
}

TEST(FastestFates, LeaveThoseOfTheDeck) {
    auto machine = test::gpu_to_recompute();
    machine.host_to_device_rate = machine.device_to_host_rate = 12e9;
    auto open = run_short_of_memory(machine, 0.4);
    open.recompute.is_auto = open.tiers.open.activations = true;
    open.recompute.fates = {{"mlp.active", ActivationFate::recompute}};
    EXPECT_EQ(choose_fastest_homes(open, machine).recompute.fates, open.recompute.fates);
}

}  // namespace
}  // namespace ziggurat::plan
