#include "data/chat/sample_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "data/tokenize/output_names_impl.hpp"
#include "storage/directory.hpp"
#include "storage/io_error.hpp"

namespace ziggurat::data {
namespace {

constexpr std::int64_t header_bytes = sizeof(SampleFileHeader);
constexpr std::int64_t token_bytes = sizeof(std::uint32_t);
constexpr std::int64_t begin_bytes = sizeof(std::int64_t);

[[noreturn]] void reject(const std::string& key, const MappedFile& file, const std::string& reason) {
    throw Error{ErrorKind::deck,
                fmt::format("{}: '{}' is not a valid sample file ({}). Make it again with 'ziggurat tokenize "
                            "RECORDS --chat --tokenizer PATH --out NAME'.",
                            key, printable(file.path()), reason)};
}

/// Returns true if the sizes in the header are those of a file of `bytes` bytes.
bool has_size_of(const SampleFileHeader& header, std::int64_t bytes) {
    const std::int64_t rest = bytes - header_bytes - begin_bytes;
    return header.num_samples >= 1 && header.num_tokens >= 1 && header.num_samples <= rest / begin_bytes &&
           header.num_tokens <= rest / token_bytes &&
           header.num_samples * begin_bytes + header.num_tokens * token_bytes == rest;
}

bool is_known(std::int32_t version) {
    return version == SampleFileHeader::conversations_version || version == SampleFileHeader::pairs_version;
}

template <class T>
void append(std::string& bytes, const T& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

bool is_sample_file(std::span<const std::byte> content) {
    const auto& magic = SampleFileHeader::magic_bytes;
    return content.size() >= magic.size() && std::memcmp(content.data(), magic.data(), magic.size()) == 0;
}

SampleFile::SampleFile(const std::string& path, const std::string& key) : file_{path, key} {
    if (!is_sample_file(file_.content())) {
        reject(key, file_, "its first bytes are not ZGSAMPLE");
    }
    if (file_.bytes() < header_bytes) {
        reject(key, file_, fmt::format("{} bytes, shorter than the header", file_.bytes()));
    }
    header_ = file_.load<SampleFileHeader>(0);
    if (!is_known(header_.version)) {
        reject(key, file_,
               fmt::format("version {}, this program reads {} and {}", header_.version,
                           SampleFileHeader::conversations_version, SampleFileHeader::pairs_version));
    }
    if (!has_size_of(header_, file_.bytes())) {
        reject(key, file_,
               fmt::format("its header counts {} samples and {} tokens, which does not match its {} bytes",
                           header_.num_samples, header_.num_tokens, file_.bytes()));
    }
    if (header_.has_pairs() && num_samples() % 2 != 0) {
        reject(key, file_,
               fmt::format("its header counts {} samples, but pairs have an even number", num_samples()));
    }
    std::int64_t before = 0;
    for (std::int64_t sample = 0; sample <= num_samples(); ++sample) {
        const std::int64_t begin = begin_of(sample);
        const bool is_valid = sample == 0               ? begin == 0
                              : sample == num_samples() ? begin == num_tokens() && begin - before >= 2
                                                        : begin - before >= 2 && begin < num_tokens();
        if (!is_valid) {
            reject(key, file_, fmt::format("sample {} begins at token {}", sample, begin));
        }
        before = begin;
    }
}

std::int64_t SampleFile::begin_of(std::int64_t sample) const {
    ZG_EXPECTS(sample >= 0 && sample <= num_samples());
    return file_.load<std::int64_t>(header_bytes + num_tokens() * token_bytes + sample * begin_bytes);
}

void SampleFile::read(std::int64_t begin, std::span<std::int32_t> ids, std::span<std::uint8_t> counts) const {
    ZG_EXPECTS(begin >= 0 && begin + std::ssize(ids) <= num_tokens() && counts.size() == ids.size());
    const std::byte* from = file_.content().data() + header_bytes + begin * token_bytes;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        std::uint32_t token = 0;
        std::memcpy(&token, from + i * token_bytes, sizeof token);
        ids[i] = static_cast<std::int32_t>(token & ~counts_bit);
        counts[i] = static_cast<std::uint8_t>(token >> 31);
    }
}

SampleFileWriter::SampleFileWriter(std::string path)
    : path_{std::move(path)},
      temporary_{fmt::format("{}.{}{}", path_, ::getpid(), unfinished_ending)},
      file_{open_for_writing(temporary_, OpenMode::replace, "Name a file on a disk with room.")},
      buffer_(header_bytes, '\0') {}

SampleFileWriter::~SampleFileWriter() {
    if (!is_complete_) {
        ::unlink(temporary_.c_str());
    }
}

void SampleFileWriter::add(std::span<const std::int32_t> ids, std::span<const std::uint8_t> counts) {
    constexpr std::size_t max_bytes = std::size_t{1} << 20;
    ZG_EXPECTS(ids.size() >= 2 && counts.size() == ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
        ZG_EXPECTS(ids[i] >= 0);
        append(buffer_, static_cast<std::uint32_t>(ids[i]) | (counts[i] != 0 ? SampleFile::counts_bit : 0));
        num_counted_ += counts[i] != 0 ? 1 : 0;
    }
    begins_.push_back(begins_.back() + std::ssize(ids));
    if (buffer_.size() >= max_bytes) {
        write();
    }
}

void SampleFileWriter::write() {
    write_output(file_.get(), temporary_, buffer_);
    buffer_.clear();
}

SampleFileHeader SampleFileWriter::complete(SampleFileHeader made_from) {
    ZG_EXPECTS(is_known(made_from.version) && (!made_from.has_pairs() || begins_.size() % 2 == 1));
    std::memcpy(made_from.magic, SampleFileHeader::magic_bytes.data(), sizeof made_from.magic);
    made_from.num_samples = std::ssize(begins_) - 1;
    made_from.num_tokens = begins_.back();
    made_from.num_counted = num_counted_;
    for (const std::int64_t begin : begins_) {
        append(buffer_, begin);
    }
    write();
    if (::lseek(file_.get(), 0, SEEK_SET) != 0) {
        storage::throw_io_error("write", temporary_, errno);
    }
    append(buffer_, made_from);
    write();
    storage::flush_file(file_.get(), temporary_);
    storage::rename_path(temporary_, path_);
    is_complete_ = true;
    return made_from;
}

}  // namespace ziggurat::data
