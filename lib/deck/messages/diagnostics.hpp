/// Problems of a deck, each with its location in the source, printed together.
///
/// A problem is printed as `problem (why it is one). What to do.`, followed by its line of the deck with a
/// caret.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/text/message.hpp"
#include "base/text/secret.hpp"

namespace ziggurat::deck {

/// File name of overrides: line n is the n-th override.
inline constexpr const char* command_line_name = "command line";

/// Location of a value in its file.
///
/// Lines and columns (in bytes, as compilers count them) are one-based; line 0 means the whole file.
struct SourceLocation {
    std::string file;
    int line = 0;
    int column = 0;

    /// Returns `decks/a.yaml:31:10`, or only the file name.
    std::string text() const;
    bool operator==(const SourceLocation&) const = default;
};

/// One message about a deck.
///
/// `reason` and `advice` may be empty. Without a location, the problem concerns the run, and `problem` is the
/// complete message of one or more lines.
struct Problem {
    Severity severity = Severity::error;
    SourceLocation at;
    std::string problem;
    std::string reason;
    std::string advice;
    ErrorKind kind = ErrorKind::deck;  ///< for errors: determines the exit code

    bool has_slot() const noexcept { return !at.file.empty(); }
    /// Returns `problem (why). Advice.`
    std::string sentence() const;
    /// Returns `ziggurat: error: decks/a.yaml:31:10: problem (why). Advice.`
    std::string text() const;
};

/// Key of another file that gives a key of the deck its value.
struct ForeignKey {
    std::string deck_key;       ///< `model.heads`
    std::string name;           ///< `num_attention_heads`
    SourceLocation at;          ///< line 0: the file does not have the key
    std::string fallback = {};  ///< value of a key that the file does not have
};

/// All problems found while a deck is loaded.
///
/// Problems beyond the first thousand are counted but not kept, to bound memory for hostile decks.
class Diagnostics {
  public:
    static constexpr std::size_t max_kept = 1000;

    /// Adds a problem. Errors also list confusable characters in their line (confusables.hpp).
    void add(Problem problem);
    void error(SourceLocation at, std::string problem, std::string reason, std::string advice);
    /// Adds an error that no change of the deck can fix: the machine lacks something.
    void add_resource_error(SourceLocation at, std::string problem, std::string reason, std::string advice);
    void warning(SourceLocation at, std::string problem, std::string reason, std::string advice);
    void note(SourceLocation at, std::string problem, std::string reason = {}, std::string advice = {});
    /// Adds a complete message without a location.
    void add_message(Severity severity, std::string text, ErrorKind kind = ErrorKind::deck);

    /// Stores the text of `file`, for printing lines with carets.
    ///
    /// Files print in the order of first mention.
    void remember(std::string file, std::string_view text);

    /// Adds the source of the value of `key.deck_key` to later errors and warnings about it.
    ///
    /// These are the ones that mention the key or have its location. The latter also advise to correct the
    /// file.
    void add_foreign_key(ForeignKey key);

    /// Replaces secrets that occur in problems by their variables.
    void hide(std::span<const Secret> secrets);

    std::size_t errors() const noexcept { return errors_; }
    std::size_t warnings() const noexcept { return warnings_; }
    std::size_t notes() const noexcept { return notes_; }
    bool ok() const noexcept { return errors_ == 0; }
    /// Returns 0 without errors, 3 if all errors are due to the machine, else 2.
    int exit_code() const noexcept;

    /// Returns all kept problems, ordered by file and location.
    std::vector<Problem> sorted() const;

    /// Returns up to `max` problems with their lines, errors preferred, and a line with the counts.
    ///
    /// Equal notes and warnings about several things are printed once.
    std::string print(std::size_t max = 50) const;

    /// Returns `2 errors, 1 warning, 1 note. Nothing was started.`
    std::string closing_line() const;

  private:
    std::size_t file_rank(const std::string& file) const;
    /// Returns the line of the deck at a location; nullptr if its text is unknown.
    const std::string* line_at(const SourceLocation& at) const;
    std::string caret(const SourceLocation& at) const;
    void name_foreign_keys(Problem& problem) const;

    std::vector<Problem> kept_;
    std::vector<std::string> files_;
    std::vector<ForeignKey> foreign_;
    std::map<std::string, std::vector<std::string>> lines_;
    std::size_t errors_ = 0;
    std::size_t lacks_ = 0;  ///< errors due to the machine
    std::size_t warnings_ = 0;
    std::size_t notes_ = 0;
};

/// Returns `text` in quotes, shortened and with unprintable characters replaced.
std::string in_quotes(std::string_view text);

}  // namespace ziggurat::deck
