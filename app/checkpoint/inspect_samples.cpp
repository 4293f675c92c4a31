#include "app/checkpoint/inspect_samples.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "app/output/output_style.hpp"
#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "data/samples/check_samples.hpp"
#include "data/samples/sample_file.hpp"
#include "data/tokenizer/text_tokenizer.hpp"
#include "spec/token_format.hpp"
#include "train/console/styled_text.hpp"

namespace ziggurat::app {
namespace {

using Json = nlohmann::ordered_json;
using data::SampleFile;

/// Tokens of a sample.
struct Sample {
    std::vector<std::int32_t> ids;
    std::vector<std::uint8_t> counts;
};

/// Adjacent tokens of a sample that all count in the loss, or all do not.
struct SampleSpan {
    std::string text;  ///< with a tokenizer their text, else their ids
    bool counts = false;
};

std::unique_ptr<const data::TextTokenizer> open_tokenizer_for(const SampleFile& file,
                                                              const std::string& path) {
    if (path.empty()) {
        return nullptr;
    }
    auto tokenizer = path == "bytes" ? data::make_byte_tokenizer() : data::open_tokenizer(path);
    if (tokenizer->hash() != file.header().tokenizer_hash) {
        throw Error{ErrorKind::deck,
                    fmt::format("'{}' is not the tokenizer that made '{}' (hash {}, recorded is {}). "
                                "Give the path of that tokenizer.",
                                printable(path), printable(file.file().path()), data::hash_text(*tokenizer),
                                data::hash_text(file.header().tokenizer_hash))};
    }
    return tokenizer;
}

Sample sample_at(const SampleFile& file, std::int64_t number) {
    if (number >= file.num_samples()) {
        throw Error{ErrorKind::deck,
                    fmt::format("there is no sample {} in '{}' (it has {}, counted from 0). Give a smaller "
                                "--sample.",
                                number, printable(file.file().path()), format_grouped(file.num_samples()))};
    }
    const std::int64_t begin = file.begin_of(number);
    const std::int64_t length = file.begin_of(number + 1) - begin;
    Sample sample{std::vector<std::int32_t>(length), std::vector<std::uint8_t>(length)};
    file.read(begin, sample.ids, sample.counts);
    return sample;
}

std::vector<SampleSpan> spans_of(const Sample& sample, const data::TextTokenizer* tokenizer) {
    std::vector<SampleSpan> spans;
    const std::span ids{sample.ids};
    for (std::size_t begin = 0, end = 0; begin < ids.size(); begin = end) {
        while (end < ids.size() && sample.counts[end] == sample.counts[begin]) {
            ++end;
        }
        const auto part = ids.subspan(begin, end - begin);
        spans.push_back({tokenizer != nullptr
                             ? data::decoded_after(*tokenizer, ids.first(begin), part)
                             : fmt::format("{}{}", begin > 0 ? " " : "", fmt::join(part, " ")),
                         sample.counts[begin] != 0});
    }
    return spans;
}

std::string marked(const std::vector<SampleSpan>& spans, bool has_colours) {
    std::string text;
    for (const auto& span : spans) {
        const auto shown = printable(span.text, Newlines::kept);
        if (!span.counts) {
            text += shown;
        } else if (has_colours) {
            text += fmt::format("{}{}{}", train::escape_of(train::Style::heading), shown,
                                train::escape_of(train::Style::plain));
        } else {
            text += "⟦" + shown + "⟧";
        }
    }
    return text;
}

std::string loss_on_of(const SampleFile& file) {
    return spec::word_of(static_cast<spec::LossOn>(file.header().loss_on));
}

/// Returns `chosen` or `rejected`.
const char* answer_of(std::int64_t sample) {
    return sample % 2 == 0 ? "chosen" : "rejected";
}

std::string text_of(const SampleFile& file, std::int64_t number, const data::TextTokenizer* tokenizer) {
    const auto& header = file.header();
    const double share =
        100 * static_cast<double>(header.num_counted) / static_cast<double>(header.num_tokens);
    const bool has_colours = screen_of_output().has_colours();
    return fmt::format(
        "file        {}\nformat      chat (begins with ZGSAMPLE, version {})\nsamples     {}{}\n"
        "tokens      {}, {} of them count in the loss ({:.1f} %)\nloss on     {}\n"
        "tokenizer   {}\ntemplate    {}\nsample {}    {}{}\n{}\n",
        printable(file.file().path()), header.version, format_grouped(header.num_samples),
        header.has_pairs() ? fmt::format(" ({} pairs of answers)", format_grouped(header.num_samples / 2))
                           : "",
        format_grouped(header.num_tokens), format_grouped(header.num_counted), share, loss_on_of(file),
        data::hash_text(header.tokenizer_hash),
        header.template_hash == 0 ? "none" : data::hash_text(header.template_hash), number,
        header.has_pairs() ? fmt::format("{} answer of pair {}; ", answer_of(number), number / 2) : "",
        has_colours ? "the coloured tokens count in the loss"
                    : "the tokens between ⟦ and ⟧ count in the loss",
        marked(spans_of(sample_at(file, number), tokenizer), has_colours));
}

std::string json_of(const SampleFile& file, std::int64_t number, const data::TextTokenizer* tokenizer) {
    const auto& header = file.header();
    const auto sample = sample_at(file, number);
    Json spans = Json::array();
    for (const auto& span : spans_of(sample, tokenizer)) {
        spans.push_back({{"text", span.text}, {"counts", span.counts}});
    }
    Json json{
        {"format", "chat"},
        {"path", file.file().path()},
        {"version", header.version},
        {"samples", header.num_samples},
        {"pairs", header.has_pairs() ? Json(header.num_samples / 2) : Json(nullptr)},
        {"tokens", header.num_tokens},
        {"counted", header.num_counted},
        {"loss_on", loss_on_of(file)},
        {"tokenizer_hash", data::hash_text(header.tokenizer_hash)},
        {"template_hash", data::hash_text(header.template_hash)},
        {"sample", {{"number", number}, {"ids", sample.ids}, {"counts", sample.counts}, {"spans", spans}}}};
    if (header.has_pairs()) {
        json["sample"]["pair"] = number / 2;
        json["sample"]["answer"] = answer_of(number);
    }
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

bool is_sample_path(const std::string& path) {
    std::array<char, data::SampleFileHeader::magic_bytes.size()> begin{};
    std::ifstream file{path, std::ios::binary};
    return file.read(begin.data(), begin.size()) && data::is_sample_file(std::as_bytes(std::span{begin}));
}

int inspect_samples(const InspectOptions& options) {
    const SampleFile file{options.folder, options.folder};
    data::check_samples(file, options.folder);
    const auto tokenizer = open_tokenizer_for(file, options.tokenizer);
    const auto text = options.json ? json_of(file, options.sample, tokenizer.get())
                                   : text_of(file, options.sample, tokenizer.get());
    std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
}

}  // namespace ziggurat::app
