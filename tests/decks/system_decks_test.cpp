/// Each deck of decks/systems loads with the command in its first lines.
///
/// The decks of a paper's size fit its machine, but not without the tier that holds their state, or without
/// an axis.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>

#include "deck/load.hpp"
#include "deck/machine/machine.hpp"
#include "layout/counts.hpp"
#include "plan/plan_run.hpp"
#include "plan/report/memory_report.hpp"
#include "plan/search/choose_depths.hpp"
#include "plan/search/choose_homes.hpp"
#include "plan/time_to_train.hpp"

namespace ziggurat::deck {
namespace {

namespace fs = std::filesystem;

const fs::path folder = fs::path{std::getenv("PROJECT_SOURCE_DIR")} / "decks";

class SystemDecks : public ::testing::Test {
  protected:
    static constexpr int num_tokens = 200'000;

    void SetUp() override {
        fs::create_directories(scratch_);
        std::ofstream{scratch_ / "text.txt"} << std::string(num_tokens, 'a');
    }
    void TearDown() override { fs::remove_all(scratch_); }

    /// The small decks train on a text; a plan of the others needs no tokens.
    Environment environment() const {
        return [this](const std::string& name) {
            const auto file = name == "ZIGGURAT_TEXT" ? "text.txt" : name == "ZIGGURAT_NVME" ? "" : "absent";
            return std::optional{(scratch_ / file).string()};
        };
    }

    LoadedDeck load_for(const std::string& name,
                        const std::string& machine,
                        int ranks,
                        const std::vector<std::string>& overrides) const {
        LoadOptions options;
        options.ranks = ranks;
        options.environment = environment();
        options.needs_data = machine.empty();
        options.choose_homes = [](const auto& run, const auto& on) { return plan::choose_homes(run, on); };
        options.choose_depths = [](const spec::RunSpec& run, const spec::MachineSpec& on,
                                   spec::AutoDepths open) { return plan::choose_depths(run, on, open); };
        if (!machine.empty()) {
            Diagnostics found;
            options.machine = load_machine(folder / "machines" / (machine + ".yaml"), found);
            EXPECT_TRUE(options.machine) << found.print();
            options.has_nccl = true;  // independent of this build
        }
        auto loaded = load((folder / "systems" / name).string(), overrides, options);
        EXPECT_TRUE(loaded.ok() && loaded.found.warnings() == 0) << loaded.found.print();
        return loaded;
    }

    /// Loads without the planner: decks/header_commands and the tests below check that the plan fits.
    LoadedDeck load_quickly(const std::string& name, const std::string& machine, int ranks) const {
        Diagnostics found;
        LoadOptions options{
            .ranks = ranks, .has_nccl = true, .needs_data = false, .environment = environment()};
        options.machine = load_machine(folder / "machines" / (machine + ".yaml"), found);
        EXPECT_TRUE(options.machine) << found.print();
        return load((folder / "systems" / name).string(), {}, options);
    }

