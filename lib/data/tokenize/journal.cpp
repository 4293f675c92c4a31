#include "data/tokenize/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/printable.hpp"
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
        text.append(part.data(), static_cast<std::size_t>(std::max<ssize_t>(read, 0)));
    }
}

/// The fields that differ between two jobs: `tokenizer and inputs`.
std::string differences(const std::string& ours, const std::string& theirs) {
    const auto was = Json::parse(theirs, nullptr, false);
    const auto now = Json::parse(ours);
    if (!was.is_object()) {
        return "what it begins with";
    }
    std::string names;
    for (const auto& [key, value] : now.items()) {
        if (!was.contains(key) || was[key] != value) {
            names += (names.empty() ? "" : " and ") + key;
        }
    }
    return names.empty() ? "the version of this program" : names;
}

std::optional<JournalRecord> record_of(std::string_view line) {
    const auto json = Json::parse(line, nullptr, false);
    if (!json.is_object()) {
        return std::nullopt;
    }
    const auto number = [&](const char* key) {
        const auto found = json.find(key);
        return found != json.end() && found->is_number_unsigned() ? found->get<std::int64_t>() : -1;
    };
    const UnknownText unknown{std::max(number("unknown_runs"), std::int64_t{0}),
                              std::max(number("unknown_tokens"), std::int64_t{0})};
    const JournalRecord record{{number("file"), number("offset")},
                               {number("documents"), number("tokens"), unknown},
                               number("has_all") == 1};
    const bool is_whole = record.next.file >= 0 && record.next.offset >= 0 && record.written.documents >= 0 &&
                          record.written.tokens >= 0;
    return is_whole ? std::optional{record} : std::nullopt;
}

}  // namespace

TokenizeJournal::TokenizeJournal(std::string path, const std::string& job) : path_{std::move(path)} {
    file_ = FileHandle{::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666)};
    if (!file_) {
        storage::throw_io_error("write", path_, errno);
    }
    struct stat status {};
    // A name that is gone is that of a job that has just ended.
    const bool is_ours = ::flock(file_.get(), LOCK_EX | LOCK_NB) == 0 && ::fstat(file_.get(), &status) == 0 &&
                         status.st_nlink > 0;
    if (!is_ours) {
        throw Error{ErrorKind::resource,
                    fmt::format("cannot write '{}' (another process does). Wait for it, or "
                                "name other files by --out.",
                                printable(path_))};
    }
    read(job);
}

void TokenizeJournal::read(const std::string& job) {
    const auto text = all_of(file_.get(), path_);
    const auto first_end = text.find('\n');
    if (first_end == std::string::npos) {
        if (::ftruncate(file_.get(), 0) != 0) {
            storage::throw_io_error("write", path_, errno);
        }
        write_output(file_.get(), path_, job + "\n");
        storage::flush_file(file_.get(), path_);
        return;
    }
    if (const auto was = text.substr(0, first_end); was != job) {
        throw Error{
            ErrorKind::deck,
            fmt::format("cannot go on by '{}' (it was begun with other {}). Repeat the command that began "
                        "it, or remove it to begin anew.",
                        printable(path_), differences(job, was))};
    }
    std::size_t begin = first_end + 1;
    for (;;) {  // a line that was cut is as if it had not been written
        const auto end = text.find('\n', begin);
        const auto record = end == std::string::npos
                                ? std::nullopt
                                : record_of(std::string_view{text}.substr(begin, end - begin));
        if (!record) {
            break;
        }
        last_ = record;
        begin = end + 1;
    }
    const auto kept = static_cast<off_t>(begin);
    if (::ftruncate(file_.get(), kept) != 0 || ::lseek(file_.get(), kept, SEEK_SET) != kept) {
        storage::throw_io_error("write", path_, errno);
    }
}

void TokenizeJournal::append(const JournalRecord& record) {
    write_output(
        file_.get(), path_,
        fmt::format(
            "{{\"file\": {}, \"offset\": {}, \"documents\": {}, \"tokens\": {}, \"unknown_runs\": {}, "
            "\"unknown_tokens\": {}, \"has_all\": {}}}\n",
            record.next.file, record.next.offset, record.written.documents, record.written.tokens,
            record.written.unknown.runs, record.written.unknown.tokens, record.has_all ? 1 : 0));
    storage::flush_file(file_.get(), path_);
}

void TokenizeJournal::remove() {
    if (::unlink(path_.c_str()) != 0) {
        storage::throw_io_error("remove", path_, errno);
    }
}

}  // namespace ziggurat::data
