#include "checkpoint/hf/safetensors_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/text/json_depth.hpp"
#include "base/text/printable.hpp"
#include "base/text/text_width.hpp"
#include "checkpoint/hf/safetensors_entries.hpp"

namespace ziggurat::checkpoint::hf {
namespace {

constexpr int deepest_header = 4;

/// Checks that tensors, sorted by offset, cover the data without gap or overlap.
void expect_each_byte_once(std::vector<FileTensor>& tensors,
                           std::int64_t data_bytes,
                           const std::string& path) {
    std::ranges::sort(tensors, [](const FileTensor& a, const FileTensor& b) {
        return std::tie(a.begin_bytes, a.end_bytes, a.name) < std::tie(b.begin_bytes, b.end_bytes, b.name);
    });
    std::int64_t end = 0;
    for (const auto& tensor : tensors) {
        if (tensor.begin_bytes != end) {
            refuse_model_file(
                path, fmt::format("its tensor '{}' begins at offset {}, {} the one before, which ends at {}",
                                  for_display(tensor.name), tensor.begin_bytes,
                                  tensor.begin_bytes < end ? "within" : "with a gap after", end));
        }
        end = tensor.end_bytes;
    }
    if (end != data_bytes) {
        refuse_model_file(path, fmt::format("its {} end at offset {}, and its data has {} bytes",
                                            tensors.empty() ? "no tensors" : "tensors", end, data_bytes));
    }
}

}  // namespace

std::int64_t FileTensor::elements() const noexcept {
    std::int64_t all = 1;
    for (const auto extent : shape) {
        all *= extent;
    }
    return all;
}

FileHeader parse_header(std::string_view header, std::int64_t data_bytes, const std::string& path) {
    if (std::ssize(header) > max_header_bytes) {
        refuse_model_file(
            path, fmt::format("its header has {} bytes, more than {}", header.size(), max_header_bytes));
    }
    if (header.empty() || header.front() != '{' || is_json_deeper(header, deepest_header)) {
        refuse_model_file(path, "its header is not a JSON object of tensors");
    }
    FileHeader read;
    try {
        auto entries = read_header_entries(header, data_bytes, path);
        const auto has = [&](const std::string& name) {
            return std::ranges::binary_search(entries.tensors, name, {}, &FileTensor::name);
        };
        for (auto& [name, stored] : entries.metadata) {
            if (!has(name) && has(stored)) {
                read.stored_names.emplace(std::move(name), std::move(stored));
            }
        }
        read.tensors = std::move(entries.tensors);
    } catch (const std::bad_alloc&) {
        throw Error{ErrorKind::resource,
                    fmt::format("no memory for the header of '{}' ({} bytes). Free some.", printable(path),
                                header.size())};
    }
    expect_each_byte_once(read.tensors, data_bytes, path);
    return read;
}

std::string header_text(const std::vector<FileTensor>& tensors) {
    using Json = nlohmann::ordered_json;
    std::string text = fmt::format(R"({{"{}":{}}})", header_metadata_key, Json{{"format", "pt"}}.dump());
    text.pop_back();  // the closing brace; one document of all tensors would take quadratic time
    for (const auto& tensor : tensors) {
        const Json entry{{"dtype", tensor.type},
                         {"shape", tensor.shape},
                         {"data_offsets", {tensor.begin_bytes, tensor.end_bytes}}};
        text += fmt::format(",{}:{}", Json(tensor.name).dump(), entry.dump());
    }
    text += '}';
    constexpr std::size_t multiple = 8;
    text.append((multiple - text.size() % multiple) % multiple, ' ');
    return text;
}

}  // namespace ziggurat::checkpoint::hf
