#include "deck/messages/diagnostics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <tuple>
#include <utility>

#include "base/text/printable.hpp"
#include "deck/messages/confusables.hpp"
#include "deck/messages/grouped_problems.hpp"

namespace ziggurat::deck {
namespace {

constexpr std::size_t longest_line_shown = 140;
constexpr std::size_t longest_value_shown = 80;

/// Returns a line of the deck with each unprintable byte replaced, so that the caret keeps its column.
std::string shown_line(std::string_view line) {
    std::string shown;
    while (!line.empty()) {
        const std::size_t length = std::max<std::size_t>(1, utf8_length(line));
        const std::string_view character = line.substr(0, length);
        shown += printable(character) == character ? character : "?";
        line.remove_prefix(length);
    }
    return shown;
}

/// Returns the nearest position at or before `at` that does not split a UTF-8 character.
std::size_t character_boundary(std::string_view text, std::size_t at) {
    while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0u) == 0x80u) {
        --at;
    }
    return std::min(at, text.size());
}

/// Returns true if `text` has the key `name`, not as a part of a longer one.
bool mentions(std::string_view text, std::string_view name) {
    const auto is_inside = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    };
    for (auto at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
        const auto end = at + name.size();
        const bool is_longer =
            end < text.size() &&
            (is_inside(text[end]) || (text[end] == '.' && end + 1 < text.size() && is_inside(text[end + 1])));
        if (!is_longer && (at == 0 || !(is_inside(text[at - 1]) || text[at - 1] == '.'))) {
            return true;
        }
    }
    return false;
}

/// Returns `model.heads is num_attention_heads in line 6 of 'm/config.json'`.
std::string source_of(const ForeignKey& key, const SourceLocation& from) {
    if (key.at.line == 0) {
        return fmt::format("{} is {}, because {} has no {}", key.deck_key, key.fallback,
                           in_quotes(key.at.file), key.name);
    }
    const auto file = key.at.file == from.file ? "" : fmt::format(" of {}", in_quotes(key.at.file));
    return fmt::format("{} is {}{}", key.deck_key, key.name,
                       key.at == from ? "" : fmt::format(" in line {}{}", key.at.line, file));
}

