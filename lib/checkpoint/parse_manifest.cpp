#include <fmt/format.h>
#include <xxhash.h>

#include <charconv>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/error.hpp"
#include "base/text/json_depth.hpp"
#include "base/text/printable.hpp"
#include "base/text/text_width.hpp"
#include "checkpoint/check_manifest.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/manifest_text.hpp"

namespace ziggurat::checkpoint {
namespace {

using Json = nlohmann::json;

/// Shortens a text of the file for a message.
std::string shortened(const std::string& text) {
    return ziggurat::shortened(text, ManifestLimits::reported_columns);
}

std::uint64_t parse_hex(const std::string& text) {
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, value, 16);
    if (text.size() != hash_digits || problem != std::errc{} || stop != end || hex_of_hash(value) != text) {
        throw std::invalid_argument{"'" + shortened(text) + "' is not a hash of 16 hexadecimal digits"};
    }
    return value;
}

/// Parses a whole number. JSON's own conversion would also accept 1.5 and true.
std::int64_t whole_number(const Json& value) {
    if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<std::uint64_t>() >> 63 != 0)) {
        throw std::invalid_argument{"'" +
                                    shortened(value.dump(-1, ' ', false, Json::error_handler_t::replace)) +
                                    "' is not a whole number of 63 bits"};
    }
    return value.get<std::int64_t>();
}

std::vector<std::int64_t> whole_numbers(const Json& values) {
    if (!values.is_array()) {
        throw std::invalid_argument{"a list of whole numbers is missing"};
    }
    std::vector<std::int64_t> numbers;
    numbers.reserve(values.size());
    for (const Json& value : values) {
        numbers.push_back(whole_number(value));
    }
    return numbers;
}

int small_number(const Json& value) {
    const std::int64_t number = whole_number(value);
    if (number < 0 || number > 0x7fffffff) {
        throw std::invalid_argument{"a count is out of range: " + std::to_string(number)};
    }
    return static_cast<int>(number);
}

PieceKind parse_kind(const std::string& name) {
    if (const auto kind = layout::piece_kind_named(name)) {
        return *kind;
    }
    throw std::invalid_argument{"'" + shortened(name) + "' is not a kind of state"};
}

spec::DType parse_type(const std::string& name) {
    if (name != "f32" && name != "bf16") {
        throw std::invalid_argument{"'" + shortened(name) + "' is not an element type"};
    }
    return name == "f32" ? spec::DType::f32 : spec::DType::bf16;
}

/// Returns an unknown pace for older checkpoints, which do not record it.
StepIncrements parse_pace(const Json& progress) {
    if (!progress.contains("pace")) {
        return {};
    }
    const Json& pace = progress["pace"];
    return {whole_number(pace.at("from_step")), whole_number(pace.at("from_tokens")),
            whole_number(pace.at("from_sample")), whole_number(pace.at("samples_per_step")),
            whole_number(pace.at("tokens_per_step"))};
}

RecentSteps parse_recent(const Json& progress) {
    constexpr std::size_t max = 1 << 16;
    if (!progress.contains("recent")) {
        return {};
    }
    const Json& json = progress["recent"];
    RecentSteps recent{json.at("losses").get<std::vector<double>>(),
                       json.at("grad_norms").get<std::vector<double>>(),
                       whole_number(json.at("spikes_in_a_row"))};
    if (recent.losses.size() != recent.grad_norms.size() || recent.losses.size() > max) {
        throw std::invalid_argument{"its recent steps contradict each other"};
    }
    return recent;
}

LrScheduleState parse_course(const Json& progress) {
    if (!progress.contains("course")) {
        return {};
    }
    const Json& course = progress["course"];
    return {whole_number(course.at("begin_step")), whole_number(course.at("begin_tokens")),
            whole_number(course.at("end_step")), whole_number(course.at("end_tokens")),
            course.at("next_rate").get<double>()};
}

/// Returns the rule of the mix; an order without one was written by an earlier version.
data::MixRule parse_mix(const Json& order) {
    if (!order.contains("mix")) {
        return data::MixRule::nested;
    }
    const auto rule = order["mix"].get<std::string>();
    if (rule != "even" && rule != "nested") {
        throw std::invalid_argument{"its sample order has an unknown mix"};
    }
    return rule == "even" ? data::MixRule::even : data::MixRule::nested;
}

data::DataOrderState parse_order(const Json& progress) {
    if (!progress.contains("order")) {
        return {};
    }
    const Json& json = progress["order"];
    data::DataOrderState order{.first_sample = whole_number(json.at("first_sample")),
                               .seq = whole_number(json.at("seq")),
                               .seed = json.at("seed").get<std::uint64_t>(),
                               .is_shuffled = json.at("shuffle").get<bool>(),
                               .mix = parse_mix(json)};
    if (json.contains("reached_sample")) {
        order.reached_sample = whole_number(json["reached_sample"]);
    }
    for (const Json& source : json.at("sources")) {
        order.sources.push_back(
            {source.at("weight").get<double>(),
             whole_number(source.at("tokens")),
             whole_number(source.at("trained")),
             source.value("packed", false),
             static_cast<std::uint32_t>(small_number(source.at("stream"))),
             {whole_number(source.at("epoch")), whole_number(source.at("tokens_of_epoch"))}});
        if (source.contains("changes")) {
            for (const Json& change : source["changes"]) {
                order.sources.back().changes.push_back(
                    {whole_number(change.at(0)), change.at(1).get<double>()});
            }
            order.sources.back().earlier = whole_number(source.at("earlier"));
            order.sources.back().reached = whole_number(source.at("reached"));
        }
    }
    return order;
}

