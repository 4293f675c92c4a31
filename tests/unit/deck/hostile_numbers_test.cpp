// Numbers beyond all bounds, in all keys that take a number, as overrides of a command line.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "deck/schema/schema.hpp"
#include "tests/unit/deck/load_fixture.hpp"

namespace ziggurat::deck {
namespace {

bool is_number(Type type) {
    switch (type) {
        case Type::integer:
        case Type::real:
        case Type::real_by_step:
        case Type::size:
        case Type::size_or_share:
        case Type::share:
        case Type::rate:
        case Type::duration:
        case Type::training_length:
        case Type::interval:
        case Type::reals:
        case Type::integers:
            return true;
        case Type::map:
        case Type::list:
        case Type::alias:
        case Type::variables:
        case Type::text:
        case Type::path:
        case Type::boolean:
        case Type::keyword:
        case Type::home:
        case Type::texts:
        case Type::keyword_list:
            return false;
    }
    return false;
}

/// Returns the unit that a value of this type needs, such as " steps".
std::string unit_of(Type type) {
    return type == Type::interval || type == Type::training_length ? " steps"
           : type == Type::size || type == Type::size_or_share     ? "B"
           : type == Type::rate                                    ? "B/s"
           : type == Type::duration                                ? "s"
           : type == Type::share                                   ? "%"
                                                                   : "";
}

/// Returns the path of an override: `data.train[0].weight`.
std::string path_of(const Row& row) {
    std::string path = row.path;
    for (auto at = path.find("[]"); at != std::string::npos; at = path.find("[]", at)) {
        path.replace(at, 2, "[0]");
    }
    return path;
}

std::vector<const Row*> number_rows() {
    std::vector<const Row*> rows;
    for (const auto& row : deck_schema().rows()) {
        if (is_number(row.type)) {
            rows.push_back(&row);
        }
    }
    return rows;
}

/// Numbers that no key may take.
const std::vector<std::string> never = {"4611686018427387905",
                                        "9223372036854775807",
                                        "9223372036854775808",
                                        "99999999999999999999999999",
                                        "1e400",
                                        "-9223372036854775808",
                                        "0x10",
                                        "+5",
                                        "5x",
                                        "nan"};

class HostileNumbers : public Load {};

TEST_F(HostileNumbers, AreErrorsAtTheirKey) {
    int keys = 0;
    for (const auto* row : number_rows()) {
        ++keys;
        for (const auto& number : never) {
            for (const auto& unit : {std::string{}, unit_of(row->type)}) {
                const auto override = path_of(*row) + "=" + number + unit;
                const auto loaded = load_base("", {override});
                // Numbers of some keys are compared with the run: a step after its end is not an error.
                const bool may_be_valid = !unit.empty() || (row->type == Type::real && row->max >= 1e20);
                if (!may_be_valid || !loaded.ok()) {
                    EXPECT_FALSE(loaded.ok()) << override;
                    EXPECT_THAT(loaded.found.print(), testing::HasSubstr("command line:1:")) << override;
                }
            }
        }
    }
    EXPECT_GT(keys, 90);
}

// Sums and products of the largest values of two keys do not overflow: the sanitizers would report them.
TEST_F(HostileNumbers, AtTheirBoundsHaveAVerdictInSomePairs) {
    std::vector<std::string> largest;
    for (const auto* row : number_rows()) {
        const bool is_list = row->type == Type::reals || row->type == Type::integers;
        if (!is_list && std::isfinite(row->max) && row->max >= 1000) {
            largest.push_back(fmt::format("{}={:.0f}{}", path_of(*row), row->max, unit_of(row->type)));
        }
    }
    ASSERT_GT(largest.size(), 30U);
    for (std::size_t i = 0; i < largest.size(); ++i) {
        for (std::size_t j = i + 1 + i % 4; j < largest.size(); j += 4) {
            const auto loaded = load_base("", {largest[i], largest[j]});
            EXPECT_TRUE(loaded.ok() || !loaded.found.print().empty());
            for (const auto number :
                 {loaded.run.train.steps, loaded.run.train.global_batch, loaded.run.data.seq}) {
                EXPECT_GE(number, 0) << largest[i] << " " << largest[j];
            }
            EXPECT_EQ(loaded.found.print().find("-9223372036854775808"), std::string::npos)
                << largest[i] << " " << largest[j];
        }
    }
}

}  // namespace
}  // namespace ziggurat::deck
