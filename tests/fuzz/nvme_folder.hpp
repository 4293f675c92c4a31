/// Folder that represents the disk of all ranks of a test.
#pragma once

#include <optional>
#include <string>

#include "comm/control.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::test {

/// The same folder on all ranks, deleted at the end.
///
/// Collective: construction, over the world
class NvmeFolder {
  public:
    NvmeFolder() {
        if (world().rank() == 0) {
            folder_.emplace();
        }
        path_ = comm::broadcast(world(), folder_ ? folder_->path() : std::string{});
    }
    const std::string& path() const { return path_; }

  private:
    std::optional<ScratchFolder> folder_;
    std::string path_;
};

}  // namespace ziggurat::test
