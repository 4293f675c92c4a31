#include "checkpoint/hf/weight_map.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/json_depth.hpp"
#include "base/text/printable.hpp"
#include "base/text/text_width.hpp"
#include "checkpoint/hf/safetensors_entries.hpp"

namespace ziggurat::checkpoint::hf {
namespace {

using IndexJson = nlohmann::json;

constexpr int deepest_index = 6;

/// Receives the events of the JSON parser. Keeps only the entries of `weight_map`.
class WeightMapReader final : public nlohmann::json_sax<IndexJson> {
  public:
    explicit WeightMapReader(const std::string& path) : path_{path} {}

    std::map<std::string, std::string> file_of_tensor;
    bool has_map = false;

    bool null() override { return take_other(); }
    bool boolean(bool) override { return take_other(); }
    bool number_integer(number_integer_t) override { return take_other(); }
    bool number_unsigned(number_unsigned_t) override { return take_other(); }
    bool number_float(number_float_t, const string_t&) override { return take_other(); }
    bool binary(binary_t&) override { return take_other(); }

    bool string(string_t& file) override {
        if (level_ != 2 || !is_in_map_) {
            return take_other();
        }
        if (file_of_tensor.size() == max_tensors) {
            fail(fmt::format("it names more than {} tensors", max_tensors));
        }
        const auto [at, is_new] = file_of_tensor.emplace(std::move(tensor_), std::move(file));
        if (!is_new) {
            fail(fmt::format("it has '{}' twice", for_display(at->first)));
        }
        return true;
    }

    bool key(string_t& name) override {
        if (level_ == 1) {
            is_in_map_ = name == "weight_map";
            if (is_in_map_ && std::exchange(has_map, true)) {
                fail("it has two of weight_map");
            }
        } else if (level_ == 2 && is_in_map_) {
            tensor_ = std::move(name);
        }
        return true;
    }

    bool start_object(std::size_t) override { return open(true); }
    bool start_array(std::size_t) override { return open(false); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }

    bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
        fail(for_display(error.what()));
    }

  private:
    [[noreturn]] void fail(const std::string& reason) const {
        refuse_model_file(path_, "it is not an index: " + reason);
    }

    bool take_other() const {
        if (level_ == 0 || (level_ == 1 && is_in_map_)) {
            fail("it has no map weight_map");
        }
        if (level_ == 2 && is_in_map_) {
            fail(fmt::format("the file of '{}' is not a text", for_display(tensor_)));
        }
        return true;
    }
    bool open(bool is_object) {
        const bool is_expected = is_object && (level_ == 0 || level_ == 1);
        if (!is_expected) {
            take_other();
        }
        ++level_;
        return true;
    }
    bool close() {
        --level_;
        return true;
    }

    const std::string& path_;
    int level_ = 0;
    bool is_in_map_ = false;
    std::string tensor_;
};

}  // namespace

std::map<std::string, std::string> read_weight_map(std::string_view text, const std::string& path) {
    if (is_json_deeper(text, deepest_index)) {
        refuse_model_file(path, "it nests too deep");
    }
    WeightMapReader reader{path};
    IndexJson::sax_parse(text.begin(), text.end(), &reader);
    if (!reader.has_map) {
        refuse_model_file(path, "it is not an index: it has no map weight_map");
    }
    return std::move(reader.file_of_tensor);
}

std::string index_text(const std::map<std::string, std::string>& file_of_tensor, std::int64_t total_bytes) {
    IndexJson document;  // sorted by name; an ordered_json would take quadratic time
    document["metadata"]["total_size"] = total_bytes;
    document["weight_map"] = file_of_tensor;
    return document.dump(2) + "\n";
}

}  // namespace ziggurat::checkpoint::hf
