#include "data/chat/open_chat.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>

#include "base/error.hpp"
#include "base/file_handle.hpp"
#include "base/text/printable.hpp"
#include "data/chat/chat_template.hpp"
#include "data/chat/kept_samples.hpp"
#include "data/content_key.hpp"
#include "data/fingerprint.hpp"
#include "data/samples/check_samples.hpp"
#include "data/tokenizer/tokenizer_config.hpp"
#include "spec/token_format.hpp"

namespace ziggurat::data {
namespace {

/// Number of threads that encode the records of a source.
constexpr int max_threads = 8;

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

/// Returns the names of the samples that are made of records.
SampleNames names_of_samples(const spec::Data& data,
                             const spec::Source& source,
                             const std::string& path,
                             const std::string& deck_key,
                             const std::string& tokenizer_hash,
                             const SampleFileOptions& options) {
    const MappedFile records{path, deck_key};
    ContentKey key{"samples of records", encoding_version};
    key.add("records", hash_text(whole_hash(records.content(), options.of_job.stop)));
    key.add("tokenizer", tokenizer_hash).add("loss_on", source.loss_on.value_or(spec::LossOn::assistant));
    key.add("format of conversations", SampleFileHeader::conversations_version);
    key.add("format of pairs", SampleFileHeader::pairs_version);
    key.add("configuration", hash_text(configuration_hash(data.tokenizer.path)));
    if (const auto found = find_optional_template(data.tokenizer.path, source.chat_template); found.chat) {
        add_template(*found.chat, key);
    }
    return sample_names(path, options.other_folder, key.hash());
}

/// Returns true if samples of the same records exist that were made with another key.
bool has_other_samples(const std::string& records, const std::string& samples) {
    const std::filesystem::path path{records};
    std::error_code unreadable;
    const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path{"."};
    for (const auto& entry : std::filesystem::directory_iterator{folder, unreadable}) {
        const auto name = entry.path().filename().string();
        if (name.starts_with(path.filename().string() + ".") && name.ends_with(sample_file_ending) &&
            name != std::filesystem::path{samples}.filename()) {
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

/// Encodes records to a file without a name.
SampleFile encode_for_this_process(const ChatJob& job,
                                   const SampleNames& names,
                                   const TextTokenizer& tokenizer,
                                   const SampleFileOptions& options) {
    TemporaryFile file;
    write_sample_file(job, file, tokenizer, options.of_job);
    keep_for_this_process(names, file);
    std::string unused;
    return find_samples(names, {}, unused).value();
}

/// Encodes records to the first of their names that can be written.
///
/// \param samples  its reason is why they are made
SampleFile encode_to_first(const ChatJob& job,
                           const SampleNames& names,
                           const TextTokenizer& tokenizer,
                           const SampleFileOptions& options,
                           SamplesToMake samples) {
    const auto paths = names.all();
    for (const auto& path : paths) {
        try {
            std::error_code problem;
            if (path == names.other_path) {
                std::filesystem::create_directories(options.other_folder, problem);
            }
            TemporaryFile file{path};
            if (options.begins) {
                options.begins({samples.records, path, samples.is_kept, samples.has_others, samples.reason});
            }
            write_sample_file(job, file, tokenizer, options.of_job);
            break;
        } catch (const UnwritableFile& error) {
            if (path == paths.back()) {
                throw;
            }
            samples.reason = error.what();
        }
    }
    std::string reason;
    auto made = find_samples(names, options.of_job.stop, reason);
    if (!made) {
        throw Error{ErrorKind::resource,
                    fmt::format("{}, although it was written just now. Check its file system.", reason)};
    }
    return std::move(*made);
}

/// Makes the samples of records, unless another process of this machine has made them meanwhile.
///
/// \param reason  why an existing file is not used
SampleFile make_samples(const ChatJob& job,
                        const SampleNames& names,
                        const TextTokenizer& tokenizer,
                        const std::string& key,
                        const SampleFileOptions& options,
                        std::string reason) {
    const std::string& records = job.inputs.front();
    try {
        if (!options.keeps) {
            if (options.begins) {
                options.begins({records, names.path, false, false, reason});
            }
            return encode_for_this_process(job, names, tokenizer, options);
        }
        // The lock ends with the descriptor. Without it, as on some network file systems, the file is made
        // twice.
        const FileHandle lock{::open(records.c_str(), O_RDONLY | O_CLOEXEC)};
        wait_for_lock(lock.get(), options.of_job.stop);
        if (auto made = find_samples(names, options.of_job.stop, reason)) {
            return std::move(*made);
        }
        remove_abandoned_samples(names, records);
        const SamplesToMake samples{records, names.path, true, has_other_samples(records, names.path),
                                    reason};
        return encode_to_first(job, names, tokenizer, options, samples);
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

std::vector<SampleFile> sample_files(const spec::Data& data,
                                     const spec::Source& source,
                                     const std::string& key,
                                     const SampleFileOptions& options) {
    std::vector<SampleFile> files;
    std::unique_ptr<const TextTokenizer> tokenizer;
    const auto need_tokenizer = [&](const std::string& path) {
        tokenizer = tokenizer ? std::move(tokenizer) : open_tokenizer_for(data, path, key);
    };
    for (const auto& path : expand_paths(source.path, key)) {
        if (is_sample_path(path, key)) {
            files.emplace_back(path, key);
            continue;
        }
        if (data.tokenizer.hash.empty()) {
            need_tokenizer(path);
        }
        const auto tokenizer_hash = tokenizer ? hash_text(*tokenizer) : data.tokenizer.hash;
        const auto names = names_of_samples(data, source, path, key, tokenizer_hash, options);
        std::string reason;
        if (auto found = find_samples(names, options.of_job.stop, reason)) {
            files.push_back(std::move(*found));
            continue;
        }
        need_tokenizer(path);
        const auto cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
        files.push_back(make_samples({.inputs = {path},
                                      .tokenizer = data.tokenizer.path,
                                      .chat_template = source.chat_template,
                                      .loss_on = source.loss_on.value_or(spec::LossOn::assistant),
                                      .key = names.key,
                                      .threads = std::clamp(cores, 1, max_threads),
                                      .engine = template_engine()},
                                     names, *tokenizer, key, options, reason));
    }
    return files;
}

std::vector<SampleFile> existing_sample_files(const spec::Data& data,
                                              const spec::Source& source,
                                              const std::string& other_folder) {
    std::vector<SampleFile> files;
    try {
        for (const auto& path : expand_paths(source.path, "")) {
            if (is_sample_path(path, "")) {
                files.emplace_back(path, "");
                continue;
            }
            std::string unused;
            auto found = find_samples(
                names_of_samples(data, source, path, "", data.tokenizer.hash, {.other_folder = other_folder}),
                {}, unused);
            if (found) {
                files.push_back(std::move(*found));
            }
        }
    } catch (const Error&) {  // the source or its template has moved, or a sample file is damaged
    }
    return files;
}

std::shared_ptr<const ChatSource> open_chat(const spec::Data& data,
                                            const spec::Source& source,
                                            const std::string& key,
                                            const SampleFileOptions& options) {
    auto samples = std::make_shared<ChatSource>(sample_files(data, source, key, options), key);
    for (std::size_t i = 0; i < samples->num_files(); ++i) {
        expect_settings_of_deck(data, source, samples->file(i), key);
        if (options.checks_all) {
            check_samples(samples->file(i), key, options.of_job.stop);
        }
    }
    return samples;
}

}  // namespace ziggurat::data
