#include "checkpoint/hf/safetensors_entries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "base/text/text_width.hpp"

namespace ziggurat::checkpoint::hf {
namespace {

using HeaderJson = nlohmann::json;

constexpr std::size_t max_tensor_dims = 16;
constexpr std::size_t max_metadata = 100'000;

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

/// Receives the events of the JSON parser.
///
/// Levels are the open brackets: 1 within the header, 2 within an entry, 3 within its shape or data_offsets.
class EntryReader final : public nlohmann::json_sax<HeaderJson> {
  public:
    EntryReader(std::int64_t data_bytes, const std::string& path) : data_bytes_{data_bytes}, path_{path} {}

    HeaderEntries entries;

    bool null() override { return take_other(); }
    bool boolean(bool) override { return take_other(); }
    bool number_integer(number_integer_t) override { return take_other(); }
    bool number_float(number_float_t, const string_t&) override { return take_other(); }
    bool binary(binary_t&) override { return take_other(); }

    bool number_unsigned(number_unsigned_t number) override {
        if (level_ != 3 || skipped_ > 0 || number >> 62 != 0) {
            return take_other();
        }
        auto& list = field_ == Field::shape ? tensor_.shape : offsets_;
        const std::size_t max = field_ == Field::shape ? max_tensor_dims : 2;
        if (list.size() == max) {
            fail(field_ == Field::shape ? fmt::format("has more than {} dims", max)
                                        : std::string{bad_offsets});
        }
        list.push_back(static_cast<std::int64_t>(number));
        return true;
    }

    bool string(string_t& text) override {
        if (skipped_ == 0 && level_ == 2 && is_metadata_) {
            entries.metadata.back().second = std::move(text);
        } else if (skipped_ == 0 && level_ == 2 && field_ == Field::dtype) {
            tensor_.type = std::move(text);
        } else {
            take_other();
        }
        return true;
    }

    bool key(string_t& name) override {
        if (skipped_ > 0) {
            return true;
        }
        if (level_ == 1) {
            begin_entry(std::move(name));
        } else if (is_metadata_) {
            if (entries.metadata.size() == max_metadata) {
                refuse_model_file(
                    path_, fmt::format("its {} has more than {} entries", header_metadata_key, max_metadata));
            }
            entries.metadata.emplace_back(std::move(name), "");
        } else {
            begin_field(name);
        }
        return true;
    }

    bool start_object(std::size_t) override { return open(true); }
    bool start_array(std::size_t) override { return open(false); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }

    bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
        refuse_model_file(path_, fmt::format("its header is not valid JSON: {}", for_display(error.what())));
    }

  private:
    enum class Field { dtype, shape, data_offsets, unknown };
    static constexpr const char* bad_offsets = "has no data_offsets [begin, end]";

    static const char* name_of(Field field) {
        return field == Field::dtype ? "dtype" : field == Field::shape ? "shape" : "data_offsets";
    }

    [[noreturn]] void fail(const std::string& how) const {
        refuse_model_file(path_, fmt::format("its tensor '{}' {}", for_display(tensor_.name), how));
    }
    [[noreturn]] void refuse_metadata() const {
        refuse_model_file(path_, fmt::format("its {} is not a map of texts", header_metadata_key));
    }
    [[noreturn]] void is_not_described() const { fail("is not described by dtype, shape and data_offsets"); }

    void begin_entry(std::string name) {
        is_metadata_ = name == header_metadata_key;
        if (is_metadata_ && std::exchange(has_metadata_, true)) {
            refuse_model_file(path_, fmt::format("its header has '{}' twice", header_metadata_key));
        }
        if (entries.tensors.size() == max_tensors) {
            refuse_model_file(path_, fmt::format("its header has more than {} tensors", max_tensors));
        }
        tensor_ = {};
        tensor_.name = std::move(name);
        offsets_.clear();
        has_ = {};
        num_fields_ = 0;
    }

    void begin_field(const std::string& name) {
        field_ = Field::unknown;
        for (const auto field : {Field::dtype, Field::shape, Field::data_offsets}) {
            field_ = name == name_of(field) ? field : field_;
        }
        ++num_fields_;
        auto& has = has_[static_cast<std::size_t>(field_)];
        if (field_ != Field::unknown && has) {
            refuse_model_file(path_, fmt::format("its header has '{}' twice", for_display(name)));
        }
        has = true;
    }

