#include "data/choice/choice_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "data/unicode/characters.hpp"

namespace ziggurat::data {
namespace {

/// Returns the same as Python's str.isspace() for one character.
bool is_space(std::uint32_t code) {
    constexpr std::uint32_t first_separator = 0x1C;
    constexpr std::uint32_t last_separator = 0x1F;
    return is_white_space(code) || (code >= first_separator && code <= last_separator);
}

/// Returns `text` without the white space at its end.
std::string_view without_last_space(std::string_view text) {
    while (!text.empty()) {
        const auto last = character_before(text, text.size());
        if (!is_space(character_at(text, last).code)) {
            break;
        }
        text = text.substr(0, last);
    }
    return text;
}

/// Encodes the texts of tasks, one task at a time.
class TaskEncoder {
  public:
    TaskEncoder(const TextTokenizer& tokenizer, const ChoiceLimits& limits, spec::AddBos add_bos)
        : encoder_{tokenizer.make_encoder()},
          begin_token_{added_begin_token(tokenizer, add_bos)},
          empty_context_{tokenizer.begin_token() ? tokenizer.begin_token() : tokenizer.document_token()},
          limits_{limits} {}

    /// Adds the rows of a task. Returns the first ending without tokens, whose task adds no row.
    std::optional<std::size_t> encode(const ChoiceTask& task, EncodedChoices& into) {
        expect_utf8(task.context);
        const auto context = without_last_space(task.context);
        context_.clear();
        encode_after_begin(context, context_);
        const auto in_whole = context_.size();
        if (context_.empty() && empty_context_) {
            context_.push_back(*empty_context_);
        }
        if (context_.empty()) {
            throw Error{ErrorKind::deck,
                        "its context is empty (and the tokenizer has no begin-of-text token). "
                        "Write the text that the endings continue."};
        }
        expect_known(context_);
        const auto num_rows = into.rows.rows.size();
        const auto num_tokens = into.rows.tokens.size();
        const auto cut_rows = into.cut_rows;
        for (std::size_t i = 0; i < task.endings.size(); ++i) {
            ending_.clear();
            encode_after_begin(task.context + " " + task.endings[i], ending_);
            ending_.erase(ending_.begin(),
                          ending_.begin() + static_cast<std::ptrdiff_t>(std::min(in_whole, ending_.size())));
            if (ending_.empty()) {
                into.rows.rows.resize(num_rows);
                into.rows.tokens.resize(num_tokens);
                into.cut_rows = cut_rows;
                return i;
            }
            expect_known(ending_);
            add_row(i, into);
        }
        return std::nullopt;
    }

  private:
    /// Appends the begin token and a text.
    ///
    /// A text that already begins with that token does not get a second one, as in lm-evaluation-harness.
    void encode_after_begin(std::string_view text, std::vector<std::int32_t>& ids) {
        const auto first = std::ssize(ids);
        encoder_->encode(text, ids);
        if (begin_token_ && (std::ssize(ids) == first || ids[first] != *begin_token_)) {
            ids.insert(ids.begin() + first, *begin_token_);
        }
    }

    void expect_known(std::span<const std::int32_t> tokens) const {
        const auto unknown =
            std::ranges::find_if(tokens, [this](std::int32_t id) { return id < 0 || id >= limits_.vocab; });
        if (unknown != tokens.end()) {
            throw Error{ErrorKind::deck,
                        fmt::format("token {} is not in the vocabulary (model.vocab = {}, ids 0 to {}). Name "
                                    "the tokenizer that the model was trained with: --tokenizer PATH.",
                                    *unknown, limits_.vocab, limits_.vocab - 1)};
        }
    }

    void add_row(std::size_t index, EncodedChoices& into) const {
        const auto max = limits_.max_read;
        if (std::ssize(ending_) > max) {
            throw Error{ErrorKind::deck,
                        fmt::format("ending {} has {} tokens (the model reads {} at a time: model.max_seq). "
                                    "Shorten it, or remove the task.",
                                    index, ending_.size(), max)};
        }
        // The limit is `max` + 1, because the last token of the ending is only predicted, not read.
        const auto kept = std::min(std::ssize(context_), max + 1 - std::ssize(ending_));
        into.cut_rows += kept < std::ssize(context_) ? 1 : 0;
        into.rows.rows.push_back(
            {static_cast<std::int32_t>(kept), static_cast<std::int32_t>(ending_.size())});
        auto& tokens = into.rows.tokens;
        tokens.insert(tokens.end(), context_.end() - kept, context_.end());
        tokens.insert(tokens.end(), ending_.begin(), ending_.end());
    }

    std::unique_ptr<TextEncoder> encoder_;
    std::optional<std::int32_t> begin_token_, empty_context_;
    ChoiceLimits limits_;
    std::vector<std::int32_t> context_, ending_;
};

}  // namespace

EncodedChoices encode_choices(std::span<const ChoiceTask> tasks,
                              const TextTokenizer& tokenizer,
                              const ChoiceLimits& limits,
                              const std::string& path,
                              spec::AddBos add_bos) {
    ZG_EXPECTS(limits.vocab >= 1 && limits.max_read >= 1);
    TaskEncoder encoder{tokenizer, limits, add_bos};
    EncodedChoices encoded;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        const auto& task = tasks[i];
        try {
            if (const auto ending = encoder.encode(task, encoded)) {
                encoded.first_skipped_ending =
                    encoded.skipped.empty() ? *ending : encoded.first_skipped_ending;
                encoded.skipped.push_back(i);
            }
        } catch (const Error& problem) {
            throw Error{problem.kind(),
                        fmt::format("'{}', line {}: {}", printable(path), task.line, problem.what())};
        }
    }
    if (encoded.skipped.size() == tasks.size() && !tasks.empty()) {
        throw Error{
            ErrorKind::deck,
            fmt::format("'{}', line {}: ending {} adds no token to its context, and no task of the file "
                        "has endings with tokens. Write other endings, or name the tokenizer of the model: "
                        "--tokenizer PATH.",
                        printable(path), tasks.front().line, encoded.first_skipped_ending)};
    }
    return encoded;
}

std::int64_t ChoiceRows::longest_read() const {
    std::int64_t longest = 0;
    for (const auto& row : rows) {
        longest = std::max(longest, row.read());
    }
    return longest;
}

std::string ChoiceRows::bytes() const {
    const std::int64_t num_rows = std::ssize(rows);
    std::string bytes(
        sizeof num_rows + rows.size() * sizeof(ChoiceRow) + tokens.size() * sizeof(std::int32_t), '\0');
    char* at = bytes.data();
    const auto put = [&at](const void* from, std::size_t size) {
        std::memcpy(at, from, size);
        at += size;
    };
    put(&num_rows, sizeof num_rows);
    put(rows.data(), rows.size() * sizeof(ChoiceRow));
    put(tokens.data(), tokens.size() * sizeof(std::int32_t));
    return bytes;
}

ChoiceRows ChoiceRows::of_bytes(std::string_view bytes) {
    const auto take = [&bytes](void* into, std::size_t size) {
        ZG_EXPECTS(size <= bytes.size());
        std::memcpy(into, bytes.data(), size);
        bytes.remove_prefix(size);
    };
    std::int64_t num_rows = 0;
    take(&num_rows, sizeof num_rows);
    ChoiceRows read;
    read.rows.resize(num_rows);
    take(read.rows.data(), read.rows.size() * sizeof(ChoiceRow));
    read.tokens.resize(bytes.size() / sizeof(std::int32_t));
    take(read.tokens.data(), read.tokens.size() * sizeof(std::int32_t));
    return read;
}

}  // namespace ziggurat::data
