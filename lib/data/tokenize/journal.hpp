/// Journal of a job that writes token files: its progress, from which it resumes.
#pragma once

#include <optional>
#include <string>

#include "base/file_handle.hpp"
#include "data/tokenize/document_reader.hpp"
#include "data/tokenize/token_output.hpp"

namespace ziggurat::data {

/// Progress on disk: all documents before `next` are written.
struct JournalRecord {
    InputPosition next;
    WrittenTokens written;
    std::int64_t text_bytes = 0;     ///< of all documents before `next`
    std::int64_t skipped_lines = 0;  ///< lines skipped before `next`
    std::uint64_t hash = 0;          ///< of all texts before `next`, chained by batch
    std::uint64_t output_hash = 0;   ///< of `written`, as TokenOutput::hash(); 0: an earlier version's record
    bool has_all = false;            ///< only the completion of the files is left

    bool operator==(const JournalRecord&) const = default;
};

/// Owns the journal file and the lock on the output files.
///
/// Its first line is the job as JSON; each further line is a record with a hash of itself. Records from the
/// first one on whose hash differs are ignored.
class TokenizeJournal {
  public:
    /// Resumes from an existing journal, or creates one.
    ///
    /// \param job  the job as a JSON object on one line; a journal of another job is rejected, except if only
    ///             its inputs have changed
    /// Errors: Error{deck} that names what differs; Error{resource} if another process has locked it
    TokenizeJournal(std::string path, const std::string& job);

    /// Returns the last record of an earlier process.
    const std::optional<JournalRecord>& last() const noexcept { return last_; }

    /// True if an earlier process or this one has recorded finished work.
    bool has_records() const noexcept { return has_records_; }

    /// True if the inputs differ from those in the journal.
    bool has_other_inputs() const noexcept { return has_other_inputs_; }

    /// Throws the Error{deck} of a job that cannot resume with its inputs.
    [[noreturn]] void refuse_inputs() const;

    /// Records the inputs of this job, with which it resumes from now on.
    ///
    /// Errors: Error{resource}
    void accept_inputs();

    /// Appends a record. Returns when it is on disk.
    ///
    /// Errors: Error{resource}
    void append(const JournalRecord& record);

    /// Removes the journal of a finished job.
    ///
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
