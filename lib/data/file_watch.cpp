#include "data/file_watch.hpp"

#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"

namespace ziggurat::data {
namespace {

constexpr const char* consequence =
    "This run continues with the opened file. It will not resume from its checkpoints with other bytes "
    "unless run.accept_data_change is set.";

[[noreturn]] void refuse(const NamedFile& file, const std::string& what) {
    std::string message = file.key;
    message += ": '" + file.source.file->path() + "' has " + what +
               " during training. The run stops before it saves weights that were trained on it. Restore the "
               "file and start the job again, or start a new run.";
    throw Error{ErrorKind::resource, message};
}

}  // namespace

FileWatch::FileWatch(std::vector<NamedFile> files, std::vector<FileFingerprint> fingerprints) {
    ZG_EXPECTS(files.size() == fingerprints.size());
    for (std::size_t i = 0; i < files.size(); ++i) {
        files_.push_back({std::move(files[i]), std::move(fingerprints[i]), {}});
        files_.back().stamp = files_.back().file.source.file->stamp();
    }
}

std::vector<std::string> FileWatch::check_now() {
    std::vector<std::string> warnings;
    for (PlanningProgress& watched : files_) {
        const MappedFile& mapped = *watched.file.source.file;
        const auto warn = [&](const std::string& what) {
            warnings.push_back(watched.file.key + ": '" + mapped.path() + "' has " + what + ". " +
                               consequence);
        };
        if (watched.is_gone) {
            continue;
        }
        const auto now = stamp_of(mapped.path());
        if (!now || !now->is_same_file(watched.stamp)) {
            watched.is_gone = true;
            warn(now ? "been replaced by another file of that name" : "been removed");
            continue;
        }
        if (*now == watched.stamp) {
            continue;
        }
        if (now->bytes < mapped.bytes()) {
            refuse(watched.file, "been truncated from " + std::to_string(mapped.bytes()) + " to " +
                                     std::to_string(now->bytes) + " bytes");
        }
        if (fingerprint(watched.file, files_.size()).hash != watched.fingerprint.hash) {
            refuse(watched.file, "been rewritten (" + std::to_string(mapped.bytes()) +
                                     " bytes at the start, " + std::to_string(now->bytes) + " now)");
        }
        if (now->bytes > watched.stamp.bytes) {
            warn("grown from " + std::to_string(watched.stamp.bytes) + " to " + std::to_string(now->bytes) +
                 " bytes");
        }
        watched.stamp = *now;
    }
    return warnings;
}

}  // namespace ziggurat::data
