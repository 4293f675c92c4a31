#include "data/file_probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/file_kind.hpp"
#include "base/text/printable.hpp"
#include "data/llmc_source.hpp"
#include "data/megatron_source.hpp"
#include "spec/token_format.hpp"

namespace ziggurat::data {
namespace {

/// Minimum share of text. Text has nearly 1, random bytes less than 0.5, UTF-16 and small numbers 0.5.
constexpr double min_text = 0.75;

/// Bound of 32-bit ids: vocabularies are far smaller.
constexpr std::uint32_t max_of_wide = 1U << 20U;
/// Bound of 16-bit ids: random bytes exceed it within a hundred numbers.
constexpr std::uint16_t max_of_narrow = 62'000;

bool is_text_character(unsigned char byte) {
    return byte >= 0x20 ? byte != 0x7f : byte >= '\t' && byte <= '\r';
}

double share_of_text(std::string_view text) {
    const auto all = text.size();
    std::size_t of_text = 0;
    while (!text.empty()) {
        const auto length = utf8_length(text);
        const bool is_text =
            length > 1 || (length == 1 && is_text_character(static_cast<unsigned char>(text[0])));
        of_text += is_text ? length : 0;
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return static_cast<double>(of_text) / static_cast<double>(all);
}

template <class Number>
Number number_at(std::string_view bytes, std::size_t index) {
    Number number;
    std::memcpy(&number, bytes.data() + index * sizeof number, sizeof number);
    return number;
}

bool are_wide_numbers(std::string_view bytes) {
    std::uint32_t largest_low = 0;
    std::uint32_t largest_high = 0;
    for (std::size_t i = 0; i < bytes.size() / 4; ++i) {
        const auto number = number_at<std::uint32_t>(bytes, i);
        if (number >= max_of_wide) {
            return false;
        }
        largest_low = std::max(largest_low, number & 0xffffU);
        largest_high = std::max(largest_high, number >> 16U);
    }
    // Pairs of tiny 16-bit numbers match too, except that their low halves are tiny as well.
    return bytes.size() >= 4 && (largest_high == 0 || largest_low >= 256);
}

bool are_narrow_numbers(std::string_view bytes) {
    for (std::size_t i = 0; i < bytes.size() / 2; ++i) {
        if (number_at<std::uint16_t>(bytes, i) >= max_of_narrow) {
            return false;
        }
    }
    return bytes.size() >= 2;
}

bool are_numbers(std::string_view bytes, spec::RawType type) {
    return type == spec::RawType::uint16 ? are_narrow_numbers(bytes) : are_wide_numbers(bytes);
}

FileProbe look_of_numbers(spec::RawType type) {
    return {.what = fmt::format("bare token numbers of {} bits", type == spec::RawType::uint16 ? 16 : 32),
            .remedy = fmt::format("Use {{format: raw, dtype: {}}}.", spec::word_of(type)),
            .numbers = type};
}

/// Identifies a file by a unique beginning.
std::optional<FileProbe> certain_look(std::string_view bytes) {
    if (const auto found = recognise_file(bytes)) {
        return FileProbe{.what = found->what,
                         .remedy = found->remedy,
                         .is_certain = true,
                         .is_wide_text = found->kind == FileKind::wide_text};
    }
    if (bytes.starts_with(megatron_magic)) {
        return FileProbe{.what = "an index of Megatron-LM",
                         .remedy = "Use format: megatron, and the path without its suffix.",
                         .is_certain = true};
    }
    const auto magic = bytes.size() >= 4 ? number_at<std::int32_t>(bytes, 0) : 0;
    if (llmc_type(magic)) {
        return FileProbe{.what = "a token file of llm.c", .remedy = "Use format: llmc.", .is_certain = true};
    }
    if (const char* kind = other_llmc_kind(magic)) {
        return FileProbe{.what = kind, .remedy = "Name files of tokens.", .is_certain = true};
    }
    return std::nullopt;
}

FileProbe look_at_bytes(std::string_view bytes) {
    auto probed = certain_look(bytes);
    const double share = share_of_text(bytes);
    if (!probed && share >= min_text) {
        probed =
            FileProbe{.what = "text",
                      .remedy = "Use format: text and tokenizer: bytes, or encode it with ziggurat tokenize.",
                      .is_text = true};
    } else if (!probed && are_wide_numbers(bytes)) {
        probed = look_of_numbers(spec::RawType::uint32);
    } else if (!probed && are_narrow_numbers(bytes)) {
        probed = look_of_numbers(spec::RawType::uint16);
    }
    probed = probed.value_or(FileProbe{});
    probed->share_of_text = share;
    return *probed;
}

/// Returns the reason why a file that is read as text does not look like text.
std::optional<FormatWarning> doubt_text(const MappedFile& file, const FileProbe& probed) {
    if (!probed.is_certain && probed.is_text) {
        return std::nullopt;
    }
    const auto share = fmt::format("{:.0f}% of its first {} bytes are not UTF-8 text",
                                   100 * (1 - probed.share_of_text), std::min(file.bytes(), max_looked_at));
    return FormatWarning{.path = file.path(),
                         .reason = probed.is_certain     ? "it begins like " + probed.what
                                   : probed.what.empty() ? share
                                                         : share + "; it looks like " + probed.what,
                         .remedy = probed.remedy.empty() ? "Name files of text." : probed.remedy,
                         .is_certain = probed.is_certain};
}

std::string_view beginning_of(std::span<const std::byte> content) {
    const auto seen = content.first(std::min(content.size(), static_cast<std::size_t>(max_looked_at)));
    return {reinterpret_cast<const char*>(seen.data()), seen.size()};
}

/// Returns the reason why a file that is read as numbers of `type` looks like another kind of file.
std::optional<FormatWarning> doubt_numbers(const MappedFile& file,
                                           const FileProbe& probed,
                                           spec::RawType type) {
    if (!probed.is_certain && !probed.is_text && (!probed.numbers || probed.numbers == type)) {
        return std::nullopt;
    }
    if (probed.is_wide_text && are_numbers(beginning_of(file.content()), type)) {
        return std::nullopt;
    }
    return FormatWarning{.path = file.path(),
                         .reason = (probed.is_certain ? "it begins like " : "it looks like ") + probed.what,
                         .remedy = probed.remedy,
                         .is_certain = probed.is_certain};
}

}  // namespace

FileProbe probe_content(std::span<const std::byte> content) {
    return look_at_bytes(beginning_of(content));
}

std::optional<FormatWarning> check_format(const spec::Source& source, const TokenSource& opened) {
    const bool is_text = source.format == spec::TokenFormat::text;
    if (!is_text && source.format != spec::TokenFormat::raw) {
        return std::nullopt;
    }
    for (const SourceFile& file : opened.files()) {
        const auto probed = probe_content(file.file->content());
        if (auto doubt = is_text ? doubt_text(*file.file, probed)
                                 : doubt_numbers(*file.file, probed, source.raw_type)) {
            return doubt;
        }
    }
    return std::nullopt;
}

}  // namespace ziggurat::data
