#include "tests/support/tensor_file.hpp"

#include <bit>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace ziggurat::test {
namespace {

static_assert(std::endian::native == std::endian::little, "tensor files are little-endian");

template <class T>
std::vector<T> numbers(const std::string& bytes) {
    std::vector<T> result(bytes.size() / sizeof(T));
    std::memcpy(result.data(), bytes.data(), result.size() * sizeof(T));
    return result;
}

StoredTensor decode(const std::string& name, const nlohmann::json& entry, const std::string& bytes) {
    StoredTensor tensor{.shape = entry.at("shape"), .values = {}, .integers = {}};
    const std::string type = entry.at("dtype");
    if (type == "F32") {
        tensor.values = numbers<float>(bytes);
    } else if (type == "I32") {
        tensor.integers = numbers<std::int32_t>(bytes);
    } else if (type == "BF16") {
        for (const auto upper_half : numbers<std::uint16_t>(bytes)) {
            tensor.values.push_back(std::bit_cast<float>(std::uint32_t{upper_half} << 16));
        }
    } else {
        throw std::runtime_error{"tensor '" + name + "' has the type " + type};
    }
    if (std::int64_t(tensor.values.size() + tensor.integers.size()) != tensor.size()) {
        throw std::runtime_error{"tensor '" + name + "' has bytes that do not fit its shape"};
    }
    return tensor;
}

}  // namespace

std::int64_t StoredTensor::size() const {
    std::int64_t product = 1;
    for (const auto extent : shape) {
        product *= extent;
    }
    return product;
}

TensorFile::TensorFile(const std::filesystem::path& path) {
    std::ifstream file{path, std::ios::binary};
    std::uint64_t header_bytes = 0;
    if (!file.read(reinterpret_cast<char*>(&header_bytes), sizeof header_bytes) ||
        header_bytes > std::filesystem::file_size(path)) {
        throw std::runtime_error{"'" + path.string() + "' is not a tensor file"};
    }
    std::string header(header_bytes, ' ');
    file.read(header.data(), std::streamsize(header.size()));
    const std::string payload{std::istreambuf_iterator<char>{file}, {}};
    const auto entries = nlohmann::json::parse(header);
    for (const auto& [name, entry] : entries.items()) {
        if (name == "__metadata__") {
            continue;
        }
        const std::uint64_t begin = entry.at("data_offsets").at(0), end = entry.at("data_offsets").at(1);
        if (begin > end || end > payload.size()) {
            throw std::runtime_error{"'" + path.string() + "' ends before tensor '" + name + "' does"};
        }
        tensors_.emplace(name, decode(name, entry, payload.substr(begin, end - begin)));
    }
}

const StoredTensor& TensorFile::at(const std::string& name) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) {
        std::string names;
        for (const auto& [known, tensor] : tensors_) {
            names += " " + known;
        }
        throw std::runtime_error{"no tensor '" + name + "'; there are:" + names};
    }
    return found->second;
}

std::map<std::string, StoredTensor> TensorFile::under(const std::string& prefix) const {
    std::map<std::string, StoredTensor> result;
    for (const auto& [name, tensor] : tensors_) {
        if (name.starts_with(prefix)) {
            result.emplace(name.substr(prefix.size()), tensor);
        }
    }
    return result;
}

}  // namespace ziggurat::test
