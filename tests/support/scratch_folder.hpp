/// A folder of a test's own that is gone afterwards.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

namespace ziggurat::test {

class ScratchFolder {
  public:
    ScratchFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "ziggurat.XXXXXX").string();
        path_ = mkdtemp(name.data());
    }
    ~ScratchFolder() { std::filesystem::remove_all(path_); }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    const std::string& path() const { return path_; }
    std::string file(const std::string& name) const { return path_ + "/" + name; }

  private:
    std::string path_;
};

/// All bytes of a file; empty when there is none.
inline std::string contents_of(const std::string& path) {
    std::ostringstream contents;
    contents
        << std::ifstream{path, std::ios::binary}.rdbuf();  // not byte by byte: that is slow under sanitizers
    return std::move(contents).str();
}

}  // namespace ziggurat::test
