#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "data/tokenizer/tokenizer_json_impl.hpp"

namespace ziggurat::data {
namespace {

std::int64_t id_of(const JsonObject& token) {
    const auto& id = token.at("id");
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >> 31U != 0) {
        token.refuse("has an id that is not an integer from 0 to 2147483647");
    }
    return id.get<std::int64_t>();
}

AddedToken read_added_token(const JsonObject& token) {
    token.has_only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    AddedToken read;
    read.content = token.text("content");
    read.id = static_cast<std::int32_t>(id_of(token));
    read.takes_left_space = token.boolean("lstrip");
    read.takes_right_space = token.boolean("rstrip");
    read.is_normalized = token.boolean("normalized");
    if (read.content.empty()) {
        token.refuse("has no content");
    }
    if (token.boolean("single_word")) {
        token.unsupported("has single_word = true");
    }
    return read;
}

}  // namespace

std::vector<AddedToken> read_added_tokens(const JsonObject& file,
                                          const TokenizerConfig& config,
                                          const Vocabulary& vocabulary) {
    std::vector<AddedToken> tokens;
    std::set<std::string> seen;
    auto next_id = static_cast<std::int64_t>(vocabulary.size());
    const auto add = [&](AddedToken read, const JsonObject& token) {
        const auto known = vocabulary.find(read.content);
        const std::int64_t expected = known != vocabulary.end() ? known->second : next_id++;
        if (read.id != expected) {
            token.refuse(fmt::format("gives '{}' the id {}, but the vocabulary gives it {}",
                                     for_display(read.content), read.id, expected));
        }
        tokens.push_back(std::move(read));
    };
    for (const auto& token :
         file.has("added_tokens") ? file.list("added_tokens") : std::vector<JsonObject>{}) {
        auto read = read_added_token(token);
        if (!seen.insert(read.content).second) {
            token.refuse(fmt::format("is '{}', which occurs twice", for_display(read.content)));
        }
        add(std::move(read), token);
    }
    const TokenizerJson nothing = TokenizerJson::object();
    const JsonObject beside{nothing, "added_tokens", config.path};
    for (const auto& token : config.added) {
        if (seen.insert(token.content).second) {
            add(token, beside);
        }
    }
    return tokens;
}

}  // namespace ziggurat::data