    fs::path scratch_ = fs::temp_directory_path() / ("ziggurat_systems_" + std::to_string(::getpid()));
};

std::string text_of(const fs::path& file) {
    std::ifstream stream{file};
    return {std::istreambuf_iterator<char>{stream}, {}};
}

TEST_F(SystemDecks, LoadAsTheirFirstLinesSay) {
    const std::regex here{"mpirun -n ([0-9]+) ziggurat train decks/systems/(\\S+)"};
    const std::regex there{"ziggurat check decks/systems/(\\S+) --ranks ([0-9]+) --machine (\\S+)"};
    const std::regex size{"([0-9,]{9,}) parameters"};
    int checked = 0;
    for (const auto& entry : fs::directory_iterator{folder / "systems"}) {
        const auto text = text_of(entry.path());
        const std::string name = entry.path().filename();
        std::smatch match;
        LoadedDeck loaded;
        if (std::regex_search(text, match, here)) {
            EXPECT_EQ(match[2], name);
            loaded = load_for(name, "", std::stoi(match[1]), {});
            EXPECT_TRUE(plan::memory_report(loaded.run, loaded.machine).fits) << name;
        } else {
            ASSERT_TRUE(std::regex_search(text, match, there)) << name << " does not say how it is checked";
            EXPECT_EQ(match[1], name);
            loaded = load_quickly(name, match[3], std::stoi(match[2]));
        }
        if (std::regex_search(text, match, size)) {
            std::string digits = match[1];
            std::erase(digits, ',');
            EXPECT_EQ(layout::count_parameters(loaded.run.model).total, std::stoll(digits)) << name;
        }
        ++checked;
    }
    EXPECT_GE(checked, 23);
}

/// Expects that the deck fits, and that it lacks memory of `tier` with `overrides`.
void expect_to_need(const LoadedDeck& whole, const LoadedDeck& without, spec::Tier tier) {
    const auto report = plan::memory_report(whole.run, whole.machine);
    EXPECT_TRUE(report.fits) << report.table;
    EXPECT_NE(report.table.find("  FITS, free: "), std::string::npos) << report.table;
    const auto footprint = plan::plan_run(without.run, without.machine).footprint;
    EXPECT_GT(footprint.shortfall(tier), 0);
}

/// Expects that the deck fits. Returns the planned seconds of a step of the other one over its own.
double planned_speedup(const LoadedDeck& ours, const LoadedDeck& other) {
    EXPECT_TRUE(plan::memory_report(ours.run, ours.machine).fits);
    const auto seconds = plan::planned_step_seconds(ours.run, ours.machine);
    const auto seconds_of_other = plan::planned_step_seconds(other.run, other.machine);
    EXPECT_TRUE(seconds && seconds_of_other);
    return seconds_of_other.value_or(0) / seconds.value_or(1);
}

TEST_F(SystemDecks, ThirteenBillionFitsOneDeviceAndItsHost) {
    const auto at = [&](const std::vector<std::string>& overrides) {
        return load_for("zero-offload-13b.yaml", "v100-32gb", 1, overrides);
    };
    expect_to_need(at({}), at({"tiers.home.gradients=device", "tiers.home.optimizer=device"}),
                   spec::Tier::device);
}

TEST_F(SystemDecks, FourteenBillionWithSpeculativeUpdatesFitOneDeviceAndItsHost) {
    const auto at = [&](const std::vector<std::string>& overrides) {
        return load_for("superoffload-14b.yaml", "dgx-h100", 1, overrides);
    };
    const auto whole = at({});
    EXPECT_NE(plan::memory_report(whole.run, whole.machine).table.find("undo"), std::string::npos);
    expect_to_need(whole, at({"tiers.home.gradients=device", "tiers.home.optimizer=device"}),
                   spec::Tier::device);
}

TEST_F(SystemDecks, Gpt3FitsOneSmallDeviceAndItsDisks) {
    const auto at = [&](const std::vector<std::string>& overrides) {
        return load_for("fuyou-175b.yaml", "rtx-4090-ssds", 1, overrides);
    };
    expect_to_need(at({}), at({"tiers.home.optimizer=host"}), spec::Tier::host);
}

TEST_F(SystemDecks, ReadingParametersTwiceAStepIsFasterThanTwicePerMicroBatch) {
    const auto at = [&](const std::string& order) {
        return load_for("greedysnake-65b.yaml", "rtx-4090-ssds", 1, {"train.accumulate=" + order});
    };
    EXPECT_GT(planned_speedup(at("by_layer"), at("by_micro_batch")), 1 / 0.9);
}

TEST_F(SystemDecks, HalfAMillionTokensInTilesFitOneDevice) {
    const auto at = [&](const std::vector<std::string>& overrides) {
        return load_for("alst-500k.yaml", "dgx-h100", 1, overrides);
    };
    expect_to_need(at({}), at({"tiers.home.activations=device"}), spec::Tier::device);
    const std::string longer_model = "model.max_seq=640k", longer_data = "data.seq=640k";
    expect_to_need(at({longer_model, longer_data}), at({longer_model, longer_data, "tiers.sequence_tiles=1"}),
                   spec::Tier::device);
}

TEST_F(SystemDecks, EighteenBillionByChunksFitEightDevicesWithASmallHost) {
    const auto at = [&](const std::vector<std::string>& overrides) {
        return load_for("patrickstar-18b.yaml", "dgx-2", 8, overrides);
    };
    expect_to_need(at({}),
                   at({"tiers.movement=static", "tiers.home.parameters=host", "tiers.home.gradients=host",
                       "tiers.home.optimizer=host"}),
                   spec::Tier::host);
}

TEST_F(SystemDecks, SixtyEightBillionByChunksFitEightDevicesAndTheirHost) {
    const auto at = [&](const std::vector<std::string>& overrides) {
        return load_for("patrickstar-68b.yaml", "dgx-a100", 8, overrides);
    };
    expect_to_need(at({}), at({"tiers.movement=static"}), spec::Tier::device);
}

TEST_F(SystemDecks, Gpt3ByChunksFitsThirtyTwoDevicesAndTheirHosts) {
    const auto at = [&](const std::vector<std::string>& overrides) {
        return load_for("patrickstar-175b.yaml", "dgx-a100", 32, overrides);
    };
    expect_to_need(at({}), at({"tiers.movement=static"}), spec::Tier::device);
}

const std::vector<std::string> without_disks = {"tiers.home.parameters=host", "tiers.home.gradients=host",
                                                "tiers.home.optimizer=host", "tiers.nvme.paths=[]"};

TEST_F(SystemDecks, ATrillionFitsOneDgx2AndItsDisks) {
    const auto at = [&](const std::vector<std::string>& overrides) {
        return load_for("zero-infinity-1t.yaml", "dgx-2", 16, overrides);
    };
    expect_to_need(at({}), at(without_disks), spec::Tier::host);
    expect_to_need(at({}), at({"tiers.tile=off"}), spec::Tier::device);
}

TEST_F(SystemDecks, ThirtyTwoTrillionFitThirtyTwoDgx2AndTheirDisks) {
    const auto at = [&](const std::vector<std::string>& overrides) {
        return load_for("zero-infinity-32t.yaml", "dgx-2", 512, overrides);
    };
    expect_to_need(at({}), at(without_disks), spec::Tier::host);
}

/// A placement of state on one DGX-2, with the shape of the largest model that ZeRO-Infinity's authors
/// trained with it.
struct Strategy {
    const char* name;
    std::int64_t layers, hidden, heads;
    std::vector<std::string> placement;
};

/// In ascending order of size: 1.4, 13, 20, 70 and 1000 billion parameters (page 17 of the slides that
/// perf/published/zero_infinity.py names).
const Strategy strategies[] = {
    {"data parallelism",
     26,
     2048,
     32,
     {"sharding.zero=0",
      "tiers.home={parameters: device, gradients: device, optimizer: device, activations: device}"}},
    {"ZeRO-Offload",
     40,
     5120,
     40,
     {"sharding.zero=2",
      "tiers.home={parameters: device, gradients: host, optimizer: host, activations: device}"}},
    {"ZeRO stage 3",
     24,
     8192,
     64,
     {"tiers.home={parameters: device, gradients: device, optimizer: device, activations: device}"}},
    {"ZeRO-Infinity on the host",
     86,
     8192,
     64,
     {"tiers.home={parameters: host, gradients: host, optimizer: host, activations: host}"}},
    {"ZeRO-Infinity on NVMe", 128, 25600, 256, {}},
};

TEST_F(SystemDecks, EachStrategyFitsItsLargestPublishedModelAndNotThatOfTheNextOne) {
    const auto fits = [&](const Strategy& strategy, const Strategy& shape) {
        auto overrides = strategy.placement;
        if (!overrides.empty()) {
            overrides.insert(overrides.end(), {"tiers.tile=off", "tiers.nvme.paths=[]"});
        }
        overrides.insert(
            overrides.end(),
            {"checkpoint.async=false", "model.layers=" + std::to_string(shape.layers),
             "model.hidden=" + std::to_string(shape.hidden), "model.heads=" + std::to_string(shape.heads)});
        const auto loaded = load_for("zero-infinity-1t.yaml", "dgx-2", 16, overrides);
        return plan::plan_run(loaded.run, loaded.machine, plan::PlannedRanks::first).footprint.fits();
    };
    for (std::size_t i = 0; i < std::size(strategies); ++i) {
        EXPECT_TRUE(fits(strategies[i], strategies[i])) << strategies[i].name;
        if (i + 1 < std::size(strategies)) {
            EXPECT_FALSE(fits(strategies[i], strategies[i + 1])) << strategies[i].name;
        }
    }
}

TEST_F(SystemDecks, TheDisksOfADgx2AreTooSmallForTwoTrillion) {
    const auto twice = load_for("zero-infinity-1t.yaml", "dgx-2", 16, {"model.layers=254"});
    EXPECT_GT(plan::plan_run(twice.run, twice.machine, plan::PlannedRanks::first)
                  .footprint.shortfall(spec::Tier::nvme),
              0);
    const auto more = load_for("zero-infinity-32t.yaml", "dgx-2", 512, {"model.layers=310"});
    EXPECT_GT(plan::plan_run(more.run, more.machine, plan::PlannedRanks::first)
                  .footprint.shortfall(spec::Tier::nvme),
              0);
}

TEST_F(SystemDecks, ATrillionFitsThreeAxesAndNotTwo) {
    const auto at = [&](const std::vector<std::string>& overrides) {
        return load_for("megatron-3d-1t.yaml", "dgx-a100", 3072, overrides);
    };
    const auto whole = at({});
    expect_to_need(whole, at({"parallel.pipeline={stages: 1}"}), spec::Tier::device);
    const auto without = at({"parallel.tensor=1"});
    EXPECT_GT(plan::plan_run(without.run, without.machine).footprint.shortfall(spec::Tier::device), 0);
}

TEST_F(SystemDecks, ATrillionFitsWhereTensorRanksShareTokens) {
    const auto at = [&](const std::vector<std::string>& overrides) {
        return load_for("megatron-sp-1t.yaml", "dgx-a100", 512, overrides);
    };
    expect_to_need(at({}), at({"parallel.sequence=false"}), spec::Tier::device);
}

TEST_F(SystemDecks, AMillionTokensFitContextRanks) {
    const auto at = [&](const std::vector<std::string>& overrides) {
        return load_for("ulysses-1m.yaml", "dgx-h100", 32, overrides);
    };
    expect_to_need(at({}), at({"parallel.context=1", "train.global_batch=32"}), spec::Tier::device);
}

TEST_F(SystemDecks, LongSequencesFitMoreRanksOfARingThanThereAreHeads) {
    const auto at = [&](const std::vector<std::string>& overrides) {
        return load_for("context-ring-256k.yaml", "cpu-64", 64, overrides);
    };
    expect_to_need(at({}), at({"parallel.context=1", "train.global_batch=64"}), spec::Tier::device);
}

TEST_F(SystemDecks, EightyFourBillionFitStagesOfSmallDevices) {
    const auto at = [&](const std::vector<std::string>& overrides) {
        return load_for("gpipe-84b.yaml", "dgx-a100", 128, overrides);
    };
    expect_to_need(at({}), at({"parallel.pipeline={stages: 1}", "train.global_batch=128"}),
                   spec::Tier::device);
}

TEST_F(SystemDecks, GradientsOfWeightsFillTheWaitsOfThirtyTwoStages) {
    const auto at = [&](const std::string& schedule) {
        return load_for("zero-bubble-28b.yaml", "dgx-a100", 32, {"parallel.pipeline.schedule=" + schedule});
    };
    EXPECT_NEAR(planned_speedup(at("zero_bubble"), at("1f1b")), 1.18, 0.02);
}

// Eight stages with sixteen micro-batches wait for 7/16 of the time of their slots with a flush, and not
// without.
TEST_F(SystemDecks, OlderWeightsSpareEightStagesTheirWaits) {
    const auto at = [&](const std::string& schedule) {
        return load_for("pipedream-2b.yaml", "dgx-2", 64, {"parallel.pipeline.schedule=" + schedule});
    };
    EXPECT_NEAR(planned_speedup(at("pipedream"), at("1f1b")), 1.44, 0.06);
}

}  // namespace
}  // namespace ziggurat::deck
