/// Record of validations: the losses by which the best checkpoints of a run are chosen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ziggurat::checkpoint {

/// The validations of a run in the order of their steps, in the file `<run.dir>/ckpt/VALIDATIONS`.
///
/// Each line is `STEP LOSS`: steps done, and nats per target token, which may be `nan`. Collective: local
class ValidationRecord {
  public:
    struct Entry {
        std::int64_t step = 0;
        double loss = 0;
        bool operator==(const Entry&) const = default;
    };

    /// The record in the folder of checkpoints `root`; an empty one where there is none.
    ///
    /// Errors: Error{checkpoint} that names the line which cannot be read; Error{resource} when the disk
    /// fails
    static ValidationRecord read(const std::string& root);
    /// The same of the text of such a file; `path` is for messages.
    static ValidationRecord parse(std::string_view text, const std::string& path);
    /// Errors: Error{resource}
    void write(const std::string& root) const;
    std::string text() const;

    /// Adds a validation. Those of the same step and of later ones go: training has gone back before them.
    void add(std::int64_t step, double loss);
    /// Forgets what lies behind `step`, from where a run continues.
    void forget_after(std::int64_t step);

    /// The steps of the `count` lowest finite losses, lowest first; of equal losses the earlier comes first.
    std::vector<std::int64_t> best(std::int64_t count) const;

    const std::vector<Entry>& entries() const noexcept { return entries_; }

  private:
    std::vector<Entry> entries_;
};

/// The checkpoint that `path` means where its last part is `best` (RUN/best or RUN/ckpt/best): of those on
/// the disk that were validated, the one with the lowest loss. Nothing for any other path.
///
/// Errors: those of ValidationRecord::read; Error{checkpoint} where no checkpoint was validated
std::optional<std::string> best_checkpoint(const std::string& path);

}  // namespace ziggurat::checkpoint
