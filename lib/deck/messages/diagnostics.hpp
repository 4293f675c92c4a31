/// Problems of a deck, each with its location in the source, printed together.
///
/// A problem reads `problem (why it is one). What to do.` and is followed by its line with a caret under the
/// column.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/message.hpp"
#include "base/secret.hpp"

namespace ziggurat::deck {

/// The name under which overrides appear as a file: line n is the n-th of them.
inline constexpr const char* command_line_name = "command line";

/// The location of a value in its file. Lines and columns (in bytes, as compilers count them) begin with 1;
/// line 0 means the file as a whole.
struct SourceLocation {
    std::string file;
    int line = 0;
    int column = 0;

    /// `decks/a.yaml:31:10`, or the file alone.
    std::string text() const;
    bool operator==(const SourceLocation&) const = default;
};

/// One message about a deck. `why` and `advice` may be empty. Without a location it is about the run, and
/// `problem` is all of it, of one line or more.
struct Problem {
    Severity severity = Severity::error;
    SourceLocation at;
    std::string problem;
    std::string why;
    std::string advice;
    ErrorKind kind = ErrorKind::deck;  ///< of an error: its exit code

    bool has_place() const noexcept { return !at.file.empty(); }
    /// `problem (why). Advice.`
    std::string sentence() const;
    /// `ziggurat: error: decks/a.yaml:31:10: problem (why). Advice.`
    std::string text() const;
};

/// Everything found while a deck is loaded.
///
/// Problems beyond the first thousand are counted but not kept, so that a hostile deck costs no memory.
class Diagnostics {
  public:
    static constexpr std::size_t most_kept = 1000;

    /// An error also names the characters of its line that only look like those of a deck.
    void add(Problem problem);
    void error(SourceLocation at, std::string problem, std::string why, std::string advice);
    /// An error that the deck cannot help: the machine lacks something.
    void lack(SourceLocation at, std::string problem, std::string why, std::string advice);
    void warning(SourceLocation at, std::string problem, std::string why, std::string advice);
    void note(SourceLocation at, std::string problem, std::string why = {}, std::string advice = {});
    /// A message without a location, which is whole.
    void tell(Severity severity, std::string text, ErrorKind kind = ErrorKind::deck);

    /// Keeps the text of `file`, for the line above a caret. Files print in the order of the first mention.
    void remember(std::string file, std::string_view text);

    /// Writes variables in the place of secrets that deck values have brought into problems.
    void hide(std::span<const Secret> secrets);

    std::size_t errors() const noexcept { return errors_; }
    std::size_t warnings() const noexcept { return warnings_; }
    std::size_t notes() const noexcept { return notes_; }
    bool ok() const noexcept { return errors_ == 0; }
    /// 0 without errors, else 2; 3 where the machine lacks something and nothing is wrong with the deck.
    int exit_code() const noexcept;

    /// All that was kept, ordered by file and location.
    std::vector<Problem> sorted() const;

    /// Up to `most` problems with their lines, errors first into `most`, and a closing line with the counts.
    /// Notes and warnings that say the same of several things are told once.
    std::string print(std::size_t most = 50) const;

    /// `2 errors, 1 warning, 1 note. Nothing was started.`
    std::string closing_line() const;

  private:
    std::size_t file_rank(const std::string& file) const;
    /// Nothing where the text is not known.
    const std::string* line_at(const SourceLocation& at) const;
    std::string caret(const SourceLocation& at) const;

    std::vector<Problem> kept_;
    std::vector<std::string> files_;
    std::map<std::string, std::vector<std::string>> lines_;
    std::size_t errors_ = 0;
    std::size_t lacks_ = 0;  ///< errors of the machine
    std::size_t warnings_ = 0;
    std::size_t notes_ = 0;
};

/// `text` in quotes, shortened and with anything that is not printable replaced.
std::string in_quotes(std::string_view text);

}  // namespace ziggurat::deck
