/// A folder of safetensors files: one, or shards with an index.
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

/// A tensor and the file that holds it.
struct LocatedTensor {
    std::size_t file = 0;
    FileTensor tensor;
};

class ModelFolder {
  public:
    /// Reads and checks the headers of all files; an index names each tensor of each file once.
    ///
    /// \param optional  tensors that an index may name although no file holds them: a tied head that was
    ///                  stored once, buffers
    /// Errors: Error{deck} when there is no such folder; Error{checkpoint} when a file is missing or is not
    /// what
    ///         it should be; Error{resource} when the disk fails
    explicit ModelFolder(std::string folder, const std::set<std::string>& optional = {});

    const std::string& path() const noexcept { return folder_; }
    const std::vector<SafetensorsFile>& files() const noexcept { return files_; }
    /// By name.
    const std::map<std::string, LocatedTensor>& tensors() const noexcept { return tensors_; }

  private:
    void add_file(const std::string& name);
    void read_index(const std::string& path, const std::set<std::string>& optional);

    std::string folder_;
    std::vector<SafetensorsFile> files_;
    std::map<std::string, LocatedTensor> tensors_;
};

/// The text of an index that says which file has which tensor.
std::string index_text(const std::map<std::string, std::string>& file_of_tensor, std::int64_t total_bytes);

}  // namespace ziggurat::checkpoint::hf
