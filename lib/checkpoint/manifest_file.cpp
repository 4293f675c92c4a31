#include "base/error.hpp"
#include "checkpoint/manifest.hpp"
#include "storage/directory.hpp"

namespace ziggurat::checkpoint {

Manifest read_manifest(const std::string& folder) {
    const std::string path = folder + "/COMPLETE";
    const std::optional<std::string> text = storage::read_small_file(path);
    if (!text) {
        throw Error{ErrorKind::checkpoint,
                    "'" + path +
                        "' is missing (so this is no complete checkpoint). Resume from "
                        "another checkpoint of the run."};
    }
    return parse_manifest(*text, path);
}

}  // namespace ziggurat::checkpoint
