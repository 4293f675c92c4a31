/// Header of a token file, as text and as JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "app/checkpoint/inspect_text.hpp"
#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "spec/token_format.hpp"

namespace ziggurat::app {
namespace {

using Json = nlohmann::ordered_json;
using data::TokenFileHeader;

std::string format_line(const TokenFileHeader& head) {
    const std::string name = spec::word_of(head.format);
    return head.format == spec::TokenFormat::raw ? name + " (assumed: the file has no header)"
           : head.magic.empty()                  ? name
                                : fmt::format("{} (begins with {}, version {})", name, head.magic,
                                              head.version ? fmt::format("{}", *head.version) : "unknown");
}

std::string size_line(const TokenFileHeader& head) {
    return head.format == spec::TokenFormat::megatron
               ? fmt::format("index {} bytes, tokens {} bytes", format_grouped(head.bytes[0]),
                             format_grouped(head.bytes[1]))
               : fmt::format("{} bytes, {} of them header", format_grouped(head.bytes[0]),
                             format_grouped(head.header_bytes));
}

std::string tokens_line(const TokenFileHeader& head) {
    const auto counted = head.tokens.value_or(head.stored_tokens);
    std::string line = fmt::format("{} of type {}, {} bytes each", format_grouped(counted),
                                   head.type.empty() ? "unknown" : head.type, head.token_bytes);
    return counted == head.stored_tokens
               ? line
               : line + fmt::format("; the file size gives {}", format_grouped(head.stored_tokens));
}

template <class T>
Json maybe(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

}  // namespace

std::string text_of(const TokenFileHeader& head) {
    std::string text;
    for (const auto& path : head.paths) {
        text += fmt::format("file        {}\n", printable(path));
    }
    text += fmt::format("format      {}\nsize        {}\ntokens      {}\n", format_line(head),
                        size_line(head), tokens_line(head));
    if (head.documents) {
        text += fmt::format("documents   {} in {} sequences\n", *head.documents, head.sequences.value_or(0));
    }
    return text + fmt::format("first       {}\ncheck       {}\n", fmt::join(head.first, " "),
                              !head.problem.empty()                   ? printable(head.problem)
                              : head.format == spec::TokenFormat::raw ? "a whole number of tokens"
                                                                      : "header and size agree");
}

std::string json_of(const TokenFileHeader& head) {
    const Json json{{"format", spec::word_of(head.format)},
                    {"paths", head.paths},
                    {"bytes", head.bytes},
                    {"magic", head.magic.empty() ? Json(nullptr) : Json(head.magic)},
                    {"version", maybe(head.version)},
                    {"type", head.type.empty() ? Json(nullptr) : Json(head.type)},
                    {"token_bytes", head.token_bytes},
                    {"header_bytes", head.header_bytes},
                    {"tokens", head.tokens.value_or(head.stored_tokens)},
                    {"stored_tokens", head.stored_tokens},
                    {"sequences", maybe(head.sequences)},
                    {"documents", maybe(head.documents)},
                    {"first", head.first},
                    {"problem", head.problem.empty() ? Json(nullptr) : Json(head.problem)}};
    return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace ziggurat::app
