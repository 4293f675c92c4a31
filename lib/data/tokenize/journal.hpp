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
    std::int64_t text_bytes = 0;     ///< of all documents before `next`
    std::int64_t skipped_lines = 0;  ///< before `next`
    std::uint64_t hash = 0;          ///< of all texts before `next`, batch after batch
    bool has_all = false;            ///< the files have only to be completed

    bool operator==(const JournalRecord&) const = default;
};

/// Owns the file and the right to write what it is about: a line of JSON that says what is to be done, then
/// one for each record.
class TokenizeJournal {
  public:
    /// Goes on with what is there, or begins.
    ///
    /// \param job  what is to be done, a JSON object on one line; a journal of another job is refused, except
    ///             that its inputs may have changed
    /// Errors: Error{deck} that names what differs; Error{resource} when another process holds it
    TokenizeJournal(std::string path, const std::string& job);

    /// The last record of an earlier process.
    const std::optional<JournalRecord>& last() const noexcept { return last_; }

    /// True if an earlier process or this one has recorded something that is done.
    bool has_records() const noexcept { return has_records_; }

    /// True if the inputs are not those that the journal was begun with.
    bool has_other_inputs() const noexcept { return has_other_inputs_; }

    /// Throws the Error{deck} of a job that cannot go on with its inputs.
    [[noreturn]] void refuse_inputs() const;

    /// Records the inputs of this job: from now on it goes on with these.
    /// Errors: Error{resource}
    void accept_inputs();

    /// Returns when the disk has the record.
    /// Errors: Error{resource}
    void append(const JournalRecord& record);

    /// The job is done.
    /// Errors: Error{resource}
    void remove();

  private:
    void read();

    std::string path_;
    std::string job_;
    bool has_records_ = false;
    bool has_other_inputs_ = false;
    FileHandle file_;
    std::optional<JournalRecord> last_;
};

}  // namespace ziggurat::data
