#include "data/tokenize/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "data/tokenize/output_names_impl.hpp"
#include "storage/directory.hpp"
#include "storage/io_error.hpp"

namespace ziggurat::data {
namespace {

using Json = nlohmann::json;

std::string all_of(int file, const std::string& path) {
    std::string text;
    std::array<char, 65536> part{};
    for (;;) {
        const auto read = ::pread(file, part.data(), part.size(), std::ssize(text));
        if (read < 0 && errno != EINTR) {
            storage::throw_io_error("read", path, errno);
        }
        if (read == 0) {
            return text;
        }
        text.append(part.data(), std::max<ssize_t>(read, 0));
    }
}

constexpr const char* inputs_key = "inputs";

/// Returns the fields other than inputs that differ between two jobs: `tokenizer and format`.
std::string differences(const std::string& ours, const std::string& theirs) {
    const auto was = Json::parse(theirs, nullptr, false);
    const auto now = Json::parse(ours);
    if (!was.is_object()) {
        return "first line";
    }
    std::string names;
    for (const auto& [key, value] : now.items()) {
        if (key != inputs_key && (!was.contains(key) || was[key] != value)) {
            names += (names.empty() ? "" : " and ") + key;
        }
    }
    return names;
}

/// Returns the inputs of a job as written in its line.
Json inputs_of(std::string_view job) {
    const auto json = Json::parse(job, nullptr, false);
    return json.is_object() && json.contains(inputs_key) ? json[inputs_key] : Json{};
}

/// Last field of a record: XXH3-64 of the line before it.
constexpr std::string_view check_field = ", \"check\": ";

/// Returns true if the hash in a line is that of its beginning.
///
/// Lines of earlier versions have no hash, and are accepted.
bool has_own_hash(std::string_view line) {
    const auto at = line.rfind(check_field);
    return at == std::string_view::npos ||
           line.substr(at) == fmt::format("{}{}}}", check_field, XXH3_64bits(line.data(), at));
}

std::optional<JournalRecord> record_of(std::string_view line) {
    if (!has_own_hash(line)) {
        return std::nullopt;
    }
    const auto json = Json::parse(line, nullptr, false);
    if (!json.is_object()) {
        return std::nullopt;
    }
    const auto number = [&](const char* key) {
        const auto found = json.find(key);
        return found != json.end() && found->is_number_unsigned() ? found->get<std::int64_t>() : -1;
    };
    const auto hash = json.find("hash");
    const bool has_hash = hash != json.end() && hash->is_number_unsigned();
    const auto output = json.find("output_hash");
    const bool has_output = output != json.end() && output->is_number_unsigned();
    const UnknownText unknown{std::max(number("unknown_runs"), std::int64_t{0}),
                              std::max(number("unknown_tokens"), std::int64_t{0})};
    const JournalRecord record{.next = {number("file"), number("offset")},
                               .written = {number("documents"), number("tokens"), unknown},
                               .text_bytes = number("text_bytes"),
                               .skipped_lines = number("skipped_lines"),
                               .hash = has_hash ? hash->get<std::uint64_t>() : 0,
                               .output_hash = has_output ? output->get<std::uint64_t>() : 0,
                               .has_all = number("has_all") == 1};
    const bool is_whole = record.next.file >= 0 && record.next.offset >= 0 && record.written.documents >= 0 &&
                          record.written.tokens >= 0 && record.text_bytes >= 0 && record.skipped_lines >= 0 &&
                          has_hash;
    return is_whole ? std::optional{record} : std::nullopt;
}

/// Returns true if a complete line of `text` records finished work.
bool has_a_record(std::string_view text) {
    for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
        if (const auto record = record_of(text.substr(0, end)); record && record->next != InputPosition{}) {
            return true;
        }
        text.remove_prefix(end + 1);
    }
    return false;
}

}  // namespace

