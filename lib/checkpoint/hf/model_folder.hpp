/// A folder of safetensors files: a single file, or shards with an index.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/hf/safetensors_file.hpp"

namespace ziggurat::checkpoint::hf {

inline constexpr const char* single_file_name = "model.safetensors";
inline constexpr const char* index_name = "model.safetensors.index.json";

/// A tensor and its file.
struct LocatedTensor {
    std::size_t file = 0;
    FileTensor tensor;
};

class ModelFolder {
  public:
    /// Reads and checks the headers of all files. An index must list each tensor of each file once.
    ///
    /// \param optional  tensors that an index may list although no file has them: a tied head that is stored
    ///                  once, buffers
    /// Errors: Error{deck} if the folder does not exist; Error{checkpoint} if a file is missing or invalid;
    ///         Error{resource} on I/O errors
    explicit ModelFolder(std::string folder, const std::set<std::string>& optional = {});

    const std::string& path() const noexcept { return folder_; }
    const std::vector<SafetensorsFile>& files() const noexcept { return files_; }
    /// Tensors by name.
    const std::map<std::string, LocatedTensor>& tensors() const noexcept { return tensors_; }

  private:
    void add_file(const std::string& name);
    void read_index(const std::string& path, const std::set<std::string>& optional);

    std::string folder_;
    std::vector<SafetensorsFile> files_;
    std::map<std::string, LocatedTensor> tensors_;
};

}  // namespace ziggurat::checkpoint::hf
