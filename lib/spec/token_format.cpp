#include "spec/token_format.hpp"

#include <initializer_list>

namespace ziggurat::spec {
namespace {

template <class Enum>
std::optional<Enum> value_of(std::initializer_list<Enum> all, std::string_view keyword) {
    for (const Enum value : all) {
        if (word_of(value) == keyword) {
            return value;
        }
    }
    return std::nullopt;
}

}  // namespace

const char* word_of(TokenFormat format) {
    switch (format) {
        case TokenFormat::text:
            return "text";
        case TokenFormat::llmc:
            return "llmc";
        case TokenFormat::megatron:
            return "megatron";
        case TokenFormat::raw:
            return "raw";
        case TokenFormat::own:
            return "own";
    }
    return "";
}

std::optional<TokenFormat> token_format_of(std::string_view keyword) {
    using enum TokenFormat;
    return value_of({text, llmc, megatron, raw, own}, keyword);
}

const char* word_of(RawType type) {
    switch (type) {
        case RawType::uint16:
            return "uint16";
        case RawType::uint32:
            return "uint32";
    }
    return "";
}

std::optional<RawType> raw_type_of(std::string_view keyword) {
    return value_of({RawType::uint16, RawType::uint32}, keyword);
}

}  // namespace ziggurat::spec
