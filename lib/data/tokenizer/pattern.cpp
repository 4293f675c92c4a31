#include "data/tokenizer/pattern.hpp"

#include <fmt/format.h>
#include <oniguruma.h>

#include <array>
#include <utility>

#include "base/error.hpp"
#include "base/unique_handle.hpp"
#include "data/unicode/characters.hpp"
#include "data/unicode/newer_encoding.hpp"
#include "data/unicode/unicode_classes.hpp"

namespace ziggurat::data {
namespace {

struct RegexTraits {
    using Handle = OnigRegex;
    static constexpr Handle null() noexcept { return nullptr; }
    static void close(Handle regex) noexcept { onig_free(regex); }
};

struct RegionTraits {
    using Handle = OnigRegion*;
    static constexpr Handle null() noexcept { return nullptr; }
    static void close(Handle region) noexcept { onig_region_free(region, 1); }
};

const OnigUChar* bytes_at(std::string_view text, std::size_t at) {
    return reinterpret_cast<const OnigUChar*>(text.data()) + at;
}

std::string reason_of(int code, OnigErrorInfo* info) {
    std::array<OnigUChar, ONIG_MAX_ERROR_MESSAGE_LEN> text{};
    const int length = info == nullptr ? onig_error_code_to_str(text.data(), code)
                                       : onig_error_code_to_str(text.data(), code, info);
    return {reinterpret_cast<const char*>(text.data()), static_cast<std::size_t>(length)};
}

/// Starts Oniguruma. Any thread may call it any number of times.
///
/// Errors: Error{resource}
void start_engine() {
    static const int code = [] {
        OnigEncoding encoding = newer_utf8();
        return onig_initialize(&encoding, 1);
    }();
    if (code != ONIG_NORMAL) {
        throw Error{ErrorKind::resource, "cannot start Oniguruma (out of memory). Free some memory."};
    }
}

class OnigPattern final : public Pattern {
  public:
    explicit OnigPattern(const std::string& expression) {
        start_engine();
        OnigRegex regex = nullptr;
        OnigErrorInfo info{};
        const int code = onig_new(&regex, bytes_at(expression, 0), bytes_at(expression, expression.size()),
                                  ONIG_OPTION_NONE, newer_utf8(), ONIG_SYNTAX_DEFAULT, &info);
        if (code != ONIG_NORMAL) {
            throw Error{ErrorKind::deck, reason_of(code, &info)};
        }
        regex_ = UniqueHandle<RegexTraits>{regex};
    }

    bool search(std::string_view text, std::size_t from, MatchRange& match) const override {
        const UniqueHandle<RegionTraits> region{onig_region_new()};
        const auto* const end = bytes_at(text, text.size());
        const int code = onig_search(regex_.get(), bytes_at(text, 0), end, bytes_at(text, from), end,
                                     region.get(), ONIG_OPTION_NONE);
        if (code == ONIG_MISMATCH) {
            return false;
        }
        if (code < 0) {
            throw Error{ErrorKind::deck, fmt::format("the pattern that splits the text failed ({}). "
                                                     "Split the document into smaller ones.",
                                                     reason_of(code, nullptr))};
        }
        match = {static_cast<std::size_t>(region.get()->beg[0]),
                 static_cast<std::size_t>(region.get()->end[0])};
        return true;
    }

  private:
    UniqueHandle<RegexTraits> regex_;
};

class LiteralPattern final : public Pattern {
  public:
    explicit LiteralPattern(std::string text) : text_{std::move(text)} {}

    bool search(std::string_view text, std::size_t from, MatchRange& match) const override {
        const auto at = text.find(text_, from);
        match = {at, at + text_.size()};
        return at != std::string_view::npos;
    }

  private:
    std::string text_;
};

}  // namespace

std::unique_ptr<const Pattern> make_literal_pattern(std::string text) {
    return std::make_unique<LiteralPattern>(std::move(text));
}

std::unique_ptr<const Pattern> compile_pattern(const std::string& expression) {
    return std::make_unique<OnigPattern>(with_unicode_classes(expression));
}

bool MatchIterator::next(MatchRange& match) {
    while (from_ <= text_.size() && pattern_.search(text_, from_, match)) {
        if (match.is_empty() && match.end == end_of_last_) {
            from_ += from_ < text_.size() ? character_at(text_, from_).bytes : 1;
            continue;
        }
        from_ = match.end;
        end_of_last_ = match.end;
        return true;
    }
    return false;
}

}  // namespace ziggurat::data
