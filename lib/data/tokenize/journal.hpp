/// Journal of a job that makes token files: how far it has come, so that it goes on there.
#pragma once

#include <optional>
#include <string>

#include "base/file_handle.hpp"
#include "data/tokenize/document_reader.hpp"
#include "data/tokenize/token_output.hpp"

namespace ziggurat::data {

/// What the disk has: all documents before `next` are written.
struct JournalRecord {
    InputPosition next;
    WrittenTokens written;
    bool has_all = false;  ///< the files have only to be completed

    bool operator==(const JournalRecord&) const = default;
};

/// Owns the file and the right to write what it is about: a line of JSON that says what is to be done, then
/// one for each record.
class TokenizeJournal {
  public:
    /// Goes on with what is there, or begins.
    ///
    /// \param job  what is to be done, a JSON object on one line; a journal of another job is refused
    /// Errors: Error{deck} that names what differs; Error{resource} when another process holds it
    TokenizeJournal(std::string path, const std::string& job);

    /// The last record of an earlier process.
    const std::optional<JournalRecord>& last() const noexcept { return last_; }

    /// Returns when the disk has the record.
    /// Errors: Error{resource}
    void append(const JournalRecord& record);

    /// The job is done.
    /// Errors: Error{resource}
    void remove();

  private:
    void read(const std::string& job);

    std::string path_;
    FileHandle file_;
    std::optional<JournalRecord> last_;
};

}  // namespace ziggurat::data