std::string counted(std::size_t count, const char* noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace

std::string SourceLocation::text() const {
    return line == 0 ? file : fmt::format("{}:{}:{}", file, line, column);
}

std::string Problem::sentence() const {
    if (!has_slot()) {
        return problem;
    }
    std::string sentence = problem;
    if (!reason.empty()) {
        sentence += fmt::format(" ({})", reason);
    }
    sentence += ".";
    if (!advice.empty()) {
        sentence += " " + advice;
    }
    return printable(sentence);
}

std::string Problem::text() const {
    return message(severity, has_slot() ? printable(at.text()) + ": " + sentence() : sentence());
}

const std::string* Diagnostics::line_at(const SourceLocation& at) const {
    const auto found = lines_.find(at.file);
    const bool is_present =
        found != lines_.end() && at.line >= 1 && static_cast<std::size_t>(at.line) <= found->second.size();
    return is_present ? &found->second[at.line - 1] : nullptr;
}

void Diagnostics::add(Problem problem) {
    if (problem.severity != Severity::note) {
        name_foreign_keys(problem);
    }
    switch (problem.severity) {
        case Severity::error:
            if (const std::string* line = line_at(problem.at)) {
                const std::string letters = confusables(*line, problem.at.column);
                problem.advice += (problem.advice.empty() || letters.empty() ? "" : " ") + letters;
            }
            ++errors_;
            lacks_ += problem.kind == ErrorKind::resource ? 1 : 0;
            break;
        case Severity::warning:
            ++warnings_;
            break;
        case Severity::note:
            ++notes_;
            break;
    }
    if (kept_.size() < max_kept) {
        kept_.push_back(std::move(problem));
    }
}

void Diagnostics::error(SourceLocation at, std::string problem, std::string reason, std::string advice) {
    add({Severity::error, std::move(at), std::move(problem), std::move(reason), std::move(advice)});
}

void Diagnostics::add_resource_error(SourceLocation at,
                                     std::string problem,
                                     std::string reason,
                                     std::string advice) {
    add({Severity::error, std::move(at), std::move(problem), std::move(reason), std::move(advice),
         ErrorKind::resource});
}

int Diagnostics::exit_code() const noexcept {
    return ok() ? 0 : static_cast<int>(lacks_ == errors_ ? ErrorKind::resource : ErrorKind::deck);
}

void Diagnostics::warning(SourceLocation at, std::string problem, std::string reason, std::string advice) {
    add({Severity::warning, std::move(at), std::move(problem), std::move(reason), std::move(advice)});
}

void Diagnostics::note(SourceLocation at, std::string problem, std::string reason, std::string advice) {
    add({Severity::note, std::move(at), std::move(problem), std::move(reason), std::move(advice)});
}

void Diagnostics::add_message(Severity severity, std::string text, ErrorKind kind) {
    add({severity, SourceLocation{}, std::move(text), "", "", kind});
}

void Diagnostics::remember(std::string file, std::string_view text) {
    if (lines_.contains(file)) {
        return;
    }
    auto& lines = lines_[file];
    while (true) {
        const std::size_t end = text.find('\n');
        lines.emplace_back(text.substr(0, end));
        if (end == std::string_view::npos) {
            break;
        }
        text.remove_prefix(end + 1);
    }
    files_.push_back(std::move(file));
}

void Diagnostics::add_foreign_key(ForeignKey key) {
    foreign_.push_back(std::move(key));
}

void Diagnostics::name_foreign_keys(Problem& problem) const {
    const std::string text = problem.problem + " " + problem.reason + " " + problem.advice;
    bool is_in_file = false;
    for (const ForeignKey& key : foreign_) {
        const bool is_at = key.at.line > 0 && problem.at == key.at;
        is_in_file = is_in_file || is_at;
        if ((is_at || mentions(text, key.deck_key)) && !mentions(text, key.name)) {
            problem.reason += (problem.reason.empty() ? "" : "; ") + source_of(key, problem.at);
        }
    }
    if (is_in_file) {
        problem.advice += problem.advice.empty() ? "" : " ";
        problem.advice += "Correct it in this file, or fetch or export the model again.";
    }
}

std::size_t Diagnostics::file_rank(const std::string& file) const {
    return std::find(files_.begin(), files_.end(), file) - files_.begin();
}

void Diagnostics::hide(std::span<const Secret> secrets) {
    for (auto& problem : kept_) {
        for (auto* text : {&problem.problem, &problem.reason, &problem.advice}) {
            *text = without_secrets(*text, secrets);
        }
    }
}

std::vector<Problem> Diagnostics::sorted() const {
    std::vector<Problem> ordered = kept_;
    std::stable_sort(ordered.begin(), ordered.end(), [&](const Problem& a, const Problem& b) {
        return std::tuple{file_rank(a.at.file), a.at.line, a.at.column} <
               std::tuple{file_rank(b.at.file), b.at.line, b.at.column};
    });
    return ordered;
}

std::string Diagnostics::caret(const SourceLocation& at) const {
    const std::string* whole = line_at(at);
    if (whole == nullptr) {
        return {};
    }
    const std::string& line = *whole;
    std::size_t column = static_cast<std::size_t>(std::max(at.column, 1)) - 1;
    std::size_t begin = 0;
    if (column > longest_line_shown - 20) {
        begin = character_boundary(line, column - 40);
        column -= begin;
    }
    if (begin >= line.size() && begin > 0) {
        return {};
    }
    const std::size_t end = character_boundary(line, std::min(line.size(), begin + longest_line_shown));
    const std::string shown = shown_line(std::string_view{line}.substr(begin, end - begin));
    const std::string before = shown_line(std::string_view{line}.substr(begin, column));
    const std::size_t characters = std::count_if(before.begin(), before.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u;
    });
    return fmt::format("{:>4} | {}\n     | {:>{}}\n", at.line, shown, "^", characters + 1);
}

std::string Diagnostics::print(std::size_t max) const {
    std::vector<Problem> ordered = sorted();
    if (ordered.size() > max) {
        std::stable_partition(ordered.begin(), ordered.end(),
                              [](const Problem& p) { return p.severity == Severity::error; });
        ordered.resize(max);
    }
    const std::size_t shown = ordered.size();
    std::string text;
    for (const GroupedProblems& similar : group_problems(std::move(ordered))) {
        text += similar.first.text() + "\n" + caret(similar.first.at);
        text += similar.others.empty() ? "" : "     = " + others_like_it(similar) + "\n";
    }
    const std::size_t total = errors_ + warnings_ + notes_;
    if (total > shown) {
        text += fmt::format("... and {} more\n", total - shown);
    }
    return text + closing_line() + "\n";
}

std::string Diagnostics::closing_line() const {
    return fmt::format("{}, {}, {}.{}", counted(errors_, "error"), counted(warnings_, "warning"),
                       counted(notes_, "note"), ok() ? "" : " Nothing was started.");
}

std::string in_quotes(std::string_view text) {
    if (text.size() > longest_value_shown) {
        text = text.substr(0, character_boundary(text, longest_value_shown));
        return fmt::format("'{}...'", printable(text));
    }
    return fmt::format("'{}'", printable(text));
}

}  // namespace ziggurat::deck
