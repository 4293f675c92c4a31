/// Record of validations: the losses that select the best checkpoints of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ziggurat::checkpoint {

/// Validations of a run in the order of their steps, stored in the file `<run.dir>/ckpt/VALIDATIONS`.
///
/// Each line is `STEP LOSS DATA`: steps done; nats per target token, which may be `nan`; and 16 hexadecimal
/// digits that identify the validated data. Lines of earlier versions have no DATA. Losses of different data
/// are never compared. Collective: local
class ValidationRecord {
  public:
    struct Entry {
        std::int64_t step = 0;
        double loss = 0;
        std::uint64_t data = 0;  ///< key of the validated data; 0: unknown (written by an older version)

        bool operator==(const Entry&) const = default;
    };

    /// Reads the record in the folder of checkpoints `root`; returns an empty record if it does not exist.
    ///
    /// Errors: Error{checkpoint} that names the line that cannot be parsed; Error{resource} on I/O errors
    static ValidationRecord read(const std::string& root);
    /// Parses the text of such a file; `path` is for messages.
    static ValidationRecord parse(std::string_view text, const std::string& path);
    /// Errors: Error{resource}
    void write(const std::string& root) const;
    std::string text() const;

    /// Adds a validation.
    ///
    /// Removes entries of the same and of later steps: training has returned to this step.
    ///
    /// \param data  key of the validated data
    void add(std::int64_t step, double loss, std::uint64_t data = 0);
    /// Removes entries after `step`, at which a run resumes.
    void forget_after(std::int64_t step);

    /// Returns the steps of the `count` lowest finite losses of each validated data, lowest first.
    ///
    /// Ties are ordered by step. The data of the latest validation comes first, then earlier data.
    std::vector<std::int64_t> best(std::int64_t count) const;

    const std::vector<Entry>& entries() const noexcept { return entries_; }

  private:
    std::vector<Entry> entries_;
};

/// Returns the best checkpoint if the last part of `path` is `best` (RUN/best or RUN/ckpt/best), else
/// nullopt.
///
/// The best one is the checkpoint on disk with the lowest validation loss.
///
/// Errors: those of ValidationRecord::read; Error{checkpoint} if no checkpoint was validated
std::optional<std::string> best_checkpoint(const std::string& path);

}  // namespace ziggurat::checkpoint
