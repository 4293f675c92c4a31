#include "tests/support/program/source_filter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <vector>

namespace ziggurat::test {
namespace {

std::vector<KnownTest> tests_of_this_program() {
    std::vector<KnownTest> tests;
    const auto& all = *testing::UnitTest::GetInstance();
    for (int i = 0; i < all.total_test_suite_count(); ++i) {
        const auto& suite = *all.GetTestSuite(i);
        for (int j = 0; j < suite.total_test_count(); ++j) {
            const auto& test = *suite.GetTestInfo(j);
            tests.push_back({std::string{suite.name()} + "." + test.name(), test.file()});
        }
    }
    return tests;
}

bool is_in(const KnownTest& test, std::string_view file) {
    return test.source == file || test.source.ends_with("/" + std::string{file});
}

std::string joined(const std::set<std::string>& names) {
    std::string text;
    for (const auto& name : names) {
        text += "\n  " + name;
    }
    return text;
}

}  // namespace

std::string filter_of_file(std::span<const KnownTest> tests, std::string_view file) {
    std::string filter;
    std::set<std::string> sources;
    std::map<std::string, std::string> source_of;
    for (const auto& test : tests) {
        sources.insert(test.source);
        const auto [seen, is_new] = source_of.emplace(test.name, test.source);
        if (!is_new && seen->second != test.source) {
            throw std::invalid_argument{"test " + test.name + " is in two files of this program: " +
                                        seen->second + " and " + test.source};
        }
        if (is_in(test, file)) {
            filter += (filter.empty() ? "" : ":") + test.name;
        }
    }
    if (filter.empty()) {
        throw std::invalid_argument{"no test of this program is in '" + std::string{file} +
                                    "'. It has those of" + joined(sources)};
    }
    return filter;
}

void read_arguments(int argc, char** argv) {
    // The child of a death test has its parent's arguments and a filter of its own.
    const bool is_death_test = std::any_of(argv, argv + argc, [](std::string_view argument) {
        return argument.starts_with("--gtest_internal_run_death_test");
    });
    testing::InitGoogleTest(&argc, argv);
    for (int i = 1; i < argc; ++i) {
        const std::string_view argument = argv[i];
        if (!argument.starts_with("--file=")) {
            throw std::invalid_argument{"'" + std::string{argument} +
                                        "' is neither --file=FILE nor an option of GoogleTest"};
        }
        if (is_death_test) {
            continue;
        }
        if (GTEST_FLAG_GET(filter) != "*") {
            throw std::invalid_argument{"a second filter beside '" + GTEST_FLAG_GET(filter) +
                                        "'. Give one: " + std::string{argument}};
        }
        GTEST_FLAG_SET(filter, filter_of_file(tests_of_this_program(), argument.substr(7)));
    }
}

}  // namespace ziggurat::test
