/// The file `COMPLETE`: progress, deck, files and pieces of a checkpoint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/piece.hpp"
#include "data/fingerprint.hpp"
#include "data/order/data_order_state.hpp"

namespace ziggurat::checkpoint {

/// Samples and tokens per step since a given step.
///
/// Redundant: it exposes a `step` that was edited by hand.
struct StepIncrements {
    std::int64_t from_step = 0;         ///< steps done at the beginning
    std::int64_t from_tokens = 0;       ///< TrainingProgress::tokens at the beginning
    std::int64_t from_sample = 0;       ///< TrainingProgress::next_sample at the beginning
    std::int64_t samples_per_step = 0;  ///< 0: unknown (written by an older version)
    std::int64_t tokens_per_step = 0;

    bool is_known() const noexcept { return samples_per_step > 0; }
    bool operator==(const StepIncrements&) const = default;
};

/// The steps over which the learning rate follows its schedule, and the current rate.
struct LrScheduleState {
    std::int64_t begin_step = 0;    ///< steps done when the schedule began
    std::int64_t begin_tokens = 0;  ///< tokens consumed when it began
    std::int64_t end_step = 0;      ///< end of the schedule; 0: unknown (written by an older version)
    std::int64_t end_tokens = 0;
    double next_rate = 0;  ///< learning rate of the next step

    bool is_known() const noexcept { return end_step > 0; }
    bool operator==(const LrScheduleState&) const = default;
};

/// Recent steps for spike detection (train.spikes); empty if detection is off.
struct RecentSteps {
    std::vector<double> losses = {};      ///< nats per target token, in the order of steps
    std::vector<double> grad_norms = {};  ///< of the same steps
    std::int64_t spikes_in_a_row = 0;     ///< consecutive spikes after those steps

    bool operator==(const RecentSteps&) const = default;
};

/// Progress of a training: everything besides the pieces that resuming needs.
///
/// Random numbers and the order of data are functions of this and of the deck.
struct TrainingProgress {
    std::int64_t step = 0;              ///< steps done
    std::int64_t tokens = 0;            ///< tokens consumed
    std::int64_t next_sample = 0;       ///< global index of the first sample that was not trained on
    std::int64_t skipped = 0;           ///< steps without an update; bias corrections count only the others
    double seconds = 0;                 ///< training time so far, over all jobs
    std::int64_t skipped_in_a_row = 0;  ///< consecutive steps at the end that are part of `skipped`
    StepIncrements pace = {};
    RecentSteps recent = {};
    LrScheduleState course = {};
    data::DataOrderState order = {};  ///< order of the samples
    /// Norm of the gradient in the last step with an update, before clipping; 0: unknown.
    double grad_norm = 0;

    bool operator==(const TrainingProgress&) const = default;
};

/// Returns the pace of a run that resumes from `before`: the same, or a new one that begins there.
StepIncrements increments_from(const TrainingProgress& before,
                               std::int64_t samples_per_step,
                               std::int64_t tokens_per_step);

/// A stored piece: its file and its position in that file.
struct StoredPiece {
    Piece piece;
    int file = 0;                   ///< index into Manifest::files
    std::int64_t offset_bytes = 0;  ///< position of the piece's first byte in the file
    /// Position of the table of block hashes: the XXH3-64 of each block, 8 bytes each, little-endian.
    std::int64_t table_offset_bytes = 0;
    std::uint64_t hash_of_table = 0;  ///< XXH3-64 of that table: lets a reader of one piece verify it

    bool operator==(const StoredPiece&) const = default;
};

/// One file of the checkpoint.
struct FileEntry {
    std::string name;  ///< file name without folder
    std::int64_t bytes = 0;
    /// XXH3-64 of all bytes of the file outside of pieces, in order: metadata, padding and the tables of
    /// block hashes. These tables cover the pieces.
    std::uint64_t hash_of_rest = 0;

    bool operator==(const FileEntry&) const = default;
};

/// Version of the format of all files of a checkpoint. Readers accept no other version.
inline constexpr int format_version = 1;

struct Manifest {
    std::string program;  ///< version of the program that wrote the checkpoint
    TrainingProgress progress;
    std::string deck;    ///< the effective deck
    std::string layout;  ///< human-readable: ranks, degrees, spans
    int ranks = 0;
    /// Files of training and validation data, with printable paths; empty if an older version wrote it.
    std::vector<data::FileFingerprint> data;
    std::vector<FileEntry> files;     ///< shards and master.h5, which has no pieces
    std::vector<StoredPiece> pieces;  ///< cover every tensor of every kind exactly once

    bool operator==(const Manifest&) const = default;
};

/// Returns the bytes of a piece's table of block hashes.
std::int64_t table_bytes(const Piece& piece) noexcept;

/// Returns the text of `COMPLETE`: JSON, whose last line holds the XXH3-64 of all lines before it.
std::string to_text(const Manifest& manifest);

/// Parses a text of `COMPLETE`; any text is accepted as input.
/// Errors: Error{checkpoint} that names `path` and the defect
Manifest parse_manifest(const std::string& text, const std::string& path);

/// Reads and checks `COMPLETE` in the folder of a checkpoint.
/// Errors: Error{checkpoint} that names the file, also if it does not exist; Error{resource} on I/O errors
Manifest read_manifest(const std::string& folder);

/// Reads the text of `COMPLETE` in the folder of a checkpoint; returns nullopt if it does not exist.
/// Errors: those of storage::read_small_file
std::optional<std::string> read_manifest_text(const std::string& folder);

/// Returns the hash at the end of the text, which `LATEST` repeats.
/// Errors: Error{checkpoint} if the text does not end with a hash
std::uint64_t hash_of_manifest(const std::string& text);

}  // namespace ziggurat::checkpoint
