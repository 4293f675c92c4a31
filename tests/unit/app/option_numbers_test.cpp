// Numbers that no option may take: beyond 64 bits, negative, in another notation, with more text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "app/command_line/cli.hpp"
#include "app/command_line/command_table.hpp"

namespace ziggurat::app {
namespace {

/// Texts that are not a whole number of at most 64 bits with decimal digits only.
const std::vector<std::string> never_whole = {"18446744073709551616",
                                              "99999999999999999999999999",
                                              "1e30",
                                              "1e400",
                                              "-1",
                                              "-9223372036854775808",
                                              "0x10",
                                              "1e3",
                                              "1.5",
                                              "",
                                              " ",
                                              "+5",
                                              "5x",
                                              "5 ",
                                              " 5",
                                              "1,000",
                                              "nan",
                                              "inf"};
/// Whole numbers that no amount reaches.
const std::vector<std::string> never_reached = {"4611686018427387905", "9223372036854775807",
                                                "9223372036854775808", "18446744073709551615"};

/// Kinds of numbers, by the description of their values.
struct NumberKind {
    const char* takes;
    std::vector<std::string> refused;
};

const std::vector<NumberKind> kinds = {
    {"a whole number ", never_whole},
    {"a number of tokens ",
     {"1e30", "1e400", "-1", "0", "0x10", "1.5", "", "+5", "5x", "nan", "inf", "99999999999999999999999999"}},
    {"a number ", {"1e30", "1e400", "-1", "0x10", "", " ", "+5", "5x", "nan", "inf", "-0.1"}},
    {"a size ",
     {"1e30", "-1", "5", "1e3B", "0x10B", "", "+5GB", "5x", "9223372036854775808B", "99999999999PB"}},
    {"a range of op numbers ",
     {"1e3", "-1", "0x10", "", "+5", "5x", "1-4611686018427387905", "5-1", "1-", "-"}},
};

std::string err_of(std::vector<std::string> words) {
    words.insert(words.begin(), "ziggurat");
    std::vector<char*> pointers;
    for (auto& word : words) {
        pointers.push_back(word.data());
    }
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const auto result = parse_command_line(static_cast<int>(pointers.size()), pointers.data());
    testing::internal::GetCapturedStdout();
    const auto err = testing::internal::GetCapturedStderr();
    const auto* exit = std::get_if<EarlyExit>(&result);
    return exit != nullptr && exit->exit_code == 2 ? err : "accepted";
}

/// Calls `check` with each command and option that takes a number, and the kind of the number.
template <class Check>
int for_each_number(const Check& check) {
    int count = 0;
    for (const auto& row : commands()) {
        for (const auto& option : row.options) {
            for (const auto& kind : kinds) {
                if (option.takes.starts_with(kind.takes)) {
                    check(row, option, kind);
                    ++count;
                    break;
                }
            }
        }
    }
    return count;
}

TEST(OptionNumbers, ThatAreInvalidAreRefusedWithTheRange) {
    const int options =
        for_each_number([](const CommandRow& row, const OptionRow& option, const NumberKind& kind) {
            auto refused = kind.refused;
            if (option.name != "--seed") {
                refused.insert(refused.end(), never_reached.begin(), never_reached.end());
            }
            for (const auto& value : refused) {
                const auto line = row.name + " " + option.name + "=" + value;
                SCOPED_TRACE(line);
                auto words = std::vector<std::string>{row.name};
                if (const auto space = row.name.find(' '); space != std::string::npos) {
                    words = {row.name.substr(0, space), row.name.substr(space + 1)};
                }
                words.push_back(option.name + "=" + value);
                const auto err = err_of(words);
                EXPECT_THAT(err, testing::HasSubstr("'" + option.name + "' takes " + option.takes));
                EXPECT_THAT(err, testing::HasSubstr("not '" + value + "'"));
            }
        });
    EXPECT_GE(options, 20) << "fewer options with numbers than the commands have";
}

TEST(OptionNumbers, HaveARangeInTheirDescription) {
    const std::regex range{"(from|above) .* (up )?to .*"};
    for_each_number([&](const CommandRow& row, const OptionRow& option, const NumberKind&) {
        EXPECT_TRUE(std::regex_search(option.takes, range))
            << row.name << " " << option.name << ": " << option.takes;
    });
    // A placeholder of a number belongs to an option that is checked above.
    for (const auto& row : commands()) {
        for (const auto& option : row.options) {
            const bool is_number = option.value == "N" || option.value == "BYTES" ||
                                   option.value == "STEPS" || option.value == "R" || option.value == "T";
            const bool is_checked = std::ranges::any_of(
                kinds, [&](const NumberKind& kind) { return option.takes.starts_with(kind.takes); });
            EXPECT_TRUE(!is_number || is_checked || option.name == "--time")
                << row.name << " " << option.name;
        }
    }
}

}  // namespace
}  // namespace ziggurat::app
