#include "app/sweep/sweep_grid.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/error.hpp"

namespace ziggurat::app {
namespace {

TEST(SweepGrid, HasAllCombinations) {
    const auto grid = sweep_grid({"optimizer.lr=1e-4,3e-4", "train.steps=10", "run.seed=1, 2,3"});
    EXPECT_EQ(grid.fixed, std::vector<std::string>{"train.steps=10"});
    ASSERT_EQ(grid.axes.size(), 2U);
    ASSERT_EQ(grid.runs.size(), 6U);
    EXPECT_EQ(grid.runs[0], (SweepRun{"lr=1e-4_seed=1", {"1e-4", "1"}}));
    EXPECT_EQ(grid.runs[1], (SweepRun{"lr=1e-4_seed=2", {"1e-4", "2"}}));
    EXPECT_EQ(grid.runs[5], (SweepRun{"lr=3e-4_seed=3", {"3e-4", "3"}}));
    EXPECT_EQ(grid.overrides_of(grid.runs[4]),
              (std::vector<std::string>{"train.steps=10", "optimizer.lr=3e-4", "run.seed=2"}));
}

TEST(SweepGrid, KeepsCommasInsideOfValues) {
    const auto grid = sweep_grid({"train.only=[a, b],[c]", "optimizer={lr: 1e-3, eps: 1e-8}", "run.seed=1"});
    EXPECT_EQ(grid.fixed, (std::vector<std::string>{"optimizer={lr: 1e-3, eps: 1e-8}", "run.seed=1"}));
    ASSERT_EQ(grid.axes.size(), 1U);
    EXPECT_EQ(grid.axes[0].values, (std::vector<std::string>{"[a, b]", "[c]"}));
    EXPECT_EQ(sweep_grid({"a='x,y','z'"}).axes[0].values, (std::vector<std::string>{"'x,y'", "'z'"}));
}

TEST(SweepGrid, NamesRunsByTheirValuesOnly) {
    const auto grid = sweep_grid({"data.seq=a/b,a:b,c", "model.seq=1,2"});
    std::set<std::string> names;
    for (const auto& run : grid.runs) {
        names.insert(run.name);
        EXPECT_EQ(run.name.find('/'), std::string::npos) << run.name;
    }
    EXPECT_EQ(names.size(), 6U);
    EXPECT_TRUE(names.contains("data.seq=c_model.seq=2")) << "two keys end in seq";
    const auto fewer = sweep_grid({"data.seq=a:b,d", "model.seq=2,3"});
    EXPECT_TRUE(names.contains(fewer.runs[0].name))
        << "other values do not change a name: " << fewer.runs[0].name;
}

TEST(SweepGrid, RefusesWhatIsNoGrid) {
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"optimizer.lr=1e-4"},
                                               {"optimizer.lr"},
                                               {"=1,2"},
                                               {"optimizer.lr=1,2", "optimizer.lr=3"},
                                               {"optimizer.lr=1,,2"},
                                               {"optimizer.lr=1,2,1"},
                                               {"train.only=[a,b"},
                                               {"run.dir=a,b"},
                                               {"run.name=a,b"},
                                               {"run.resume=never", "run.seed=1,2"},
                                               {"a=0,1,2,3,4,5,6,7,8,9", "b=0,1,2,3,4,5,6,7,8,9",
                                                "c=0,1,2,3,4,5,6,7,8,9", "d=0,1,2,3,4,5,6,7,8,9", "e=0,1"}}) {
        try {
            sweep_grid(words);
            ADD_FAILURE() << words.front() << " is accepted";
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::deck);
        }
    }
}

}  // namespace
}  // namespace ziggurat::app
