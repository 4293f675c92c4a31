#include "data/tokenize/token_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "data/llmc_source.hpp"
#include "data/tokenize/output_names_impl.hpp"
#include "storage/directory.hpp"
#include "storage/io_error.hpp"

namespace ziggurat::data {
namespace {

/// Maximum number of tokens that the header of llm.c can count.
constexpr std::int64_t max_llmc_tokens = std::numeric_limits<std::uint32_t>::max();

/// Opens a file, truncates it to its first `bytes`, and appends from there.
FileHandle open_at(const std::string& path, std::int64_t bytes) {
    FileHandle file{::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666)};
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) {
        storage::throw_io_error("write", path, errno);
    }
    if (status.st_size < bytes) {
        throw Error{
            ErrorKind::deck,
            fmt::format("cannot resume '{}' (it has {} bytes, but its journal records {}). Remove the "
                        "journal to start from scratch.",
                        printable(path), status.st_size, bytes)};
    }
    if (::ftruncate(file.get(), bytes) != 0 || ::lseek(file.get(), bytes, SEEK_SET) != bytes) {
        storage::throw_io_error("write", path, errno);
    }
    return file;
}

}  // namespace

void write_output(int file, const std::string& path, std::string_view bytes) {
    int problem = storage::planned_fault(path, 0, std::ssize(bytes));
    if (problem == 0) {
        problem = write_all(file, bytes);
    }
    if (problem != 0) {
        storage::throw_io_error("write", path, problem);
    }
}

TokenLayout layout_for(spec::TokenFormat format, std::int64_t vocab_size) noexcept {
    constexpr std::int64_t max_of_16_bits = 65536;
    const auto wide = format == spec::TokenFormat::llmc ? TokenType::uint32 : TokenType::int32;
    return {format, vocab_size <= max_of_16_bits ? TokenType::uint16 : wide};
}

void pack(std::span<const std::int32_t> ids, TokenType type, std::string& bytes) {
    if (type != TokenType::uint16) {
        bytes.append(reinterpret_cast<const char*>(ids.data()), ids.size_bytes());
        return;
    }
    const auto begin = bytes.size();
    bytes.resize(begin + 2 * ids.size());
    char* to = bytes.data() + begin;
    for (const auto id : ids) {
        *to++ = static_cast<char>(id);
        *to++ = static_cast<char>(id >> 8);
    }
}

std::vector<std::string> token_paths(const std::string& name, spec::TokenFormat format) {
    std::vector<std::string> paths{name + bin_ending};
    if (format == spec::TokenFormat::megatron) {
        paths.push_back(name + index_ending);
    }
    return paths;
}

TokenOutput::TokenOutput(std::string name,
                         TokenLayout layout,
                         WrittenTokens written,
                         std::uint64_t recorded,
                         const StopCheck& stop)
    : name_{std::move(name)},
      layout_{layout},
      written_{written},
      has_hash_{written == WrittenTokens{} || recorded != 0} {
    const auto header = layout_.format == spec::TokenFormat::llmc ? llmc_header_bytes : 0;
    const auto path = name_ + bin_ending + unfinished_ending;
    if (written_ == WrittenTokens{}) {
        ::unlink(path.c_str());
        tokens_ = open_at(path, 0);
        write_output(tokens_.get(), path, std::string(header, '\0'));
    } else {
        tokens_ = open_at(path, header + written_.tokens * bytes_of(layout_.type));
    }
    if (layout_.format == spec::TokenFormat::megatron) {
        const auto begun = written_.documents * static_cast<std::int64_t>(sizeof(std::int32_t));
        lengths_ = open_at(name_ + lengths_ending, begun);
    }
    if (auto kept = recorded != 0 ? hash_of_written(name_, layout_, written_, stop) : std::nullopt) {
        expect_written(*kept, recorded, name_);
        hash_ = std::move(*kept);
    }
}

void TokenOutput::append(std::string_view packed,
                         std::span<const std::int32_t> lengths,
                         UnknownText unknown) {
    const auto tokens = std::ssize(packed) / bytes_of(layout_.type);
    if (layout_.format == spec::TokenFormat::llmc && tokens > max_llmc_tokens - written_.tokens) {
        throw Error{
            ErrorKind::deck,
            fmt::format("'{}' would have more than {} tokens, which llm.c's format cannot count. Write "
                        "several files, or use --format megatron.",
                        printable(name_), max_llmc_tokens)};
    }
    write_output(tokens_.get(), name_ + bin_ending + unfinished_ending, packed);
    hash_.add_tokens(packed);
    if (lengths_) {
        const std::string_view bytes{reinterpret_cast<const char*>(lengths.data()), lengths.size_bytes()};
        write_output(lengths_.get(), name_ + lengths_ending, bytes);
        hash_.add_lengths(bytes);
    }
    written_.tokens += tokens;
    written_.documents += std::ssize(lengths);
    written_.unknown += unknown;
}

void TokenOutput::flush() {
    storage::flush_file(tokens_.get(), name_ + bin_ending + unfinished_ending);
    if (lengths_) {
        storage::flush_file(lengths_.get(), name_ + lengths_ending);
    }
}

}  // namespace ziggurat::data