    /// Takes a value that is not of the expected type, unless it belongs to a field that is not read.
    bool take_other() const {
        if (skipped_ > 0 || (level_ == 2 && !is_metadata_ && field_ == Field::unknown)) {
            return true;
        }
        if (is_metadata_) {
            refuse_metadata();
        }
        if (level_ == 1) {
            is_not_described();
        }
        if (level_ == 3) {
            fail(
                fmt::format("has a number in its {} that is not a whole number of 62 bits", name_of(field_)));
        }
        fail(field_ == Field::dtype ? "has no type"
                                    : fmt::format("has a {} that is not a list", name_of(field_)));
    }

    bool open(bool is_object) {
        if (skipped_ > 0) {
            ++skipped_;
        } else if (level_ == 0 || (level_ == 1 && is_object)) {
            ++level_;
        } else if (level_ == 2 && !is_metadata_ && field_ == Field::unknown) {
            skipped_ = 1;
        } else if (level_ == 2 && !is_metadata_ && field_ != Field::dtype && !is_object) {
            ++level_;
        } else {
            take_other();
        }
        return true;
    }

    bool close() {
        if (skipped_ > 0) {
            --skipped_;
            return true;
        }
        if (level_ == 2 && !is_metadata_) {
            end_entry();
        }
        --level_;
        return true;
    }

    void end_entry() {
        if (num_fields_ != 3) {
            is_not_described();
        }
        for (const auto field : {Field::dtype, Field::shape, Field::data_offsets}) {
            if (!has_[static_cast<std::size_t>(field)]) {
                fail(fmt::format("has no {}", name_of(field)));
            }
        }
        if (offsets_.size() != 2 || offsets_[0] > offsets_[1]) {
            fail(bad_offsets);
        }
        tensor_.begin_bytes = offsets_[0];
        tensor_.end_bytes = offsets_[1];
        if (tensor_.end_bytes > data_bytes_) {
            fail(fmt::format("ends at offset {}, beyond the file, whose data has {} bytes", tensor_.end_bytes,
                             data_bytes_));
        }
        const auto bytes = bytes_of_tensor();
        if (bytes != tensor_.end_bytes - tensor_.begin_bytes) {
            fail(fmt::format("has {} bytes at offset {}, but its type {} and shape need {}",
                             tensor_.end_bytes - tensor_.begin_bytes, tensor_.begin_bytes,
                             for_display(tensor_.type), bytes));
        }
        entries.tensors.push_back(std::move(tensor_));
    }

    std::int64_t bytes_of_tensor() const {
        const auto* const type = std::find_if(bits_of_types.begin(), bits_of_types.end(),
                                              [&](const auto& known) { return known.first == tensor_.type; });
        if (type == bits_of_types.end()) {
            fail(fmt::format("has type '{}', which the format does not have", for_display(tensor_.type)));
        }
        std::int64_t bits = type->second;
        const bool is_empty = std::ranges::find(tensor_.shape, 0) != tensor_.shape.end();
        for (const auto extent : tensor_.shape) {
            if (!is_empty && extent > std::numeric_limits<std::int64_t>::max() / bits) {
                fail("has more elements than any file holds");
            }
            bits = is_empty ? 0 : bits * extent;
        }
        return bits / 8 + (bits % 8 != 0 ? 1 : 0);
    }

    std::int64_t data_bytes_;
    const std::string& path_;
    int level_ = 0;
    int skipped_ = 0;  ///< open brackets within the value of an unknown field
    bool is_metadata_ = false;
    bool has_metadata_ = false;
    Field field_ = Field::unknown;
    std::array<bool, 4> has_{};
    int num_fields_ = 0;
    FileTensor tensor_;
    std::vector<std::int64_t> offsets_;
};

/// Checks that sorted names differ.
template <typename Items, typename NameOf>
void expect_names_once(const Items& items, NameOf name_of, const std::string& path) {
    const auto twice = std::ranges::adjacent_find(items, {}, name_of);
    if (twice != items.end()) {
        refuse_model_file(
            path, fmt::format("its header has '{}' twice", for_display(std::invoke(name_of, *twice))));
    }
}

}  // namespace

void refuse_model_file(const std::string& path, const std::string& reason) {
    throw Error{ErrorKind::checkpoint, fmt::format("cannot use '{}' ({}). Fetch or export the model again.",
                                                   printable(path), reason)};
}

HeaderEntries read_header_entries(std::string_view header, std::int64_t data_bytes, const std::string& path) {
    EntryReader reader{data_bytes, path};
    HeaderJson::sax_parse(header.begin(), header.end(), &reader);
    auto entries = std::move(reader.entries);
    std::ranges::sort(entries.metadata);
    expect_names_once(entries.metadata, &std::pair<std::string, std::string>::first, path);
    std::ranges::sort(entries.tensors, {}, &FileTensor::name);
    expect_names_once(entries.tensors, &FileTensor::name, path);
    return entries;
}

}  // namespace ziggurat::checkpoint::hf
