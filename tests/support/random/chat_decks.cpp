#include "tests/support/random/chat_decks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <vector>

#include "deck/values/quantities.hpp"
#include "tests/support/random/deck_tree.hpp"
#include "tests/support/random/draw.hpp"

namespace ziggurat::test {
namespace {

constexpr int special_tokens = 3;
constexpr int vocab = 256 + special_tokens;
constexpr const char* specials[special_tokens] = {"<|im_start|>", "<|im_end|>", "<|endoftext|>"};

/// Returns the character of a byte in byte-level vocabularies, as UTF-8 in JSON.
std::string letter_of(int byte, int& next) {
    const bool is_printable =
        (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
    return fmt::format("\\u{:04x}", is_printable ? byte : next++);
}

/// Writes a tokenizer with one token per byte, in the format of Hugging Face.
void write_tokenizer(const std::string& folder) {
    std::string tokens;
    std::string added;
    int next = 256;
    for (int byte = 0; byte < 256; ++byte) {
        tokens += fmt::format(R"({}"{}": {})", byte == 0 ? "" : ", ", letter_of(byte, next), byte);
    }
    for (int i = 0; i < special_tokens; ++i) {
        added += fmt::format(R"({}{{"id": {}, "content": "{}", "single_word": false, "lstrip": false, )"
                             R"("rstrip": false, "normalized": false, "special": true}})",
                             i == 0 ? "" : ", ", 256 + i, specials[i]);
    }
    std::filesystem::create_directories(folder);
    std::ofstream{folder + "/tokenizer.json"} << fmt::format(
        R"({{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [{}], "normalizer": null,
 "pre_tokenizer": {{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}},
 "post_processor": null, "decoder": {{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}},
 "model": {{"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
  "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "vocab": {{{}}}, "merges": []}}}}
)",
        added, tokens);
    std::ofstream{folder + "/tokenizer_config.json"}
        << R"({"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|endoftext|>", "chat_template": )"
        << R"("{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' }})"
        << R"({% generation %}{{ message.content + '<|im_end|>' }}{% endgeneration %}{{ '\n' }}{% endfor %}"})"
        << '\n';
}

template <class T>
void append(std::string& bytes, const std::vector<T>& values) {
    bytes.append(reinterpret_cast<const char*>(values.data()), sizeof(T) * values.size());
}

/// Writes samples of 2 to 60 tokens; the last half of each counts in the loss.
void write_samples(const std::string& path) {
    Draw draw{1};
    std::vector<std::uint32_t> tokens;
    std::vector<std::int64_t> begins;
    std::int64_t counted = 0;
    for (int sample = 0; sample < 300; ++sample) {
        begins.push_back(std::ssize(tokens));
        const auto length = draw.between(2, draw.chance(0.2) ? 60 : 9);
        for (std::int64_t i = 0; i < length; ++i) {
            const bool counts = 2 * i >= length;
            counted += counts ? 1 : 0;
            tokens.push_back(static_cast<std::uint32_t>(draw.between(0, 250)) | (counts ? 1U << 31 : 0));
        }
    }
    begins.push_back(std::ssize(tokens));
    std::string bytes = "ZGSAMPLE";
    append(bytes, std::vector<std::int32_t>{1, 0});
    append(bytes, std::vector<std::int64_t>{std::ssize(begins) - 1, std::ssize(tokens), counted, 0, 0, 0});
    append(bytes, tokens);
    append(bytes, begins);
    std::ofstream{path, std::ios::binary} << bytes;
}

deck::Node parse_value(const std::string& text) {
    return parse_deck("value: " + text).entries.front().value;
}

}  // namespace

void write_conversations(const std::string& folder) {
    write_tokenizer(folder + "/tokenizer");
    write_samples(folder + "/chats.samples");
    std::ofstream lines{folder + "/chats.jsonl"};
    for (int i = 0; i < 150; ++i) {
        lines << fmt::format(R"({{"messages": [{{"role": "user", "content": "{0}?"}}, )"
                             R"({{"role": "assistant", "content": "It is {0}."}}]}})",
                             std::string(static_cast<std::size_t>(i % 17), 'a'))
              << '\n';
    }
}

std::string with_conversations(const std::string& text, std::uint64_t seed, const std::string& folder) {
    Draw draw{seed + 8'000'000};
    auto root = parse_deck(text);
    auto& data = value_at(root, "data");
    auto& model = value_at(root, "model");
    const bool has_records = draw.chance(0.3);
    const auto source =
        has_records
            ? fmt::format("[{{format: chat, path: {}, loss_on: {}}}]",
                          deck::write_quoted(folder + "/chats.jsonl"),
                          draw.one_of<std::string>({"assistant", "completion", "all"}))
            : fmt::format("[{{format: chat, path: {}}}]", deck::write_quoted(folder + "/chats.samples"));
    value_at(data, "train") = parse_value(source);
    const bool is_named = draw.chance(has_records ? 0.95 : 0.05);
    value_at(data, "tokenizer") = parse_value(
        is_named ? fmt::format("{{kind: hf, path: {}}}", deck::write_quoted(folder + "/tokenizer")) : "none");
    value_at(data, "packing") =
        make_scalar(draw.one_of<std::string>({"auto", "none", "wrapped", "best_fit"}));
    value_at(data, "long_samples") =
        make_scalar(draw.one_of<std::string>({"cut", "cut", "drop", "drop", "refuse"}));
    if (draw.chance(0.3)) {
        value_at(data, "held_out") = make_scalar("20%");
    }
    const auto& size = value_at(model, "vocab").text;
    if (size != "auto" && std::stoi(size) < vocab) {
        value_at(model, "vocab") = make_scalar(fmt::format("{}", vocab));
    }
    const auto seq = draw.between(0, 7);
    if (seq == 0) {
        std::erase_if(data.entries, [](const deck::MapEntry& entry) { return entry.key == "seq"; });
    } else if (seq == 1) {
        value_at(data, "seq") = make_scalar("auto");
    } else if (seq == 2) {
        value_at(data, "seq") = make_scalar(draw.one_of<std::string>(
            {"16x", "0", "-8", "8.5", "\"\"", "none", "[8]", "{tokens: 8}", "1e9", "9999999999999999999"}));
    } else if (seq <= 5) {
        value_at(model, "max_seq") = make_scalar("96");
        value_at(data, "seq") = make_scalar(fmt::format("{}", 12 * draw.between(1, 8)));
    }
    return write_deck(root);
}

}  // namespace ziggurat::test
