/// Chosen stays of chunks next to the optimum of an integer program, and next to LRU.
#include "schedule/residency/chunk_moves.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "plan/recompute/run_solver.hpp"

namespace ziggurat::schedule {
namespace {

enum class Sizes { equal, different };

/// Returns the next use of the same chunk; -1 without one.
int next_use(const ChunkTrace& trace, int use) {
    for (int next = use + 1; next < std::ssize(trace.uses); ++next) {
        if (trace.uses[next].chunk == trace.uses[use].chunk) {
            return next;
        }
    }
    return -1;
}

/// Returns a step of training: forward and backward of micro-batches, then updates.
///
/// Memory fills with activations during forward.
ChunkTrace training(int chunks, int micro_batches, double share, Sizes sizes, std::mt19937& random) {
    ChunkTrace trace;
    std::int64_t total = 0;
    for (int c = 0; c < chunks; ++c) {
        const std::int64_t bytes = sizes == Sizes::equal ? 64 : 16 + static_cast<int>(random() % 64);
        trace.bytes.push_back(bytes);
        total += bytes;
    }
    const auto free_at = [&](int layers) {
        const double part = share * (1 - 0.8 * layers / chunks);
        trace.free.push_back(static_cast<std::int64_t>(part * static_cast<double>(total)));
    };
    const auto use = [&](int chunk, bool reads, bool writes, int layers) {
        const int now = static_cast<int>(trace.free.size());
        const auto bytes = trace.bytes[chunk];
        trace.uses.push_back({chunk, std::max(0, now - static_cast<int>(random() % 2)), now,
                              reads ? bytes : 0, writes ? bytes : 0, random() % 50 != 0});
        free_at(layers);
    };
    for (int m = 0; m < micro_batches; ++m) {
        for (int c = 0; c < chunks; ++c) {
            use(c, true, random() % 6 == 0, c);
        }
        for (int c = chunks; c-- > 0;) {
            use(c, true, random() % 3 == 0, c);
        }
    }
    for (int c = 0; c < chunks; ++c) {
        use(c, random() % 2 == 0, true, 0);
    }
    return trace;
}

/// Returns uses of chunks in random order, with memory that changes at random.
ChunkTrace random_uses(int chunks, int uses, double share, Sizes sizes, std::mt19937& random) {
    ChunkTrace trace;
    std::int64_t total = 0;
    for (int c = 0; c < chunks; ++c) {
        trace.bytes.push_back(sizes == Sizes::equal ? 100 : 20 + static_cast<int>(random() % 100));
        total += trace.bytes.back();
    }
    for (int u = 0; u < uses; ++u) {
        const int chunk = static_cast<int>(random() % chunks);
        const bool writes = random() % 3 == 0;
        const bool reads = !writes || random() % 2 == 0;
        trace.uses.push_back(
            {chunk, u, u, reads ? trace.bytes[chunk] : 0, writes ? trace.bytes[chunk] : 0, true});
        const double part = share * (0.5 + static_cast<double>(random() % 1000) / 1000);
        trace.free.push_back(static_cast<std::int64_t>(part * static_cast<double>(total)));
    }
    return trace;
}

/// Returns the memory of stays at a position.
std::int64_t used_at(const ChunkTrace& trace, const ChunkStays& stays, int position) {
    std::int64_t used = 0;
    for (int u = 0; u < std::ssize(trace.uses); ++u) {
        if (stays[u] && trace.uses[u].end < position && position < trace.uses[next_use(trace, u)].begin) {
            used += trace.bytes[trace.uses[u].chunk];
        }
    }
    return used;
}

/// Returns the stays of a cache that evicts the chunk whose last use is the oldest (LRU).
ChunkStays least_recently_used(const ChunkTrace& trace) {
    ChunkStays stays(trace.uses.size());
    for (int u = 0; u < std::ssize(trace.uses); ++u) {
        stays[u] = trace.uses[u].may_stay && next_use(trace, u) >= 0;
    }
    for (int position = 0; position < std::ssize(trace.free); ++position) {
        while (used_at(trace, stays, position) > trace.free[position]) {
            int oldest = -1;
            for (int u = 0; u < std::ssize(trace.uses); ++u) {
                const bool is_idle = stays[u] && trace.uses[u].end < position &&
                                     position < trace.uses[next_use(trace, u)].begin;
                if (is_idle && (oldest < 0 || trace.uses[u].end < trace.uses[oldest].end)) {
                    oldest = u;
                }
            }
            stays[oldest] = false;
        }
    }
    return stays;
}

/// Returns the minimum of moved bytes, from an integer program.
///
/// k = the chunk is kept after a use; d = it is changed after the use; w = it is written when it leaves.
double optimum(const ChunkTrace& trace) {
    std::string objective, rules, binaries;
    double constant = 0;
    std::vector<int> previous(trace.bytes.size(), -1);
    for (int u = 0; u < std::ssize(trace.uses); ++u) {
        const auto& use = trace.uses[u];
        const int next = next_use(trace, u);
        const int before = previous[use.chunk];
        previous[use.chunk] = u;
        constant += static_cast<double>(use.fetched);
        if (before >= 0) {
            objective += fmt::format(" - {} k{}\n", use.fetched, before);
        }
        objective += fmt::format(" + {} w{}\n", trace.bytes[use.chunk], u);
        rules += fmt::format(" w{0} - d{0} + k{0} >= 0\n", u);
        if (use.written > 0) {
            rules += fmt::format(" d{} = 1\n", u);
        } else if (before >= 0) {
            rules += fmt::format(" d{} - d{} - k{} >= -1\n", u, before, before);
        }
        if (next < 0 || !use.may_stay) {
            rules += fmt::format(" k{} = 0\n", u);
        }
        binaries += fmt::format(" k{0}\n d{0}\n w{0}\n", u);
    }
    for (int position = 0; position < std::ssize(trace.free); ++position) {
        std::string row;
        for (int u = 0; u < std::ssize(trace.uses); ++u) {
            const int next = next_use(trace, u);
            if (next >= 0 && trace.uses[u].end < position && position < trace.uses[next].begin) {
                row += fmt::format(" + {} k{}\n", trace.bytes[trace.uses[u].chunk], u);
            }
        }
        if (!row.empty()) {
            rules += fmt::format("{} <= {}\n", row, trace.free[position]);
        }
    }
    const auto solution = plan::solve_program(
        fmt::format("Minimize\n obj:\n{}Subject To\n{}Binary\n{}End\n", objective, rules, binaries), "cbc",
        20);
    const std::string label = "objective value";
    const auto at = solution.find(label);
    if (at == std::string::npos || !solution.starts_with("Optimal")) {
        ADD_FAILURE() << "no optimum: " << solution.substr(0, 80);
        return 0;
    }
    return constant + std::stod(solution.substr(at + label.size()));
}

void expect_within_memory(const ChunkTrace& trace, const ChunkStays& stays) {
    for (int position = 0; position < std::ssize(trace.free); ++position) {
        const auto used = used_at(trace, stays, position);
        EXPECT_TRUE(used == 0 || used <= trace.free[position]) << "position " << position;
    }
    for (int u = 0; u < std::ssize(trace.uses); ++u) {
        EXPECT_TRUE(!stays[u] || (trace.uses[u].may_stay && next_use(trace, u) >= 0)) << "use " << u;
    }
}

TEST(ChunkMoves, AreWithinFivePercentOfTheOptimumAndBelowThoseOfLru) {
    if (std::system("command -v cbc >/dev/null") != 0) {
        FAIL() << "cbc is not installed: scripts/setup.sh --tests";
    }
    std::mt19937 random{7};
    double worst = 1;
    std::int64_t ours_of_all = 0;
    std::int64_t lru_of_all = 0;
    for (int round = 0; round < 24; ++round) {
        const int chunks = 6 + static_cast<int>(random() % 35);
        const auto sizes = round % 3 == 0 ? Sizes::different : Sizes::equal;
        const double share = 0.1 + 0.1 * (round % 6);
        const auto trace = round % 2 == 0 ? training(chunks, 1 + round % 3, share, sizes, random)
                                          : random_uses(chunks, 5 * chunks, share, sizes, random);

        const auto stays = choose_stays(trace);

        expect_within_memory(trace, stays);
        const auto ours = moved_bytes(trace, stays);
        const auto lru = moved_bytes(trace, least_recently_used(trace));
        const double best = optimum(trace);
        EXPECT_GE(static_cast<double>(ours), best - 0.5) << "the optimum is none, round " << round;
        EXPECT_LE(static_cast<double>(ours), 1.05 * best) << "round " << round;
        EXPECT_LE(ours, lru) << "round " << round;
        worst = std::max(worst, static_cast<double>(ours) / best);
        ours_of_all += ours;
        lru_of_all += lru;
    }
    EXPECT_LT(ours_of_all, lru_of_all);
    RecordProperty("worst_over_optimum", std::to_string(worst));
    RecordProperty("lru_over_ours",
                   std::to_string(static_cast<double>(lru_of_all) / static_cast<double>(ours_of_all)));
}

TEST(ChunkMoves, KeepAllChunksIfAllFit) {
    std::mt19937 random{3};
    auto trace = random_uses(8, 64, 4, Sizes::different, random);
    std::int64_t first_uses = 0;
    std::int64_t changed = 0;
    for (std::size_t c = 0; c < trace.bytes.size(); ++c) {
        const auto of_chunk = [&](const ChunkUse& use) { return use.chunk == static_cast<int>(c); };
        const auto first = std::ranges::find_if(trace.uses, of_chunk);
        first_uses += first == trace.uses.end() ? 0 : first->fetched;
        changed += std::ranges::any_of(trace.uses,
                                       [&](const ChunkUse& use) { return of_chunk(use) && use.written > 0; })
                       ? trace.bytes[c]
                       : 0;
    }

    EXPECT_EQ(moved_bytes(trace, choose_stays(trace)), first_uses + changed);
}

TEST(ChunkMoves, EvictTheFarthestNextUse) {
    ChunkTrace trace{.bytes = {10, 10, 10}, .uses = {}, .free = std::vector<std::int64_t>(8, 10)};
    for (const int chunk : {0, 1, 2, 1, 2, 1, 0}) {
        const int now = static_cast<int>(trace.uses.size());
        trace.uses.push_back({chunk, now, now, 10, 0, true});
    }

    const auto stays = choose_stays(trace);

    EXPECT_FALSE(stays[0]) << "its next use is the farthest";
    EXPECT_TRUE(stays[1] && stays[3]);
}

TEST(ChunkMoves, KeepAChangedChunkRatherThanAnUnchangedOne) {
    ChunkTrace trace{.bytes = {10, 10}, .uses = {}, .free = std::vector<std::int64_t>(5, 10)};
    trace.uses = {
        {0, 0, 0, 10, 0, true}, {1, 1, 1, 10, 10, true}, {0, 3, 3, 10, 0, true}, {1, 4, 4, 10, 10, true}};

    EXPECT_EQ(choose_stays(trace), (ChunkStays{false, true, false, false}));
    trace.uses[1].may_stay = false;
    EXPECT_EQ(choose_stays(trace), (ChunkStays{true, false, false, false}));
}

}  // namespace
}  // namespace ziggurat::schedule
