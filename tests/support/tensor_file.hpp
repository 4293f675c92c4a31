/// Files of named tensors, as written by scripts/oracle (the safetensors layout).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace ziggurat::test {

/// Values of one tensor, row-major: BF16 and F32 of the file in `values`, I32 in `integers`.
struct StoredTensor {
    std::vector<std::int64_t> shape;
    std::vector<float> values;
    std::vector<std::int32_t> integers;

    std::int64_t size() const;
};

/// All tensors of a file, by name, in memory.
class TensorFile {
  public:
    /// Errors: std::runtime_error if the file is missing, truncated, or has another type
    explicit TensorFile(const std::filesystem::path& path);

    /// Errors: std::runtime_error with a list of the existing names
    const StoredTensor& at(const std::string& name) const;

    /// Returns the tensors whose names start with `prefix`, without that prefix: "gradient/" gives all
    /// gradients.
    std::map<std::string, StoredTensor> under(const std::string& prefix) const;

    const std::map<std::string, StoredTensor>& all() const { return tensors_; }

  private:
    std::map<std::string, StoredTensor> tensors_;
};

}  // namespace ziggurat::test
