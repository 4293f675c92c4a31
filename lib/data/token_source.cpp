#include "data/token_source.hpp"

#include <algorithm>
#include <vector>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "data/llmc_source.hpp"
#include "data/megatron_source.hpp"
#include "data/raw_source.hpp"
#include "data/samples/chat_source.hpp"
#include "data/text_source.hpp"

namespace ziggurat::data {

void TokenSource::mark_document_starts(std::int64_t /*begin*/, std::span<std::uint8_t> /*starts*/) const {
    ZG_EXPECTS(has_document_index());
}

void TokenSource::mark_counted(std::int64_t /*begin*/, std::span<std::uint8_t> counts) const {
    std::ranges::fill(counts, std::uint8_t{1});
}

std::size_t TokenSource::find_pairs(std::int64_t /*begin*/,
                                    std::int64_t /*length*/,
                                    std::span<AnswerPair> /*pairs*/) const {
    return 0;
}

std::unique_ptr<TokenSource> open_source(const spec::Source& source, const std::string& key) {
    switch (source.format) {
        case spec::TokenFormat::text:
            return std::make_unique<TextSource>(source.path, key);
        case spec::TokenFormat::llmc:
            return std::make_unique<LlmcSource>(source.path, key);
        case spec::TokenFormat::megatron:
            return std::make_unique<MegatronSource>(source.path, key);
        case spec::TokenFormat::raw:
            return std::make_unique<RawSource>(source.path, source.raw_type, key);
        case spec::TokenFormat::chat:
            return std::make_unique<ChatSource>(expand_paths(source.path, key), key);
        case spec::TokenFormat::own:
            throw Error{ErrorKind::deck,
                        key +
                            ": format own needs a program that calls the library. Use text, llmc, "
                            "megatron or raw."};
    }
    throw Error{ErrorKind::internal,
                "unknown token format (a bug in Ziggurat). Please report it with the deck."};
}

LargestToken find_largest_token(const TokenSource& source,
                                std::int64_t begin,
                                std::int64_t end,
                                const StopCheck& stop) {
    ZG_EXPECTS(0 <= begin && begin <= end && end <= source.num_tokens());
    const auto as_unsigned = [](std::int32_t id) { return static_cast<std::uint32_t>(id); };
    std::vector<std::int32_t> tokens(std::min<std::int64_t>(end - begin, 1 << 16));
    LargestToken largest{.position = begin};
    for (std::int64_t at = begin; at < end; at += std::ssize(tokens)) {
        check(stop);
        const auto part = std::span{tokens}.first(
            static_cast<std::size_t>(std::min<std::int64_t>(std::ssize(tokens), end - at)));
        source.read(at, part);
        std::uint32_t top = 0;
        for (const auto id : part) {
            top = std::max(top, as_unsigned(id));
        }
        if (top > as_unsigned(largest.id)) {
            const auto first = std::find(part.begin(), part.end(), static_cast<std::int32_t>(top));
            largest = {*first, at + (first - part.begin())};
        }
    }
    return largest;
}

void check_vocabulary(const TokenSource& source,
                      std::int64_t begin,
                      std::int64_t end,
                      std::int64_t vocab,
                      const std::string& key,
                      const StopCheck& stop) {
    const auto largest = find_largest_token(source, begin, end, stop);
    if (largest.id >= 0 && largest.id < vocab) {
        return;
    }
    std::string message = key;
    message += ": token ";
    message += largest.id == -1 ? "-1 (or beyond 2147483647)" : std::to_string(largest.id);
    message += " at " + source.location_of(largest.position) +
               " is not in the vocabulary (model.vocab = " + std::to_string(vocab) + ", ids 0 to " +
               std::to_string(vocab - 1) +
               "). Set model.vocab to the size of the tokenizer that wrote the file, or name other files.";
    throw Error{ErrorKind::deck, message};
}

}  // namespace ziggurat::data
