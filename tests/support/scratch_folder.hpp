/// A temporary folder of a test, deleted at the end.
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

/// Returns all bytes of a file; empty if it does not exist.
inline std::string contents_of(const std::string& path) {
    std::ostringstream contents;
    contents << std::ifstream{path, std::ios::binary}.rdbuf();  // not by bytes: slow under sanitizers
    return std::move(contents).str();
}

}  // namespace ziggurat::test
