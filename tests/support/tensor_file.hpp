/// Files of named tensors, as scripts/oracle writes them (the safetensors layout).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace ziggurat::test {

/// Numbers of one tensor, row-major, whatever type the file has: BF16 and F32 in `values`, I32 in `integers`.
struct StoredTensor {
    std::vector<std::int64_t> shape;
    std::vector<float> values;
    std::vector<std::int32_t> integers;

    std::int64_t size() const;
};

/// All tensors of a file, by name, in memory.
class TensorFile {
  public:
    /// Errors: std::runtime_error when the file is missing, cut short, or holds another type
    explicit TensorFile(const std::filesystem::path& path);

    /// Errors: std::runtime_error that lists the names there are
    const StoredTensor& at(const std::string& name) const;

    /// The tensors whose names start with `prefix`, under the rest of their names: "gradient/" gives all
    /// gradients.
    std::map<std::string, StoredTensor> under(const std::string& prefix) const;

    const std::map<std::string, StoredTensor>& all() const { return tensors_; }

  private:
    std::map<std::string, StoredTensor> tensors_;
};

}  // namespace ziggurat::test
