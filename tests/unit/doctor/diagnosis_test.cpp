#include "doctor/diagnosis.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ziggurat::doctor {
namespace {

Diagnoses one_of_each() {
    return {ok_diagnosis("launcher", "mpirun is there"), warning("memory", "1 of 2", "Ask for more."),
            error("folder", "'a\x1b[2J' is gone", "Make it.", Scope::rank)};
}

TEST(Diagnoses, FailByErrorsAlone) {
    EXPECT_EQ(exit_code({}), 0);
    EXPECT_EQ(exit_code({warning("memory", "little", "Ask for more.")}), 0);
    EXPECT_EQ(exit_code(one_of_each()), 3);
}

TEST(Diagnoses, AreALineEach) {
    EXPECT_EQ(as_text(one_of_each()),
              "ok       launcher  mpirun is there\n"
              "warning  memory    1 of 2. Ask for more.\n"
              "error    folder    'a\\x1b[2J' is gone. Make it.\n");
}

TEST(Diagnoses, AreAListInJson) {
    const auto json = nlohmann::json::parse(as_json(one_of_each()));
    EXPECT_EQ(json["errors"], 1);
    EXPECT_EQ(json["warnings"], 1);
    EXPECT_EQ(json["exit_code"], 3);
    ASSERT_EQ(json["checks"].size(), 3);
    EXPECT_TRUE(json["checks"][0]["remedy"].is_null());
    EXPECT_EQ(json["checks"][1]["check"], "memory");
    EXPECT_EQ(json["checks"][1]["state"], "warning");
    EXPECT_EQ(json["checks"][1]["found"], "1 of 2");
    EXPECT_EQ(json["checks"][1]["remedy"], "Ask for more.");
}

TEST(Diagnoses, TravelBetweenRanks) {
    auto all = one_of_each();
    all[1].subject = "of a node";
    EXPECT_EQ(unpack(pack(all)), all);
    EXPECT_EQ(unpack(pack({})), Diagnoses{});
    EXPECT_EQ(unpack(pack({ok_diagnosis("folder", "'\xff'")})).size(), 1);
}

}  // namespace
}  // namespace ziggurat::doctor
