/// A training on a device that fails at any call ends with an error that names the failed operation.
#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/error.hpp"
#include "tests/fuzz/nvme_folder.hpp"
#include "tests/fuzz/training.hpp"
#include "tests/support/device/failing_device.hpp"
#include "tests/support/device/test_processors.hpp"
#include "tests/support/random/random_deck.hpp"
#include "tests/support/rank_test.hpp"

namespace ziggurat::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t num_decks = 1;  // sanitizers are twenty times slower
constexpr std::int64_t failures_per_deck = 5;
#else
constexpr std::uint64_t num_decks = 3;
constexpr std::int64_t failures_per_deck = 12;
#endif

/// Saves after each step, so that a save is in progress when the device fails.
constexpr LrScheduleState course{.steps = 3, .saves = true};

/// Returns the names of ops and buffers.
std::set<std::string> names_in(const spec::RunSpec& run) {
    std::set<std::string> names{"copying the state that a checkpoint takes"};
    const auto programs = train::build_programs(run, 0);
    for (const auto* program : {&programs.train, &programs.evaluate}) {
        for (const auto& op : program->ops) {
            names.insert(op.label);
        }
        for (const auto& buffer : program->buffers) {
            names.insert(buffer.name);
        }
    }
    return names;
}

/// Returns the text between the first two quotation marks of an error.
std::string quoted_in(const std::string& text) {
    const auto begin = text.find('\'');
    const auto end = text.find('\'', begin + 1);
    return end == std::string::npos ? "" : text.substr(begin + 1, end - begin - 1);
}

struct Trial {
    std::optional<TrainingOutcome> outcome;
    std::string error;
    std::int64_t num_calls = 0;
};

Trial train_with(const spec::RunSpec& run, DeviceFailure failure, std::int64_t failing_call) {
    const auto threads = run.parallel.threads;
    auto devices = processors_for_tests(threads);
    const auto device = std::make_shared<FailingDevice>(devices.device, threads, failure, failing_call);
    devices.device = device;
    Trial trial;
    try {
        trial.outcome =
            train_on_made_up_batches(run, world(), train::build_programs(run, 0), course, devices);
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::resource);
        trial.error = error.what();
    }
    trial.num_calls = device->num_calls();
    return trial;
}

class LostDevice : public ::testing::TestWithParam<DeviceFailure> {};

TEST_P(LostDevice, EndsTheTrainingAndNamesWhatHasFailed) {
    ASSERT_TRUE(tests_on_emulated_device()) << "the host is never lost";
    ASSERT_EQ(world().size(), 1);
    const NvmeFolder folder;
    std::set<std::string> named;
    for (std::uint64_t seed = 1; seed <= num_decks; ++seed) {
        auto run = random_deck_of_tiers(seed, 1, folder.path()).run;
        run.checkpoint = {spec::Interval{.steps = 1}, 100, 0, true};
        run.run.resume = spec::Resume::never;
        const auto names = names_in(run);
        run.run.dir = folder.path() + "/" + std::to_string(seed);
        const auto well = train_with(run, GetParam(), 0);
        ASSERT_TRUE(well.outcome);
        for (std::int64_t i = 0; i < failures_per_deck; ++i) {
            // An error before the first op has no op to name. The number of the last calls of saves varies.
            const auto failing_call = 1 + (2 * i + 1) * well.num_calls / (2 * failures_per_deck);
            SCOPED_TRACE("deck " + std::to_string(seed) + ", call " + std::to_string(failing_call) + " of " +
                         std::to_string(well.num_calls));
            run.run.dir = folder.path() + "/" + std::to_string(seed) + "-" + std::to_string(failing_call);

            const auto trial = train_with(run, GetParam(), failing_call);

            if (trial.outcome) {  // the failed copy belonged to a save no longer needed
                EXPECT_EQ(GetParam(), DeviceFailure::alone);
                EXPECT_EQ(trial.outcome->first_difference(*well.outcome), "");
                continue;
            }
            EXPECT_NE(trial.error.find("the device is gone"), std::string::npos) << trial.error;
            EXPECT_TRUE(names.contains(quoted_in(trial.error))) << trial.error;
            named.insert(trial.error);
        }
    }
    EXPECT_GT(named.size(), num_decks);
    std::cout << "for instance: " << *named.begin() << "; " << *named.rbegin() << '\n';
}

INSTANTIATE_TEST_SUITE_P(AnywhereIn,
                         LostDevice,
                         ::testing::Values(DeviceFailure::lost,
                                           DeviceFailure::lost_late,
                                           DeviceFailure::alone),
                         [](const auto& made) {
                             return made.param == DeviceFailure::lost        ? "Calls"
                                    : made.param == DeviceFailure::lost_late ? "Work"
                                                                             : "OneStream";
                         });

}  // namespace
}  // namespace ziggurat::test