Manifest from_json(const Json& json) {
    if (json.at("format").get<std::string>() != format_name) {
        throw std::invalid_argument{"it is another format"};
    }
    Manifest manifest;
    if (const int version = small_number(json.at("version")); version != format_version) {
        throw std::invalid_argument{"it has version " + std::to_string(version) +
                                    " of the format, and this program reads version " +
                                    std::to_string(format_version)};
    }
    manifest.program = json.at("program").get<std::string>();
    const Json& progress = json.at("progress");
    manifest.progress = {whole_number(progress.at("step")),
                         whole_number(progress.at("tokens")),
                         whole_number(progress.at("next_sample")),
                         whole_number(progress.at("skipped")),
                         progress.at("seconds").get<double>(),
                         whole_number(progress.value("skipped_in_a_row", Json(0))),
                         parse_pace(progress),
                         parse_recent(progress),
                         parse_course(progress),
                         parse_order(progress),
                         progress.value("grad_norm", 0.0)};
    manifest.ranks = small_number(json.at("ranks"));
    manifest.layout = json.at("layout").get<std::string>();
    manifest.deck = json.at("deck").get<std::string>();
    for (const Json& file : json.value("data", Json::array())) {
        manifest.data.push_back({file.at("key").get<std::string>(), file.at("path").get<std::string>(),
                                 whole_number(file.at("bytes")), whole_number(file.at("hashed_bytes")),
                                 parse_hex(file.at("hash").get<std::string>())});
    }
    for (const Json& file : json.at("files")) {
        manifest.files.push_back({file.at("name").get<std::string>(), whole_number(file.at("bytes")),
                                  parse_hex(file.at("hash_of_rest").get<std::string>())});
    }
    std::vector<Piece> tensors;
    for (const Json& tensor : json.at("tensors")) {
        tensors.push_back({parse_kind(tensor.at("kind").get<std::string>()),
                           tensor.at("name").get<std::string>(),
                           whole_numbers(tensor.at("shape")),
                           parse_type(tensor.at("type").get<std::string>()),
                           {}});
    }
    const Json& pieces = json.at("pieces");
    manifest.pieces.reserve(pieces.size());
    for (const Json& fields : pieces) {
        StoredPiece stored;
        stored.piece = tensors.at(small_number(fields.at(0)));
        stored.piece.box = {whole_numbers(fields.at(1)), whole_numbers(fields.at(2))};
        stored.file = small_number(fields.at(3));
        stored.offset_bytes = whole_number(fields.at(4));
        stored.table_offset_bytes = whole_number(fields.at(5));
        stored.hash_of_table = parse_hex(fields.at(6).get<std::string>());
        manifest.pieces.push_back(std::move(stored));
    }
    return manifest;
}

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
    throw Error{ErrorKind::checkpoint,
                fmt::format("'{}' is corrupt ({}). Resume from another checkpoint of the run.",
                            printable(path), printable(shortened(reason)))};
}

/// Returns the hash in the last line.
std::uint64_t last_line_of(const std::string& text, const std::string& path) {
    const std::size_t body = text.size() < last_line_bytes ? 0 : text.size() - last_line_bytes;
    if (body == 0 || text.compare(body, hash_begin.size(), hash_begin) != 0 || !text.ends_with(hash_end)) {
        refuse(path, "it does not end with its hash");
    }
    try {
        return parse_hex(text.substr(body + hash_begin.size(), hash_digits));
    } catch (const std::invalid_argument& problem) {
        refuse(path, problem.what());
    }
}

}  // namespace

std::uint64_t hash_of_manifest(const std::string& text) {
    return last_line_of(text, "COMPLETE");
}

Manifest parse_manifest(const std::string& text, const std::string& path) {
    const std::uint64_t hash = last_line_of(text, path);
    if (XXH3_64bits(text.data(), text.size() - last_line_bytes) != hash) {
        refuse(path, "its hash differs");
    }
    if (std::ssize(text) > ManifestLimits::file_bytes) {
        refuse(path, "it is larger than any that describes a checkpoint");
    }
    if (is_json_deeper(text, ManifestLimits::depth)) {
        refuse(path, fmt::format("its lists nest deeper than {} levels", ManifestLimits::depth));
    }
    try {
        Manifest manifest = from_json(Json::parse(text));
        check_manifest(manifest);
        return manifest;
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception& problem) {  // of nlohmann-json, std::invalid_argument, std::out_of_range
        refuse(path, problem.what());
    }
}

}  // namespace ziggurat::checkpoint
