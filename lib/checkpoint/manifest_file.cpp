#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/manifest_text.hpp"
#include "storage/directory.hpp"

namespace ziggurat::checkpoint {

std::optional<std::string> read_manifest_text(const std::string& folder) {
    return storage::read_small_file(folder + "/COMPLETE", ManifestLimits::file_bytes);
}

Manifest read_manifest(const std::string& folder) {
    const std::optional<std::string> text = read_manifest_text(folder);
    if (!text) {
        throw Error{ErrorKind::checkpoint,
                    fmt::format("'{}/COMPLETE' is missing (so the checkpoint is not complete). Resume from "
                                "another checkpoint of the run.",
                                printable(folder))};
    }
    return parse_manifest(*text, folder + "/COMPLETE");
}

}  // namespace ziggurat::checkpoint
