/// Reader of a complete checkpoint.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "checkpoint/piece.hpp"

namespace ziggurat::checkpoint {

class CheckpointFiles;
class RangeReader;

/// A defect that verification has found.
struct Defect {
    std::string file;
    std::string what;  ///< names tensor, block and offset if known
};

/// An open checkpoint. Local: each rank can open it on its own, or use rank 0's manifest.
class CheckpointReader {
  public:
    /// Reads and checks COMPLETE, and the sizes of all files.
    /// Errors: Error{checkpoint}
    explicit CheckpointReader(std::string path);
    /// Uses a manifest that another rank has read; sizes are checked when files are read.
    CheckpointReader(std::string path, Manifest manifest);
    ~CheckpointReader();
    CheckpointReader(CheckpointReader&&) noexcept;
    CheckpointReader& operator=(CheckpointReader&&) noexcept;

    const std::string& path() const noexcept { return path_; }
    const Manifest& manifest() const noexcept { return manifest_; }

    /// Opens all files, so that they stay readable if another process removes them.
    ///
    /// Without this call, read() opens the files that it needs before it reads the first one.
    ///
    /// Errors: Error{checkpoint} that names a missing file, or one of another size
    void hold();
    /// Closes the files, so that the disk can free the space of removed ones.
    void let_go();
    /// Returns true if the checkpoint still exists under its path and was not replaced.
    ///
    /// Call after an error.
    bool is_in_place() const;

    /// Fills the targets with stored values.
    ///
    /// Reads only the blocks that hold requested bytes, each once per call, many at a time (with O_DIRECT if
    /// the file system supports it). Checks each block against its hash.
    ///
    /// Errors: Error{checkpoint} that names file, tensor and block if a hash differs or a requested element
    /// is not stored; Error{resource} on I/O errors
    void read(std::span<const PieceTarget> targets);

    /// Makes read() return the average of a tensor instead of its weights, if the checkpoint has it.
    ///
    /// Frozen tensors have no average; their weights are read.
    ///
    /// Errors: Error{deck} if the checkpoint has no averages
    void use_averages();

    /// Sets a callback for progress.
    ///
    /// read() calls it for each block, on its reader threads, with block bytes done and in total. The
    /// callback must remain valid for the lifetime of this object.
    void set_progress_callback(std::function<void(std::int64_t, std::int64_t)> on_progress) {
        on_progress_ = std::move(on_progress);
    }

    /// Bytes read from files since construction.
    std::int64_t bytes_read() const noexcept { return bytes_read_; }

    /// Verifies every byte of every file; keeps the files open meanwhile.
    ///
    /// Also verifies COMPLETE, master.h5, the HDF5 structure and, if the checkpoint lies in a run's folder,
    /// LATEST. Returns an empty list if no defect is found.
    ///
    /// \param progress  called repeatedly, on this thread, with bytes done and in total; may be empty
    std::vector<Defect> verify(const std::function<void(std::int64_t, std::int64_t)>& progress = {});

  private:
    std::string path_;
    std::unique_ptr<CheckpointFiles> files_;
    Manifest manifest_;
    std::int64_t bytes_read_ = 0;
    std::set<std::string> averaged_;  ///< tensors whose average is read instead of their weights
    std::function<void(std::int64_t, std::int64_t)> on_progress_;
    /// Readers of two threads, kept between calls because closing a queue takes many milliseconds.
    std::array<std::unique_ptr<RangeReader>, 2> ranges_;
};

}  // namespace ziggurat::checkpoint
