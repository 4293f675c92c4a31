#include "data/samples/check_samples.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ziggurat::data {
namespace {

constexpr auto counts_bit = SampleFile::counts_bit;

bool has_flag(std::uint32_t token) {
    return (token & counts_bit) != 0;
}

/// Returns the index of the first token with a flag, or the number of tokens.
std::int64_t first_flag(std::span<const std::uint32_t> tokens) {
    return std::ranges::find_if(tokens, has_flag) - tokens.begin();
}

/// Returns the number of ids that both have in common at their beginnings.
std::int64_t common_ids(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
    const auto id = [](std::uint32_t token) { return token & ~counts_bit; };
    return std::ranges::mismatch(a, b, {}, id, id).in1 - a.begin();
}

void expect_pairs(const SampleFile& file, const std::string& key, const StopCheck& stop) {
    const auto& header = file.header();
    const bool may_merge = header.tokenizer_hash != 0;  // by the program, from texts
    for (std::int64_t sample = 0; sample < file.num_samples(); sample += 2) {
        check(stop);
        const auto begin = file.begin_of(sample);
        const auto middle = file.begin_of(sample + 1);
        const auto end = file.begin_of(sample + 2);
        const auto problem = pair_problem(file.stored(begin, middle), file.stored(middle, end), may_merge);
        if (!problem.empty()) {
            file.reject(key, fmt::format("pair {}, samples {} and {}, bytes {} to {}: {}", sample / 2, sample,
                                         sample + 1, sizeof header + sizeof(std::uint32_t) * begin,
                                         sizeof header + sizeof(std::uint32_t) * end, problem));
        }
    }
}

}  // namespace

std::string pair_problem(std::span<const std::uint32_t> chosen,
                         std::span<const std::uint32_t> rejected,
                         bool may_merge) {
    for (const auto& [name, answer] : {std::pair{"chosen", chosen}, std::pair{"rejected", rejected}}) {
        if (has_flag(answer.front())) {
            return fmt::format("the first token of the {} answer has a flag, but it belongs to the prompt",
                               name);
        }
        if (first_flag(answer) == std::ssize(answer)) {
            return fmt::format("no token of the {} answer has a flag", name);
        }
    }
    const auto common = common_ids(chosen, rejected);
    for (std::int64_t i = 0; i < common; ++i) {
        if (has_flag(chosen[i]) != has_flag(rejected[i])) {
            return fmt::format(
                "token {} has a flag in the {} answer only, although both answers are equal up to "
                "it",
                i, has_flag(chosen[i]) ? "chosen" : "rejected");
        }
    }
    const auto prompt = std::min(first_flag(chosen), first_flag(rejected));
    if (common < std::max<std::int64_t>(1, may_merge ? prompt - 1 : prompt)) {
        return fmt::format(
            "the prompts differ: token {} is {} with the chosen answer and {} with the rejected "
            "one",
            common, chosen[common] & ~counts_bit, rejected[common] & ~counts_bit);
    }
    return {};
}

void check_samples(const SampleFile& file, const std::string& key, const StopCheck& stop) {
    constexpr std::int64_t tokens_between_checks = std::int64_t{4} << 20;
    if (const auto seal = file.seal(); seal && file.computed_seal(seal->key, stop) != *seal) {
        file.reject(key, "it is damaged: the hash at its end is not that of its content");
    }
    std::int64_t flags = 0;
    for (std::int64_t begin = 0; begin < file.num_tokens(); begin += tokens_between_checks) {
        check(stop);
        flags += file.count_flags(begin, std::min(begin + tokens_between_checks, file.num_tokens()));
    }
    if (flags != file.header().num_counted) {
        file.reject(key,
                    fmt::format("byte 32, the number of tokens whose flag is set: {}, but {} tokens have it",
                                file.header().num_counted, flags));
    }
    if (file.header().has_pairs()) {
        expect_pairs(file, key, stop);
    }
}

}  // namespace ziggurat::data
