/// The file `COMPLETE`: progress, deck, files and pieces of a checkpoint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/piece.hpp"
#include "data/fingerprint.hpp"
#include "data/order_record.hpp"

namespace ziggurat::checkpoint {

/// How much each step has taken since one of them: redundant, so that a progress which somebody has changed
/// by a step is found.
struct Pace {
    std::int64_t from_step = 0;         ///< done when it began
    std::int64_t from_tokens = 0;       ///< TrainingProgress::tokens then
    std::int64_t from_sample = 0;       ///< TrainingProgress::next_sample then
    std::int64_t samples_per_step = 0;  ///< 0: not known, of an older version
    std::int64_t tokens_per_step = 0;

    bool is_known() const noexcept { return samples_per_step > 0; }
    bool operator==(const Pace&) const = default;
};

/// The part of a training over which its learning rate follows the schedule, and where that has come to.
struct Course {
    std::int64_t begin_step = 0;    ///< steps done when the schedule began
    std::int64_t begin_tokens = 0;  ///< tokens consumed then
    std::int64_t end_step = 0;      ///< where it ends; 0: not known, of an older version
    std::int64_t end_tokens = 0;
    double next_rate = 0;  ///< learning rate that the next step would have taken

    bool is_known() const noexcept { return end_step > 0; }
    bool operator==(const Course&) const = default;
};

/// The latest steps by which a run judges the next ones (train.spikes); empty: nobody looks.
struct RecentSteps {
    std::vector<double> losses = {};      ///< nats per target token, in the order of steps
    std::vector<double> grad_norms = {};  ///< of the same steps
    std::int64_t spikes_in_a_row = 0;     ///< behind them

    bool operator==(const RecentSteps&) const = default;
};

/// Progress of a training: all that is needed to go on besides the pieces, for random numbers and the order
/// of data are functions of these and of the deck.
struct TrainingProgress {
    std::int64_t step = 0;              ///< steps done
    std::int64_t tokens = 0;            ///< consumed
    std::int64_t next_sample = 0;       ///< global index of the first sample that was not trained on
    std::int64_t skipped = 0;           ///< updates not applied; bias corrections count the others
    double seconds = 0;                 ///< of training so far, over all jobs
    std::int64_t skipped_in_a_row = 0;  ///< of `skipped`, the last steps without one in between
    Pace pace = {};
    RecentSteps recent = {};
    Course course = {};
    data::OrderRecord order = {};  ///< of the samples

    bool operator==(const TrainingProgress&) const = default;
};

/// The pace of a run that goes on from `before`: the same, or from there on a new one.
Pace pace_from(const TrainingProgress& before, std::int64_t samples_per_step, std::int64_t tokens_per_step);

/// A stored piece: which file, and where its bytes lie in it.
struct StoredPiece {
    Piece piece;
    int file = 0;                   ///< index into Manifest::files
    std::int64_t offset_bytes = 0;  ///< of the piece's first byte in the file
    /// Offset of the table of block hashes: the XXH3-64 of each block, 8 bytes each, little-endian.
    std::int64_t table_offset_bytes = 0;
    std::uint64_t hash_of_table = 0;  ///< XXH3-64 of that table, for readers of this piece alone

    bool operator==(const StoredPiece&) const = default;
};

/// One file of the checkpoint.
struct FileEntry {
    std::string name;  ///< without a folder
    std::int64_t bytes = 0;
    /// XXH3-64 of all bytes of the file that are no piece's, in order: metadata, padding and the tables of
    /// block hashes, which in turn cover the pieces.
    std::uint64_t hash_of_rest = 0;

    bool operator==(const FileEntry&) const = default;
};

/// Version of the format, of all files of a checkpoint together. Readers take no other.
inline constexpr int format_version = 1;

struct Manifest {
    std::string program;  ///< version of the program that wrote it
    TrainingProgress progress;
    std::string deck;    ///< the effective deck
    std::string layout;  ///< a line for people: ranks, degrees, spans
    int ranks = 0;
    /// The files of training and validation data, by printable paths; none: an older version wrote it.
    std::vector<data::FileFingerprint> data;
    std::vector<FileEntry> files;     ///< shards and, without pieces, master.h5
    std::vector<StoredPiece> pieces;  ///< cover every tensor of every kind exactly once

    bool operator==(const Manifest&) const = default;
};

/// Bytes of the table of block hashes of a piece.
std::int64_t table_bytes(const Piece& piece) noexcept;

/// The text of `COMPLETE`: JSON, whose last line holds the XXH3-64 of all lines before it.
std::string to_text(const Manifest& manifest);

/// Errors: Error{checkpoint} that names `path` and what is wrong, for any text at all
Manifest parse_manifest(const std::string& text, const std::string& path);

/// Reads and checks `COMPLETE` in the folder of a checkpoint.
/// Errors: Error{checkpoint} that names the file, also when there is none; Error{resource} when the disk
/// fails
Manifest read_manifest(const std::string& folder);

/// The text of `COMPLETE` in the folder of a checkpoint; nothing when there is none.
/// Errors: as of storage::read_small_file
std::optional<std::string> read_manifest_text(const std::string& folder);

/// The hash that the text ends with, which `LATEST` repeats.
/// Errors: Error{checkpoint} when it ends with none
std::uint64_t hash_of_manifest(const std::string& text);

}  // namespace ziggurat::checkpoint
