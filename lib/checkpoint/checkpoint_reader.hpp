/// Reader of a complete checkpoint.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "checkpoint/piece.hpp"

namespace ziggurat::checkpoint {

class HeldFiles;
class RangeReader;

/// A problem that `verify` has found.
struct Damage {
    std::string file;
    std::string what;  ///< names tensor, block and offset where it can
};

/// An open checkpoint. Local: every rank may open it for itself, or take rank 0's manifest.
class CheckpointReader {
  public:
    /// Reads and checks COMPLETE, and the sizes of all files.
    /// Errors: Error{checkpoint}
    explicit CheckpointReader(std::string path);
    /// The same with a manifest that another rank has read: sizes are checked as files are read.
    CheckpointReader(std::string path, Manifest manifest);
    ~CheckpointReader();
    CheckpointReader(CheckpointReader&&) noexcept;
    CheckpointReader& operator=(CheckpointReader&&) noexcept;

    const std::string& path() const noexcept { return path_; }
    const Manifest& manifest() const noexcept { return manifest_; }

    /// Opens all files, so that they are read to the end whoever removes them meanwhile. Without it, read()
    /// opens those that it needs before it reads the first.
    ///
    /// Errors: Error{checkpoint} that names a file that is missing, or has another size
    void hold();
    /// Closes them: disks get the space of what was removed meanwhile.
    void let_go();
    /// Whether the checkpoint is still where it was: nobody has removed it, or put another in its place.
    /// Asked when something has failed.
    bool is_in_place() const;

    /// Fills the targets. Of each file only the blocks that hold wanted bytes are read, each once in this
    /// call, many at a time (O_DIRECT where the file system has it), and each is held against its hash.
    ///
    /// Errors: Error{checkpoint} that names file, tensor and block when a hash differs or a wanted element is
    /// not stored; Error{resource} when the disk fails
    void read(std::span<const PieceTarget> targets);

    /// `told` is called by read(), at each block, on the threads that read, with bytes of blocks done and in
    /// all; it lives as long as this.
    void tell_bytes(std::function<void(std::int64_t, std::int64_t)> told) { told_ = std::move(told); }

    /// Bytes read from files since construction.
    std::int64_t bytes_read() const noexcept { return bytes_read_; }

    /// Checks every byte of every file, which it holds meanwhile, COMPLETE and, where the checkpoint lies in
    /// a run's folder, LATEST; master.h5 and the HDF5 structure too. Empty: all is well.
    ///
    /// \param progress  called now and then, on this thread, with bytes done and bytes in all; may be empty
    std::vector<Damage> verify(const std::function<void(std::int64_t, std::int64_t)>& progress = {});

  private:
    std::string path_;
    std::unique_ptr<HeldFiles> files_;
    Manifest manifest_;
    std::int64_t bytes_read_ = 0;
    std::function<void(std::int64_t, std::int64_t)> told_;
    /// Of two threads; kept between reads: to close a queue takes many milliseconds.
    std::array<std::unique_ptr<RangeReader>, 2> ranges_;
};

}  // namespace ziggurat::checkpoint
