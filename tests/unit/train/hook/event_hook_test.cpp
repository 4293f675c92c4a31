#include "train/hook/event_hook.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::train {
namespace {

/// More than any of these commands needs, also on a busy machine.
constexpr double long_seconds = 120;
constexpr int long_waits = 12'000;

class EventHookTest : public ::testing::Test {
  protected:
    EventHook hook_of(const std::string& command) {
        return EventHook{command, folder_.path(), open_for_writing(file("log"), OpenMode::append),
                         [this](const std::string& note) { notes_.push_back(note); }};
    }
    std::string file(const std::string& name) const { return folder_.path() + "/" + name; }
    std::string text_of(const std::string& name) const { return test::contents_of(file(name)); }
    void finish(EventHook& hook) {
        hook.finish(long_seconds, [] { return false; });
    }

    static void wait_a_moment() { std::this_thread::sleep_for(std::chrono::milliseconds{10}); }
    void wait_for_text(const std::string& name, const std::string& text) const {
        for (int i = 0; i < long_waits && text_of(name) != text; ++i) {
            wait_a_moment();
        }
        EXPECT_EQ(text_of(name), text);
    }

    test::ScratchFolder folder_;
    std::vector<std::string> notes_;
};

TEST_F(EventHookTest, GetsEachRareEventInOrder) {
    auto hook = hook_of("cat >> " + file("events"));
    for (int i = 0; i < 20; ++i) {
        hook.add("validate", "{\"event\":\"validate\",\"step\":" + std::to_string(i) + "}\n");
        hook.add("step", "{\"event\":\"step\",\"step\":" + std::to_string(i) + "}\n");
        hook.advance();
    }
    hook.add("end", "{\"event\":\"end\",\"step\":20}\n");
    finish(hook);

    std::istringstream lines{text_of("events")};
    int next = 0;
    for (std::string line; std::getline(lines, line); ++next) {
        const auto event = nlohmann::json::parse(line);
        EXPECT_EQ(event["step"], next);
        EXPECT_EQ(event["event"], next < 20 ? "validate" : "end");
        EXPECT_EQ(event["run_dir"], folder_.path());
    }
    EXPECT_EQ(next, 21);
    EXPECT_TRUE(notes_.empty());
}

TEST_F(EventHookTest, RunsOneCommandAtATime) {
    auto hook = hook_of("test ! -e " + file("runs") + " && touch " + file("runs") + " && sleep 0.02 && rm " +
                        file("runs"));
    for (int i = 0; i < 5; ++i) {
        hook.add("warning", "{\"event\":\"warning\",\"text\":\"a, b\"}\n");
    }
    finish(hook);
    EXPECT_TRUE(notes_.empty()) << notes_.front();
}

TEST_F(EventHookTest, NamesFailures) {
    auto hook = hook_of("echo $ZIGGURAT_EVENT >> " + file("names"));
    hook.add("end", "{\"event\":\"end\",\"exit_code\":3}\n", 3);
    hook.add("end", "{\"event\":\"end\",\"exit_code\":75}\n", exit_code_run_again);
    finish(hook);
    EXPECT_EQ(text_of("names"), "failure\nend\n");
}

TEST_F(EventHookTest, HidesTheLauncher) {
    ::setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    ::setenv("PMIX_RANK", "0", 1);
    ::setenv("ZIGGURAT_HOOK_TEST", "kept", 1);
    auto hook = hook_of("env > " + file("environment"));
    hook.add("start", "{\"event\":\"start\"}\n");
    finish(hook);
    const auto text = text_of("environment");
    EXPECT_EQ(text.find("OMPI_"), std::string::npos);
    EXPECT_EQ(text.find("PMIX_"), std::string::npos);
    EXPECT_NE(text.find("ZIGGURAT_HOOK_TEST=kept"), std::string::npos);
    EXPECT_NE(text.find("ZIGGURAT_RUN_DIR=" + folder_.path()), std::string::npos);
}

TEST_F(EventHookTest, CountsFailuresOfTheCommand) {
    auto hook = hook_of("echo words; exit 5");
    for (int i = 0; i < 3; ++i) {
        hook.add("validate", "{\"event\":\"validate\"}\n");
    }
    finish(hook);
    ASSERT_EQ(notes_.size(), 2U);
    EXPECT_NE(notes_[0].find("exit code 5, event 'validate'"), std::string::npos) << notes_[0];
    EXPECT_NE(notes_[1].find("failed for 3 of 3 events"), std::string::npos) << notes_[1];
    EXPECT_EQ(text_of("log"), "words\nwords\nwords\n");
}

TEST_F(EventHookTest, StartsTheLastEventAfterAnInterruption) {
    const auto wait = "while test ! -e " + file("go") + "; do sleep 0.01; done; ";
    auto hook =
        hook_of("test $ZIGGURAT_EVENT = end || { " + wait + "}; echo $ZIGGURAT_EVENT >> " + file("names"));
    for (const char* event : {"start", "validate", "validate", "end"}) {
        hook.add(event, std::string{"{\"event\":\""} + event + "\"}\n");
    }
    hook.finish(long_seconds, [] { return true; });
    ASSERT_EQ(notes_.size(), 1U);
    EXPECT_NE(notes_[0].find("did not get 2 events"), std::string::npos) << notes_[0];
    wait_for_text("names", "end\n");  // while the first command waits
    std::ofstream{file("go")} << "go";
    wait_for_text("names", "end\nstart\n");
}

TEST_F(EventHookTest, GetsTheFailureOfAProcessThatEnds) {
    auto hook = hook_of("cat > " + file("draft") + " && mv " + file("draft") + " " + file("event"));
    hook.fail("{\"event\":\"end\",\"step\":4,\"reason\":\"a rank died\"}\n");
    for (int i = 0; i < long_waits && text_of("event").empty(); ++i) {
        wait_a_moment();
    }
    const auto event = nlohmann::json::parse(text_of("event"));
    EXPECT_EQ(event["event"], "failure");
    EXPECT_EQ(event["reason"], "a rank died");
}

}  // namespace
}  // namespace ziggurat::train
