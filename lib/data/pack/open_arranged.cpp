#include "data/pack/open_arranged.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "data/pack/packed_source.hpp"

namespace ziggurat::data {

std::shared_ptr<const TokenSource> open_arranged(const spec::Data& data,
                                                 const spec::Source& source,
                                                 const std::string& key,
                                                 double held_out,
                                                 const SampleFileOptions& options) {
    if (source.format != spec::TokenFormat::chat) {
        return open_source(source, key);
    }
    auto samples = open_chat(data, source, key, options);
    expect_kind(*samples, data, source, key);
    if (data.packing == spec::SamplePacking::wrapped) {
        return samples;
    }
    return std::make_shared<PackedSource>(std::move(samples), data, held_out, key);
}

void expect_kind(const TokenSource& tokens,
                 const spec::Data& data,
                 const spec::Source& source,
                 const std::string& key) {
    const bool has_pairs = tokens.num_pairs() > 0;
    if (has_pairs && !data.has_pairs) {
        throw Error{ErrorKind::deck,
                    fmt::format("{}: '{}' holds pairs of answers, and train.objective.kind next_token trains "
                                "on conversations. Set train.objective.kind to dpo or ipo, or name records "
                                "of conversations.",
                                key, printable(source.path))};
    }
    if (!has_pairs && data.has_pairs) {
        const bool is_chat = source.format == spec::TokenFormat::chat;
        throw Error{ErrorKind::deck,
                    fmt::format("{}: train.objective.kind dpo or ipo trains on pairs of answers, and '{}' "
                                "holds {}. Use format: chat, and name records with a chosen and a rejected "
                                "answer, or set train.objective.kind to next_token.",
                                key, printable(source.path), is_chat ? "conversations" : "other tokens")};
    }
}

}  // namespace ziggurat::data