TokenizeJournal::TokenizeJournal(std::string path, const std::string& job)
    : path_{std::move(path)}, job_{job} {
    file_ = FileHandle{::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666)};
    if (!file_) {
        storage::throw_io_error("write", path_, errno);
    }
    struct stat status {};
    // If the path no longer names this file, it belonged to a job that has just ended.
    const bool is_ours = ::flock(file_.get(), LOCK_EX | LOCK_NB) == 0 && ::fstat(file_.get(), &status) == 0 &&
                         status.st_nlink > 0;
    if (!is_ours) {
        throw Error{ErrorKind::resource,
                    fmt::format("cannot write '{}' (another process is writing it). Wait for that "
                                "process, or choose another name with --out.",
                                printable(path_))};
    }
    read();
}

void TokenizeJournal::read() {
    const auto text = all_of(file_.get(), path_);
    const auto first_end = text.find('\n');
    if (first_end == std::string::npos || !has_a_record(std::string_view{text}.substr(first_end + 1))) {
        // The earlier job has recorded no finished work, so another job may replace it.
        if (::ftruncate(file_.get(), 0) != 0) {
            storage::throw_io_error("write", path_, errno);
        }
        ::lseek(file_.get(), 0, SEEK_SET);
        write_output(file_.get(), path_, job_ + "\n");
        storage::flush_file(file_.get(), path_);
        return;
    }
    const auto first = text.substr(0, first_end);
    if (const auto other = first == job_ ? "" : differences(job_, first); !other.empty()) {
        throw Error{
            ErrorKind::deck,
            fmt::format("cannot resume from '{}' (it was started with other {}). Repeat the command that "
                        "started it, or remove it to start from scratch.",
                        printable(path_), other)};
    }
    auto inputs = inputs_of(first);
    std::size_t begin = first_end + 1;
    for (;;) {  // a truncated line is ignored
        const auto end = text.find('\n', begin);
        if (end == std::string::npos) {
            break;
        }
        const auto line = std::string_view{text}.substr(begin, end - begin);
        if (auto later = inputs_of(line); !later.is_null()) {
            inputs = std::move(later);
        } else if (const auto record = record_of(line)) {
            last_ = record;
            has_records_ = has_records_ || record->next != InputPosition{};
        } else {
            break;
        }
        begin = end + 1;
    }
    has_other_inputs_ = inputs != inputs_of(job_);
    const auto kept = static_cast<off_t>(begin);
    if (::ftruncate(file_.get(), kept) != 0 || ::lseek(file_.get(), kept, SEEK_SET) != kept) {
        storage::throw_io_error("write", path_, errno);
    }
}

void TokenizeJournal::refuse_inputs() const {
    throw Error{
        ErrorKind::deck,
        fmt::format("cannot resume from '{}' (it was started with other inputs: they differ before the "
                    "position up to which tokens are written). Repeat the command that started it, or "
                    "remove it to start from scratch.",
                    printable(path_))};
}

void TokenizeJournal::accept_inputs() {
    write_output(file_.get(), path_, Json{{inputs_key, inputs_of(job_)}}.dump() + "\n");
    storage::flush_file(file_.get(), path_);
    has_other_inputs_ = false;
}

void TokenizeJournal::append(const JournalRecord& record) {
    has_records_ = has_records_ || record.next != InputPosition{};
    const auto line = fmt::format(
        "{{\"file\": {}, \"offset\": {}, \"documents\": {}, \"tokens\": {}, "
        "\"unknown_runs\": {}, \"unknown_tokens\": {}, \"text_bytes\": {}, \"skipped_lines\": {}, "
        "\"hash\": {}, \"output_hash\": {}, \"has_all\": {}",
        record.next.file, record.next.offset, record.written.documents, record.written.tokens,
        record.written.unknown.runs, record.written.unknown.tokens, record.text_bytes, record.skipped_lines,
        record.hash, record.output_hash, record.has_all ? 1 : 0);
    write_output(file_.get(), path_,
                 fmt::format("{}{}{}}}\n", line, check_field, XXH3_64bits(line.data(), line.size())));
    storage::flush_file(file_.get(), path_);
}

void TokenizeJournal::remove() {
    if (::unlink(path_.c_str()) != 0) {
        storage::throw_io_error("remove", path_, errno);
    }
}

}  // namespace ziggurat::data
