#include "checkpoint/hf/safetensors_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <new>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/text/json_depth.hpp"
#include "base/text/printable.hpp"
#include "base/text/text_width.hpp"

namespace ziggurat::checkpoint::hf {
namespace {

using Json = nlohmann::json;

constexpr const char* metadata_key = "__metadata__";
constexpr int deepest = 4;
constexpr std::size_t max_dims = 16;

constexpr std::array<std::pair<std::string_view, int>, 19> bits_of_types{{{"BOOL", 8},
                                                                          {"U8", 8},
                                                                          {"I8", 8},
                                                                          {"F8_E5M2", 8},
                                                                          {"F8_E4M3", 8},
                                                                          {"F8_E8M0", 8},
                                                                          {"F4", 4},
                                                                          {"F6_E2M3", 6},
                                                                          {"F6_E3M2", 6},
                                                                          {"I16", 16},
                                                                          {"U16", 16},
                                                                          {"F16", 16},
                                                                          {"BF16", 16},
                                                                          {"I32", 32},
                                                                          {"U32", 32},
                                                                          {"F32", 32},
                                                                          {"F64", 64},
                                                                          {"I64", 64},
                                                                          {"U64", 64}}};

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
    throw Error{ErrorKind::checkpoint, fmt::format("cannot use '{}' ({}). Fetch or export the model again.",
                                                   printable(path), reason)};
}

/// Callback of the JSON parser that throws if an object has a key twice.
class KeysOnce {
  public:
    struct Twice {
        std::string name;
    };

    bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
        const std::size_t level = depth;
        if (event == Json::parse_event_t::object_start) {
            seen_.resize(level + 2);
            seen_[level + 1].clear();
        } else if (event == Json::parse_event_t::key) {
            const auto& name = parsed.get_ref<const std::string&>();
            if (!seen_.at(level).insert(name).second) {
                throw Twice{name};
            }
        }
        return true;
    }

  private:
    std::vector<std::set<std::string>> seen_{2};
};

Json parse(std::string_view header, const std::string& path) {
    if (std::ssize(header) > max_header_bytes) {
        refuse(path, fmt::format("its header has {} bytes, more than {}", header.size(), max_header_bytes));
    }
    if (header.empty() || header.front() != '{' || is_json_deeper(header, deepest)) {
        refuse(path, "its header is not a JSON object of tensors");
    }
    try {
        KeysOnce keys;
        Json document = Json::parse(header, std::ref(keys));
        if (!document.is_object()) {
            refuse(path, "its header is not a JSON object of tensors");
        }
        return document;
    } catch (const KeysOnce::Twice& twice) {
        refuse(path, fmt::format("its header has '{}' twice", for_display(twice.name)));
    } catch (const Json::exception& problem) {
        refuse(path, fmt::format("its header is not valid JSON: {}", for_display(problem.what())));
    } catch (const std::bad_alloc&) {
        throw Error{ErrorKind::resource,
                    fmt::format("no memory for the header of '{}' ({} bytes). Free some.", printable(path),
                                header.size())};
    }
}

/// Parser of one tensor's entry.
class Entry {
  public:
    Entry(const std::string& path, const std::string& name, const Json& written)
        : path_{path}, name_{name}, printed_{written} {}

    FileTensor read(std::int64_t data_bytes) const {
        if (!printed_.is_object() || printed_.size() != 3) {
            fail("is not described by dtype, shape and data_offsets");
        }
        FileTensor tensor;
        tensor.name = name_;
        const Json& type = field("dtype");
        if (!type.is_string()) {
            fail("has no type");
        }
        tensor.type = type.get<std::string>();
        tensor.shape = whole_numbers("shape");
        if (tensor.shape.size() > max_dims) {
            fail(fmt::format("has {} dims, more than {}", tensor.shape.size(), max_dims));
        }
        const auto offsets = whole_numbers("data_offsets");
        if (offsets.size() != 2 || offsets[0] > offsets[1]) {
            fail("has no data_offsets [begin, end]");
        }
        tensor.begin_bytes = offsets[0];
        tensor.end_bytes = offsets[1];
        if (tensor.end_bytes > data_bytes) {
            fail(fmt::format("ends at offset {}, beyond the file, whose data has {} bytes", tensor.end_bytes,
                             data_bytes));
        }
        const auto bytes = bytes_of(tensor);
        if (bytes != tensor.end_bytes - tensor.begin_bytes) {
            fail(fmt::format("has {} bytes at offset {}, but its type {} and shape need {}",
                             tensor.end_bytes - tensor.begin_bytes, tensor.begin_bytes,
                             for_display(tensor.type), bytes));
        }
        return tensor;
    }

