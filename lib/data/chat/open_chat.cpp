#include "data/chat/open_chat.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include "data/fingerprint.hpp"
#include "data/tokenizer/tokenizer_config.hpp"

#include "base/error.hpp"
#include "base/file_handle.hpp"
#include "base/text/printable.hpp"
#include "data/chat/chat_template.hpp"
#include "data/content_key.hpp"
#include "data/tokenizer/tokenizer_config.hpp"
#include "spec/token_format.hpp"

namespace ziggurat::data {
namespace {

/// Number of threads that encode the records of a source.
constexpr int max_threads = 8;

bool exists(const std::string& path) {
    return ::access(path.c_str(), F_OK) == 0;
}

bool is_sample_path(const std::string& path, const std::string& key) {
    return is_sample_file(MappedFile{path, key}.content());
}

/// Opens the tokenizer of the deck, which encodes records.
std::unique_ptr<const TextTokenizer> open_tokenizer_for(const spec::Data& data,
                                                        const std::string& path,
                                                        const std::string& key) {
    if (!data.tokenizer.has_file()) {
        throw Error{ErrorKind::deck,
                    fmt::format("{}: '{}' holds records, which a tokenizer encodes (data.tokenizer has no "
                                "file). Use tokenizer: {{kind: hf, path: PATH}}, or name a sample file.",
                                key, printable(path))};
    }
    return open_tokenizer(data.tokenizer);
}

/// Returns the hash of the template that renders records; 0 if there is no template.
std::uint64_t template_hash_of(const spec::Data& data, const spec::Source& source) {
    const auto found = find_optional_template(data.tokenizer.path, source.chat_template);
    return found.chat ? found.chat->hash() : 0;
}

/// Version of the code that parses records, renders and encodes conversations, and marks their tokens.
///
/// Raise it when the same records give other samples: records are then encoded again.
constexpr int encoding_version = 2;

/// Adds the texts of a template, and the special tokens that it gets.
void add_template(const ChatTemplate& chat, ContentKey& key) {
    key.add("template", chat.text).add("tool template", chat.tool_text);
    for (const auto& token : chat.special_tokens) {
        key.add("token", token.name).add("is list", token.is_list);
        for (const auto& text : token.texts) {
            key.add("text", text);
        }
    }
}

/// Returns the name of the sample file that is made of records.
std::string name_of_samples(const spec::Data& data,
                            const spec::Source& source,
                            const std::string& path,
                            const std::string& deck_key,
                            const std::string& tokenizer_hash,
                            spec::LossOn loss_on,
                            const StopCheck& stop) {
    const MappedFile records{path, deck_key};
    ContentKey key{"samples of records", encoding_version};
    key.add("records", hash_text(whole_hash(records.content(), stop)));
    key.add("tokenizer", tokenizer_hash).add("loss_on", loss_on);
    key.add("format of conversations", SampleFileHeader::conversations_version);
    key.add("format of pairs", SampleFileHeader::pairs_version);
    key.add("configuration", hash_text(configuration_hash(data.tokenizer.path)));
    if (const auto found = find_optional_template(data.tokenizer.path, source.chat_template); found.chat) {
        add_template(*found.chat, key);
    }
    return fmt::format("{}.{:016x}{}", path, key.hash(), sample_file_ending);
}

/// Returns true if samples of the same records exist that were made with another key.
bool has_other_samples(const std::string& records) {
    const std::filesystem::path path{records};
    std::error_code unreadable;
    const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path{"."};
    for (const auto& entry : std::filesystem::directory_iterator{folder, unreadable}) {
        const auto name = entry.path().filename().string();
        if (name.starts_with(path.filename().string() + ".") && name.ends_with(sample_file_ending)) {
            return true;
        }
    }
    return false;
}

/// Locks a file as soon as no other process has locked it.
void wait_for_lock(int file, const StopCheck& stop) {
    constexpr std::chrono::milliseconds between_tries{100};
    while (::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        check(stop);
        std::this_thread::sleep_for(between_tries);
    }
}

/// Makes the sample file of records, unless another process of this machine has made it meanwhile.
void make_samples(const ChatJob& job,
                  const TextTokenizer& tokenizer,
                  const std::string& key,
                  const SampleFileReports& reports) {
    const std::string& records = job.inputs.front();
    // The lock ends with the descriptor. Without it, as on some network file systems, the file is made twice.
    const FileHandle lock{::open(records.c_str(), O_RDONLY | O_CLOEXEC)};
    wait_for_lock(lock.get(), reports.of_job.stop);
    if (exists(job.output)) {
        return;
    }
    if (reports.begins) {
        reports.begins(records, job.output, has_other_samples(records));
    }
    try {
        write_sample_file(job, tokenizer, reports.of_job);
    } catch (const Error& error) {
        const auto remedy =
            error.kind() != ErrorKind::resource
                ? ""
                : fmt::format(
                      " Or run 'ziggurat tokenize {} --chat --tokenizer {} --out NAME' where it is "
                      "possible, and name NAME.samples.",
                      printable(records), printable(job.tokenizer));
        throw Error{error.kind(), fmt::format("{}: {}{}", key, error.what(), remedy)};
    }
}

void expect_settings_of_deck(const spec::Data& data,
                             const spec::Source& source,
                             const SampleFile& file,
                             const std::string& key) {
    const auto& header = file.header();
    const auto reject = [&](const std::string& reason, const char* remedy) {
        throw Error{ErrorKind::deck, fmt::format("{}: '{}' {}. {} Or make it again with 'ziggurat tokenize "
                                                 "RECORDS --chat'.",
                                                 key, printable(file.file().path()), reason, remedy)};
    };
    const auto hash = hash_text(header.tokenizer_hash);
    if (data.tokenizer.has_file() && !data.tokenizer.hash.empty() && data.tokenizer.hash != hash) {
        reject(fmt::format("holds token ids of another tokenizer (hash {}, but data.tokenizer.hash is {})",
                           hash, data.tokenizer.hash),
               "Set data.tokenizer.path to the tokenizer that made it.");
    }
    const auto loss_on = static_cast<spec::LossOn>(header.loss_on);
    if (source.loss_on && *source.loss_on != loss_on) {
        reject(fmt::format("was made with loss_on: {} (the deck has {})", spec::word_of(loss_on),
                           spec::word_of(*source.loss_on)),
               "Remove loss_on.");
    }
    const bool has_template = !source.chat_template.empty() && data.tokenizer.has_file();
    if (has_template && template_hash_of(data, source) != header.template_hash) {
        reject(fmt::format("was made with another template than '{}'", printable(source.chat_template)),
               "Remove template.");
    }
}

}  // namespace

std::vector<std::string> sample_files(const spec::Data& data,
                                      const spec::Source& source,
                                      const std::string& key,
                                      const SampleFileReports& reports) {
    std::vector<std::string> files;
    std::unique_ptr<const TextTokenizer> tokenizer;
    const auto need_tokenizer = [&](const std::string& path) {
        tokenizer = tokenizer ? std::move(tokenizer) : open_tokenizer_for(data, path, key);
    };
    for (const auto& path : expand_paths(source.path, key)) {
        if (is_sample_path(path, key)) {
            files.push_back(path);
            continue;
        }
        if (data.tokenizer.hash.empty()) {
            need_tokenizer(path);
        }
        const auto tokenizer_hash = tokenizer ? hash_text(*tokenizer) : data.tokenizer.hash;
        const auto loss_on = source.loss_on.value_or(spec::LossOn::assistant);
        files.push_back(
            name_of_samples(data, source, path, key, tokenizer_hash, loss_on, reports.of_job.stop));
        if (!exists(files.back())) {
            need_tokenizer(path);
            const auto cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
            make_samples({.inputs = {path},
                          .tokenizer = data.tokenizer.path,
                          .chat_template = source.chat_template,
                          .loss_on = loss_on,
                          .output = files.back(),
                          .threads = std::clamp(cores, 1, max_threads),
                          .engine = template_engine()},
                         *tokenizer, key, reports);
        }
    }
    return files;
}

std::vector<std::string> existing_sample_files(const spec::Data& data, const spec::Source& source) {
    std::vector<std::string> files;
    try {
        for (const auto& path : expand_paths(source.path, "")) {
            const auto loss_on = source.loss_on.value_or(spec::LossOn::assistant);
            files.push_back(is_sample_path(path, "")
                                ? path
                                : name_of_samples(data, source, path, "", data.tokenizer.hash, loss_on, {}));
        }
    } catch (const Error&) {  // the source or its template has moved
    }
    std::erase_if(files, [](const std::string& path) { return !exists(path); });
    return files;
}

std::shared_ptr<const ChatSource> open_chat(const spec::Data& data,
                                            const spec::Source& source,
                                            const std::string& key,
                                            const SampleFileReports& reports) {
    auto samples = std::make_shared<ChatSource>(sample_files(data, source, key, reports), key);
    for (std::size_t i = 0; i < samples->num_files(); ++i) {
        expect_settings_of_deck(data, source, samples->file(i), key);
    }
    return samples;
}

}  // namespace ziggurat::data
