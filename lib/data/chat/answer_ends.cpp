#include "data/chat/answer_ends.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>

#include "base/error.hpp"
#include "data/chat/chat_encoder.hpp"
#include "data/chat/open_chat.hpp"
#include "data/chat/template_process.hpp"
#include "data/mapped_file.hpp"
#include "data/samples/sample_file.hpp"
#include "data/tokenizer/tokenizer_json_impl.hpp"
#include "spec/token_format.hpp"

namespace ziggurat::data {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t max_read_samples = 256;
constexpr const char* ends_key = "eos_token_id";

/// Number of turns that end with each token.
using EndCounts = std::map<std::int32_t, std::int64_t>;

std::vector<std::int32_t> by_frequency(const EndCounts& counts) {
    std::vector<std::int32_t> ends;
    for (const auto& [token, unused] : counts) {
        ends.push_back(token);
    }
    std::ranges::stable_sort(ends, std::greater{}, [&](std::int32_t token) { return counts.at(token); });
    return ends;
}

bool is_blank(const TextTokenizer& tokenizer, std::int32_t token) {
    std::string text;
    tokenizer.decode(std::span{&token, 1}, text);
    return text.find_first_not_of(" \n\r\t") == std::string::npos;
}

/// Counts the ends of all ranges of counted tokens of a sample.
void count_ends(std::span<const std::int32_t> ids,
                std::span<const std::uint8_t> counts,
                const TextTokenizer& tokenizer,
                EndCounts& ends) {
    for (std::size_t end = ids.size(); end > 0; --end) {
        const bool is_range_end = counts[end - 1] != 0 && (end == ids.size() || counts[end] == 0);
        if (!is_range_end) {
            continue;
        }
        for (auto i = end; i > 0 && counts[i - 1] != 0; --i) {
            const auto token = ids[i - 1];
            if (tokenizer.is_added(token) || tokenizer.document_token() == token) {
                ++ends[token];
                break;
            }
            if (!is_blank(tokenizer, token)) {
                break;
            }
        }
    }
}

EndCounts count_ends_in(const SampleFile& file, const TextTokenizer& tokenizer) {
    EndCounts ends;
    const auto& header = file.header();
    if (header.tokenizer_hash != tokenizer.hash()) {
        return ends;
    }
    const auto step = header.has_pairs() ? 2 : 1;
    std::vector<std::int32_t> ids;
    std::vector<std::uint8_t> counts;
    for (std::int64_t sample = 0; sample < std::min(file.num_samples(), step * max_read_samples);
         sample += step) {
        const auto begin = file.begin_of(sample);
        ids.resize(static_cast<std::size_t>(file.begin_of(sample + 1) - begin));
        counts.resize(ids.size());
        file.read(begin, ids, counts);
        count_ends(ids, counts, tokenizer, ends);
    }
    return ends;
}

fs::path folder_of(const std::string& tokenizer) {
    std::error_code problem;
    const fs::path path{tokenizer};
    return fs::is_directory(path, problem) ? path : path.parent_path();
}

/// Reads the ids of a file; nullopt if it does not exist.
///
/// \param is_strict  reject ids outside the vocabulary, instead of leaving them out
std::optional<std::vector<std::int32_t>> read_ends(const fs::path& file, std::int64_t vocab, bool is_strict) {
    std::error_code problem;
    if (!fs::is_regular_file(file, problem)) {
        return std::nullopt;
    }
    const MappedFile mapped{file.string(), "tokenizer"};
    const auto json = parse_json_file(mapped);
    const JsonObject fields{json, "", mapped.path()};
    std::vector<std::int32_t> ends;
    if (!fields.has(ends_key)) {
        return ends;
    }
    const auto& value = fields.at(ends_key);
    for (const auto& id : value.is_array() ? value : TokenizerJson::array({value})) {
        const bool is_token =
            id.is_number_unsigned() && id.get<std::uint64_t>() < static_cast<std::uint64_t>(vocab);
        if (is_token) {
            ends.push_back(id.get<std::int32_t>());
        } else if (is_strict) {
            fields.refuse("has an eos_token_id that is not a token");
        }
    }
    return ends;
}

}  // namespace

std::vector<std::int32_t> configured_ends(const std::string& tokenizer, std::int64_t vocab) {
    if (tokenizer.empty()) {
        return {};
    }
    const auto folder = folder_of(tokenizer);
    if (const auto ends = read_ends(folder / "generation_config.json", vocab, true)) {
        return *ends;
    }
    return read_ends(folder / "config.json", vocab, false).value_or(std::vector<std::int32_t>{});
}

std::vector<std::int32_t> turn_ends_by(const ChatTemplate& chat,
                                       const TextTokenizer& tokenizer,
                                       const TemplateEngine& engine) {
    const ChatJson record{{"messages", ChatJson::array({{{"role", "user"}, {"content", "a"}},
                                                        {{"role", "assistant"}, {"content", "a"}}})}};
    const auto sample =
        ChatEncoder{tokenizer, &chat, "", engine, spec::LossOn::completion}.encode(record.dump()).front();
    EndCounts ends;
    count_ends(sample.ids, sample.counts, tokenizer, ends);
    return by_frequency(ends);
}

std::vector<std::int32_t> trained_turn_ends(const spec::Data& data,
                                            const TextTokenizer& tokenizer,
                                            const std::string& run_folder) {
    EndCounts ends;
    for (const auto& source : data.train) {
        if (source.format != spec::TokenFormat::chat) {
            continue;
        }
        for (const auto& file : existing_sample_files(data, source, run_folder)) {
            for (const auto& [token, count] : count_ends_in(file, tokenizer)) {
                ends[token] += count;
            }
        }
    }
    return by_frequency(ends);
}

}  // namespace ziggurat::data