  private:
    [[noreturn]] void fail(const std::string& how) const {
        refuse(path_, fmt::format("its tensor '{}' {}", for_display(name_), how));
    }

    const Json& field(const char* key) const {
        const auto found = printed_.find(key);
        if (found == printed_.end()) {
            fail(fmt::format("has no {}", key));
        }
        return *found;
    }

    std::vector<std::int64_t> whole_numbers(const char* key) const {
        const Json& list = field(key);
        if (!list.is_array()) {
            fail(fmt::format("has a {} that is not a list", key));
        }
        std::vector<std::int64_t> numbers;
        for (const Json& number : list) {
            if (!number.is_number_unsigned() || number.get<std::uint64_t>() >> 62 != 0) {
                fail(fmt::format("has a number in its {} that is not a whole number of 62 bits", key));
            }
            numbers.push_back(number.get<std::int64_t>());
        }
        return numbers;
    }

    std::int64_t bytes_of(const FileTensor& tensor) const {
        const auto* const type = std::find_if(bits_of_types.begin(), bits_of_types.end(),
                                              [&](const auto& known) { return known.first == tensor.type; });
        if (type == bits_of_types.end()) {
            fail(fmt::format("has type '{}', which the format does not have", for_display(tensor.type)));
        }
        std::int64_t bits = type->second;
        const bool is_empty = std::ranges::find(tensor.shape, 0) != tensor.shape.end();
        for (const auto extent : tensor.shape) {
            if (!is_empty && extent > std::numeric_limits<std::int64_t>::max() / bits) {
                fail("has more elements than any file holds");
            }
            bits = is_empty ? 0 : bits * extent;
        }
        return bits / 8 + (bits % 8 != 0 ? 1 : 0);
    }

    const std::string& path_;
    const std::string& name_;
    const Json& printed_;
};

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
            refuse(path,
                   fmt::format("its tensor '{}' begins at offset {}, {} the one before, which ends at {}",
                               for_display(tensor.name), tensor.begin_bytes,
                               tensor.begin_bytes < end ? "within" : "with a gap after", end));
        }
        end = tensor.end_bytes;
    }
    if (end != data_bytes) {
        refuse(path, fmt::format("its {} end at offset {}, and its data has {} bytes",
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
    const Json document = parse(header, path);
    FileHeader read;
    read.tensors.reserve(document.size());
    for (const auto& [name, written] : document.items()) {
        if (name != metadata_key) {
            read.tensors.push_back(Entry{path, name, written}.read(data_bytes));
        }
    }
    if (const auto metadata = document.find(metadata_key); metadata != document.end()) {
        for (const auto& [name, value] : metadata->items()) {
            const bool is_stored = value.is_string() && name != metadata_key && !document.contains(name) &&
                                   document.contains(value.get<std::string>());
            if (is_stored) {
                read.stored_names.emplace(name, value.get<std::string>());
            }
        }
    }
    expect_each_byte_once(read.tensors, data_bytes, path);
    return read;
}

std::string header_text(const std::vector<FileTensor>& tensors) {
    nlohmann::ordered_json document;
    document[metadata_key] = {{"format", "pt"}};
    for (const auto& tensor : tensors) {
        document[tensor.name] = {{"dtype", tensor.type},
                                 {"shape", tensor.shape},
                                 {"data_offsets", {tensor.begin_bytes, tensor.end_bytes}}};
    }
    std::string text = document.dump();
    constexpr std::size_t multiple = 8;
    text.append((multiple - text.size() % multiple) % multiple, ' ');
    return text;
}

}  // namespace ziggurat::checkpoint::hf
