#include "tests/support/program/source_filter.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace ziggurat::test {
namespace {

const std::vector<KnownTest> tests{{"Fold.Adds", "/repo/tests/unit/comm/fold_test.cpp"},
                                   {"Ways/Sum.Adds/0", "/repo/tests/unit/comm/sum_test.cpp"},
                                   {"Ways/Sum.Adds/1", "/repo/tests/unit/comm/sum_test.cpp"}};

std::string complaint_about(const std::vector<KnownTest>& known, const std::string& file) {
    try {
        return "no complaint, but " + filter_of_file(known, file);
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
}

TEST(SourceFilter, LeavesTheTestsOfOneFile) {
    EXPECT_EQ("Fold.Adds", filter_of_file(tests, "unit/comm/fold_test.cpp"));
    EXPECT_EQ("Ways/Sum.Adds/0:Ways/Sum.Adds/1", filter_of_file(tests, "unit/comm/sum_test.cpp"));
}

TEST(SourceFilter, RefusesAFileThatHasNoTestHere) {
    EXPECT_THROW(filter_of_file(tests, "unit/comm/link_test.cpp"), std::invalid_argument);
    EXPECT_THROW(filter_of_file(tests, ""), std::invalid_argument);
}

TEST(SourceFilter, TakesWholeNamesOfFolders) {
    EXPECT_EQ("Fold.Adds", filter_of_file(tests, "comm/fold_test.cpp"));
    EXPECT_THROW(filter_of_file(tests, "omm/fold_test.cpp"), std::invalid_argument);
}

TEST(SourceFilter, NamesTheFilesThatThereAre) {
    EXPECT_EQ(
        "no test of this program is in 'a_test.cpp'. It has those of\n"
        "  /repo/tests/unit/comm/fold_test.cpp\n"
        "  /repo/tests/unit/comm/sum_test.cpp",
        complaint_about(tests, "a_test.cpp"));
}

TEST(SourceFilter, RefusesTwoTestsOfOneNameForTheyWouldRunTogether) {
    auto twice = tests;
    twice.push_back({"Fold.Adds", "/repo/tests/unit/comm/shared_test.cpp"});

    EXPECT_EQ(
        "test Fold.Adds is in two files of this program: /repo/tests/unit/comm/fold_test.cpp and "
        "/repo/tests/unit/comm/shared_test.cpp",
        complaint_about(twice, "unit/comm/sum_test.cpp"));
}

}  // namespace
}  // namespace ziggurat::test
