/// Holes of arenas are at most 3 % of the largest sum of live bytes.
///
/// This holds on devices, for all shipped decks and for pipelines of Llama 8B, 70B and 405B.
///
/// Each test prints, for each arena, the largest holes of the checked ranks in percent of that sum.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <regex>
#include <set>

#include "base/pages.hpp"
#include "deck/load.hpp"
#include "deck/machine/machine.hpp"
#include "plan/arena_sizes.hpp"
#include "plan/reduced_run.hpp"
#include "plan/search/choose_depths.hpp"
#include "plan/search/choose_homes.hpp"
#include "schedule/build_program.hpp"
#include "tests/support/llama_pipeline.hpp"

namespace ziggurat {
namespace {

namespace fs = std::filesystem;
using schedule::num_arenas;

const fs::path deck_folder = fs::path{std::getenv("PROJECT_SOURCE_DIR")} / "decks";

constexpr std::array<const char*, num_arenas> arena_names{"device", "host", "NVMe", "shared device",
                                                          "shared host"};

/// Holes of an arena, and the largest sum of live bytes.
struct Holes {
    std::int64_t bytes = 0;
    std::int64_t live = 0;
    std::int64_t max = 0;  ///< limit of the holes

    double percent() const {
        return live > 0 ? 100 * static_cast<double>(bytes) / static_cast<double>(live) : 0;
    }
};

/// Holes that place_buffers ignores.
constexpr std::int64_t small_holes = 65536;

/// Returns the limit of an arena's holes.
///
/// It is 3 %, or an eighth on the host, where free memory shortens waits.
/// With optimizer state on NVMe, the host has a region of its own for passes, which has no limit.
std::int64_t max_holes(std::size_t arena, std::int64_t live, bool has_region_of_passes) {
    if (schedule::tier_of_arena(arena) != spec::Tier::host) {
        return std::max(3 * live / 100, small_holes + page_bytes);
    }
    return has_region_of_passes ? std::numeric_limits<std::int64_t>::max()
                                : std::max(live / 8, small_holes + page_bytes);
}

/// Returns the holes of the arenas of a rank, which its training and its evaluation share.
std::array<Holes, num_arenas> holes_of(const spec::RunSpec& spec, int rank) {
    std::array<std::int64_t, num_arenas> reserved{};
    std::array<Holes, num_arenas> made;
    bool has_region_of_passes = false;
    const schedule::ModelLayout model{spec, rank};
    for (const auto variant : {schedule::Variant::train, schedule::Variant::evaluate}) {
        const auto program = schedule::build_placed(spec, model, variant);
        has_region_of_passes |= std::ranges::any_of(program.lanes, &schedule::Lane::serves_updates);
        const auto sizes = plan::arena_sizes(program, schedule::live_ranges(program));
        for (std::size_t a = 0; a < num_arenas; ++a) {
            reserved[a] = std::max(reserved[a], program.arena_bytes[a]);
            made[a].live = std::max(made[a].live, sizes.end[a] + sizes.peak[a]);
        }
    }
    for (std::size_t a = 0; a < num_arenas; ++a) {
        made[a].bytes = reserved[a] - made[a].live;
        made[a].max = max_holes(a, made[a].live, has_region_of_passes);
    }
    return made;
}

/// Returns a run of the same patterns whose programs are small enough to build.
spec::RunSpec buildable(const spec::RunSpec& spec) {
    auto made = plan::shortened(spec, plan::Size::of_plan).spec;
    made.train.micro_batches = plan::enough_micro_batches(made);
    return made;
}

/// Checks the arenas of some stages, and prints the worst holes.
void expect_few_holes(const std::string& name, const spec::RunSpec& spec) {
    std::array<Holes, num_arenas> worst;
    const int stages = spec.parallel.stages;
    for (const int stage : std::set{0, std::min(1, stages - 1), stages / 2, stages - 1}) {
        const auto holes = holes_of(spec, spec.parallel.ranks / stages * stage);
        for (std::size_t a = 0; a < num_arenas; ++a) {
            EXPECT_LE(holes[a].bytes, holes[a].max)
                << name << ", stage " << stage << ", " << arena_names[a] << ", live: " << holes[a].live;
            worst[a] = std::max(holes[a], worst[a], [](const Holes& one, const Holes& other) {
                return one.percent() < other.percent();
            });
        }
    }
    std::printf("%-56s", name.c_str());
    for (std::size_t a = 0; a < num_arenas; ++a) {
        if (worst[a].live > 0) {
            std::printf("  %s %.2f %%", arena_names[a], worst[a].percent());
        }
    }
    std::printf("\n");
}

spec::RunSpec loaded_with_its_machine(const fs::path& file) {
    std::ifstream stream{file};
    const std::string text{std::istreambuf_iterator<char>{stream}, {}};
    std::smatch match;
    EXPECT_TRUE(std::regex_search(text, match,
                                  std::regex{"ziggurat check decks/\\S+ --ranks ([0-9]+) --machine (\\S+)"}))
        << file << " does not say how it is checked";
    deck::Diagnostics found;
    deck::LoadOptions options{.ranks = std::stoi(match[1]), .has_nccl = true, .needs_data = false};
    options.machine = deck::load_machine(deck_folder / "machines" / (match[2].str() + ".yaml"), found);
    options.choose_homes = [](const auto& run, const auto& on) { return plan::choose_homes(run, on); };
    options.choose_depths = [](const spec::RunSpec& run, const spec::MachineSpec& on, spec::AutoDepths open) {
        return plan::choose_depths(run, on, open);
    };
    const auto loaded = deck::load(file.string(), {}, options);
    EXPECT_TRUE(loaded.ok()) << loaded.found.print();
    return loaded.run;
}

TEST(Packing, LeavesFewHolesForEveryShippedDeck) {
    int checked = 0;
    for (const auto& folder : {deck_folder, deck_folder / "systems"}) {
        for (const auto& entry : fs::directory_iterator{folder}) {
            if (entry.path().extension() == ".yaml") {
                expect_few_holes(entry.path().filename(), buildable(loaded_with_its_machine(entry.path())));
                ++checked;
            }
        }
    }
    EXPECT_GE(checked, 23);
}

TEST(Packing, LeavesFewHolesForPipelinesOfLlamas) {
    for (const auto& [name, spec] : test::llama_pipelines()) {
        expect_few_holes(name, spec);
    }
}

}  // namespace
}  // namespace ziggurat
