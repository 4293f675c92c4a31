/// Detection of changes of data files during training.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/fingerprint.hpp"

namespace ziggurat::data {

/// Monitors mapped files: a write to a mapped file changes the bytes that a run reads.
class FileWatch {
  public:
    /// \param files         must outlive this
    /// \param fingerprints  expected fingerprints of the same files in the same order
    FileWatch(std::vector<NamedFile> files, std::vector<FileFingerprint> fingerprints);

    /// Checks every file's stamp, and its bytes if the stamp has changed.
    ///
    /// A file that was touched, extended, removed or replaced by another file still reads as before; it is
    /// reported once.
    ///
    /// Returns warnings. Local.
    /// Errors: Error{resource} that names a file whose bytes have changed
    std::vector<std::string> check_now();

  private:
    struct PlanningProgress {
        NamedFile file;
        FileFingerprint fingerprint;
        FileStamp stamp;       ///< at the last check
        bool is_gone = false;  ///< its path names no file or another file
    };
    std::vector<PlanningProgress> files_;
};

}  // namespace ziggurat::data
