/// Watch over data files, so that the bytes that are trained on stay the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/fingerprint.hpp"

namespace ziggurat::data {

/// Looks after mapped files: a file that is written to changes under whoever reads it.
class FileWatch {
  public:
    /// \param files         outlive this
    /// \param fingerprints  of the same files in the same order, as they are to stay
    FileWatch(std::vector<NamedFile> files, std::vector<FileFingerprint> fingerprints);

    /// Looks at every file's stamp, and at the bytes again where that has changed. A file that was touched,
    /// made longer, removed or replaced by another of its name still reads as before: it is warned of, once.
    ///
    /// Returns warnings. Local.
    /// Errors: Error{resource} that names a file whose bytes have changed
    std::vector<std::string> look();

  private:
    struct Watched {
        NamedFile file;
        FileFingerprint fingerprint;
        FileStamp stamp;       ///< as last seen
        bool is_gone = false;  ///< its name means no file or another one
    };
    std::vector<Watched> files_;
};

}  // namespace ziggurat::data
