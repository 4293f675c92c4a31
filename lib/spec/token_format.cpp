#include "spec/token_format.hpp"

#include <algorithm>
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
        case TokenFormat::chat:
            return "chat";
    }
    return "";
}

std::optional<TokenFormat> token_format_of(std::string_view keyword) {
    using enum TokenFormat;
    return value_of({text, llmc, megatron, raw, own, chat}, keyword);
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

const char* word_of(LossOn loss_on) {
    switch (loss_on) {
        case LossOn::assistant:
            return "assistant";
        case LossOn::completion:
            return "completion";
        case LossOn::all:
            return "all";
    }
    return "";
}

std::optional<LossOn> loss_on_of(std::string_view keyword) {
    return value_of({LossOn::assistant, LossOn::completion, LossOn::all}, keyword);
}

bool has_conversations(const Data& data) {
    const auto is_chat = [](const Source& source) { return source.format == TokenFormat::chat; };
    return std::ranges::any_of(data.train, is_chat) || std::ranges::any_of(data.validation, is_chat);
}

const char* word_of(SamplePacking packing) {
    switch (packing) {
        case SamplePacking::none:
            return "none";
        case SamplePacking::wrapped:
            return "wrapped";
        case SamplePacking::best_fit:
            return "best_fit";
    }
    return "";
}

std::optional<SamplePacking> packing_of(std::string_view keyword) {
    return value_of({SamplePacking::none, SamplePacking::wrapped, SamplePacking::best_fit}, keyword);
}

const char* word_of(LongSamples rule) {
    switch (rule) {
        case LongSamples::cut:
            return "cut";
        case LongSamples::drop:
            return "drop";
        case LongSamples::refuse:
            return "refuse";
    }
    return "";
}

std::optional<LongSamples> long_samples_of(std::string_view keyword) {
    return value_of({LongSamples::cut, LongSamples::drop, LongSamples::refuse}, keyword);
}

}  // namespace ziggurat::spec
