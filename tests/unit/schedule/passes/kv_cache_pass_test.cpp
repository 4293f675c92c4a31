#include "schedule/passes/kv_cache_pass.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>

#include "schedule/build_program.hpp"
#include "schedule/verify/check_program.hpp"
#include "spec/passes_with_cache.hpp"
#include "tests/support/random/random_spec.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

constexpr CachedKind kinds[] = {CachedKind::prompt, CachedKind::logits};

spec::RunSpec with_sample(spec::RunSpec run) {
    run.validate.sample = spec::Sample{.prompt = "a text", .tokens = 3};
    return run;
}

TEST(KvCachePass, HasNoFaultsInAnyLayout) {
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        auto run = with_sample(test::random_spec(seed));
        run.tiers.kv_cache = static_cast<spec::Tier>(seed % 3);
        if (run.tiers.kv_cache == spec::Tier::nvme) {
            run.tiers.nvme_paths = {"/nvme"};
        }
        if (seed % 2 == 1) {  // several texts, whose logits all reach the host
            run.cached = spec::passes_of_texts(run, 9, 3, 5);
        }
        for (int rank = 0; rank < run.parallel.ranks; rank += 3) {
            for (const auto kind : kinds) {
                for (const auto& finding : check_program(build_cached_program(run, rank, kind))) {
                    ADD_FAILURE() << "seed " << seed << ", rank " << rank << ": " << finding.text;
                }
            }
        }
    }
}

/// Arena, offset and bytes of each persistent buffer, by name.
std::map<std::string, std::tuple<std::size_t, std::int64_t, std::int64_t>> places(const Program& program) {
    std::map<std::string, std::tuple<std::size_t, std::int64_t, std::int64_t>> found;
    for (const auto& buffer : program.buffers) {
        if (buffer.lifetime == Lifetime::persistent) {
            found[buffer.name] = {arena_of(buffer), buffer.offset, buffer.bytes};
        }
    }
    return found;
}

TEST(KvCachePass, KeepsThePlacesOfTheStateThatTrainingHas) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        auto run = with_sample(test::random_spec(seed));
        run.tiers.kv_cache = static_cast<spec::Tier>(seed % 3);
        run.checkpoint.every = spec::Interval{.steps = 1};
        run.checkpoint.is_async = true;
        const auto trained = places(build_program(run, 0, Variant::train));
        const auto of_prompt = places(build_cached_program(run, 0, CachedKind::prompt));
        const auto with_logits = places(build_cached_program(run, 0, CachedKind::logits));
        EXPECT_EQ(of_prompt, with_logits);
        std::size_t caches = 0;
        for (const auto& [name, place] : of_prompt) {
            const auto known = trained.find(name);
            caches += known == trained.end() ? 1 : 0;
            EXPECT_TRUE(known == trained.end() || known->second == place) << "seed " << seed << ": " << name;
            EXPECT_TRUE(known != trained.end() || name.ends_with(".kv_cache")) << name;
        }
        EXPECT_EQ(of_prompt.size(), trained.size() + caches);
    }
}

TEST(KvCachePass, MovesTheCacheOfALayerFromItsHomeAndBack) {
    auto run = with_sample(test::small_spec());
    const auto count = [&](spec::Tier home) {
        run.tiers.kv_cache = home;
        std::map<OpKind, std::int64_t> moves;
        for (const auto& op : build_cached_program(run, 0, CachedKind::logits).ops) {
            moves[op.kind] += op.purpose == Purpose::state ? 1 : 0;
        }
        return moves;
    };
    const auto layers = run.model.layers;
    EXPECT_EQ(count(spec::Tier::device)[OpKind::copy], 0);
    EXPECT_EQ(count(spec::Tier::host)[OpKind::copy], 2 * layers);
    auto on_nvme = count(spec::Tier::nvme);
    EXPECT_EQ(on_nvme[OpKind::read], layers);
    EXPECT_EQ(on_nvme[OpKind::copy], 2 * layers);
    EXPECT_EQ(on_nvme[OpKind::write], layers);
}

}  // namespace
}  // namespace ziggurat::schedule
