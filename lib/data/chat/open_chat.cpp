#include "data/chat/open_chat.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text/printable.hpp"

namespace ziggurat::data {

std::shared_ptr<const ChatSource> open_chat(const spec::Data& data,
                                            const spec::Source& source,
                                            const std::string& key) {
    auto samples = std::make_shared<ChatSource>(expand_paths(source.path, key), key);
    const auto hash = fmt::format("xxh3:{:016x}", samples->tokenizer_hash());
    if (data.tokenizer.has_file() && !data.tokenizer.hash.empty() && data.tokenizer.hash != hash) {
        throw Error{ErrorKind::deck,
                    fmt::format("{}: '{}' holds token ids of another tokenizer (hash {}, but "
                                "data.tokenizer.hash is {}). Set data.tokenizer.path to the tokenizer that "
                                "made the file, or make it again with 'ziggurat tokenize RECORDS --chat'.",
                                key, printable(source.path), hash, data.tokenizer.hash)};
    }
    return samples;
}

}  // namespace ziggurat::data
