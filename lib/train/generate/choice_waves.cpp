#include "train/generate/choice_waves.hpp"

#include <algorithm>
#include <cstdint>

#include "base/round_up.hpp"
#include "layout/cache/kv_cache.hpp"
#include "spec/passes_with_cache.hpp"

namespace ziggurat::train {
namespace {

/// Smallest number of tokens of all rows that is worth a sequence of its own: a page.
constexpr std::int64_t min_shared_by_all = layout::cache_page_positions;
/// Pages after which a wave ends: 16384 positions, 2 GiB for a model like Llama 3 8B in bfloat16.
constexpr std::int64_t max_pages_of_wave = 256;

class Tokens {
  public:
    Tokens(const data::ChoiceRows& rows, const std::vector<std::int64_t>& first)
        : rows_{rows}, first_{first} {}

    std::span<const std::int32_t> read(std::int64_t row) const {
        return std::span{rows_.tokens}.subspan(first_[row], rows_.rows[row].read());
    }
    /// Returns the number of equal tokens at the beginning of two rows, at most `limit`.
    std::int64_t common(std::int64_t a, std::int64_t b, std::int64_t limit) const {
        const auto of_a = read(a), of_b = read(b);
        const auto length = static_cast<std::size_t>(std::min({limit, std::ssize(of_a), std::ssize(of_b)}));
        const auto [end, other] = std::ranges::mismatch(of_a.first(length), of_b.first(length));
        return end - of_a.begin();
    }

  private:
    const data::ChoiceRows& rows_;
    const std::vector<std::int64_t>& first_;
};

/// Returns the number of tokens of a row that need no logits: those before the last one of its context.
std::int64_t before_losses(const data::ChoiceRows& rows, std::int64_t row) {
    return rows.rows[row].context - 1;
}

std::int64_t shared_by_all(const data::ChoiceRows& rows, const Tokens& tokens) {
    if (rows.rows.empty()) {
        return 0;
    }
    auto shared = before_losses(rows, 0);
    for (std::int64_t row = 1; row < std::ssize(rows.rows); ++row) {
        shared = tokens.common(0, row, std::min(shared, before_losses(rows, row)));
    }
    return shared < min_shared_by_all ? 0 : shared;
}

/// Joins a row to the group before it if this group then shares at least half of the tokens.
///
/// The `of_all` tokens that all rows share do not count.
std::vector<ChoiceGroup> groups_of(const data::ChoiceRows& rows, const Tokens& tokens, std::int64_t of_all) {
    std::vector<ChoiceGroup> groups;
    for (std::int64_t row = 0; row < std::ssize(rows.rows); ++row) {
        if (!groups.empty()) {
            auto& group = groups.back();
            const auto shared =
                tokens.common(group.first_row, row, std::min(group.shared, before_losses(rows, row)));
            if (2 * (shared - of_all) >= group.shared - of_all && shared > 0) {
                group.shared = shared;
                ++group.rows;
                continue;
            }
        }
        groups.push_back({.first_row = row, .rows = 1, .shared = before_losses(rows, row)});
    }
    return groups;
}

}  // namespace

ChoiceWaves choice_waves(const data::ChoiceRows& rows, std::int64_t max_rows) {
    ChoiceWaves made;
    std::int64_t token = 0;
    for (const auto& row : rows.rows) {
        made.first_token.push_back(token);
        token += row.context + row.ending;
    }
    const Tokens tokens{rows, made.first_token};
    made.shared_by_all = shared_by_all(rows, tokens);
    made.groups = groups_of(rows, tokens, made.shared_by_all);
    /// Pages of positions [begin, end) of a sequence that shares its full pages before `begin`.
    const auto pages = [](std::int64_t begin, std::int64_t end) {
        return layout::cache_pages(end) - begin / layout::cache_page_positions;
    };
    for (std::int64_t g = 0; g < std::ssize(made.groups); ++g) {
        const auto& group = made.groups[g];
        ChoiceWave own{.groups = 1,
                       .prompt_tokens = group.shared - made.shared_by_all,
                       .pages = pages(made.shared_by_all, group.shared),
                       .sequences = 1 + group.rows};
        for (auto row = group.first_row; row < group.first_row + group.rows; ++row) {
            const auto read = rows.rows[row].read();
            own.logit_tokens += read - group.shared;
            own.pages += pages(group.shared, read);
        }
        const bool is_full = made.waves.empty() ||
                             made.waves.back().logit_tokens + own.logit_tokens > max_rows ||
                             made.waves.back().pages + own.pages > max_pages_of_wave;
        if (is_full) {
            made.waves.push_back({.first_group = g});
        }
        auto& wave = made.waves.back();
        ++wave.groups;
        wave.prompt_tokens += own.prompt_tokens;
        wave.logit_tokens += own.logit_tokens;
        wave.pages += own.pages;
        wave.sequences += own.sequences;
    }
    return made;
}

namespace {

/// Returns the number of rows of a pass with which the time of all these tokens is minimal.
///
/// Each number of tokens has passes of its own. A pass takes the time of its rows, whether they are used or
/// not, and that of some more rows for its weights.
///
/// \param most  maximum of the result
std::int64_t best_rows(const std::vector<std::int64_t>& tokens, std::int64_t most) {
    constexpr std::int64_t step = 16, of_weights = 32;
    std::int64_t best = most, least = INT64_MAX;
    for (auto rows = most; rows >= step; rows -= step) {
        std::int64_t time = 0;
        for (const auto count : tokens) {
            time += divide_up(count, rows) * (rows + of_weights);
        }
        if (time < least) {
            best = rows;
            least = time;
        }
    }
    return best;
}

}  // namespace

spec::CachedPasses passes_of_choices(const data::ChoiceRows& rows, const spec::RunSpec& run) {
    const auto most = spec::max_cached_rows(run);
    const auto waves = choice_waves(rows, most);
    std::vector<std::int64_t> prompts{waves.shared_by_all}, others;
    for (const auto& wave : waves.waves) {
        prompts.push_back(wave.prompt_tokens);
        others.push_back(wave.logit_tokens);
    }
    const auto of_all = layout::cache_pages(waves.shared_by_all);
    spec::CachedPasses passes{.sequences = 1,
                              .positions = rows.longest_read(),
                              .pages = std::max<std::int64_t>(1, of_all),
                              .prompt_rows = best_rows(prompts, most),
                              .logit_rows = best_rows(others, most)};
    for (const auto& wave : waves.waves) {
        passes.pages = std::max(passes.pages, of_all + wave.pages);
        passes.sequences = std::max(passes.sequences, 1 + wave.sequences);
    }
    return passes;
}

}  // namespace ziggurat::train
