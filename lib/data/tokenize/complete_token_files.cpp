#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/contract.hpp"
#include "data/llmc_source.hpp"
#include "data/megatron_source.hpp"
#include "data/tokenize/output_names_impl.hpp"
#include "data/tokenize/token_output.hpp"
#include "storage/directory.hpp"
#include "storage/io_error.hpp"

namespace ziggurat::data {
namespace {

bool exists(const std::string& path) {
    return ::access(path.c_str(), F_OK) == 0;
}

template <class T>
void add(std::string& bytes, T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void write_llmc_header(const std::string& path, TokenType type, std::int64_t tokens) {
    const auto kind = type == TokenType::uint16 ? llmc_of_16_bits : llmc_of_32_bits;
    std::string header;
    add(header, kind.magic);
    add(header, kind.version);
    add(header, static_cast<std::uint32_t>(tokens));
    header.resize(llmc_header_bytes, '\0');
    const FileHandle file{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
    if (!file) {
        storage::throw_io_error("write", path, errno);
    }
    write_output(file.get(), path, header);
    storage::flush_file(file.get(), path);
}

std::uint8_t megatron_code(TokenType type) {
    for (std::uint8_t code = 1; code <= 8; ++code) {
        if (megatron_type(code) == type) {
            return code;
        }
    }
    ZG_EXPECTS(!"a type that the format has");
    return 0;
}

/// Writes a file in pieces, so that an index of any length needs little memory.
class PieceWriter {
  public:
    explicit PieceWriter(const std::string& path)
        : path_{path}, file_{open_for_writing(path, OpenMode::replace, "Name files on a disk with room.")} {}

    template <class T>
    void add(T value) {
        data::add(bytes_, value);
        if (bytes_.size() >= max_bytes) {
            write();
        }
    }
    void add(std::string_view text) { bytes_ += text; }
    void finish() {
        write();
        storage::flush_file(file_.get(), path_);
    }

  private:
    static constexpr std::size_t max_bytes = std::size_t{1} << 20;

    void write() {
        write_output(file_.get(), path_, bytes_);
        bytes_.clear();
    }

    std::string path_;
    FileHandle file_;
    std::string bytes_;
};

/// Calls `use` with the number of tokens of each document.
template <class Use>
void each_length(const std::string& path, std::int64_t documents, const Use& use) {
    constexpr std::int64_t max_at_once = 1 << 16;
    const auto file = open_for_reading(path);
    std::vector<std::int32_t> lengths;
    for (std::int64_t done = 0; done < documents; done += std::ssize(lengths)) {
        lengths.resize(std::min(max_at_once, documents - done));
        const auto bytes = lengths.size() * sizeof lengths[0];
        const auto offset = done * static_cast<std::int64_t>(sizeof lengths[0]);
        for (std::size_t have = 0; have < bytes;) {
            const auto read = ::pread(file.get(), reinterpret_cast<char*>(lengths.data()) + have,
                                      bytes - have, offset + static_cast<std::int64_t>(have));
            if (read < 0 && errno == EINTR) {
                continue;
            }
            if (read <= 0) {
                storage::throw_io_error("read", path, read < 0 ? errno : EIO);
            }
            have += static_cast<std::size_t>(read);
        }
        std::ranges::for_each(lengths, use);
    }
}

void write_megatron_index(const std::string& path,
                          const std::string& lengths_path,
                          TokenType type,
                          std::int64_t documents) {
    PieceWriter index{path};
    index.add(megatron_magic);
    index.add(megatron_version);
    index.add(megatron_code(type));
    index.add(static_cast<std::uint64_t>(documents));
    index.add(static_cast<std::uint64_t>(documents + 1));
    each_length(lengths_path, documents, [&](std::int32_t length) { index.add(length); });
    std::int64_t begin_bytes = 0;
    each_length(lengths_path, documents, [&](std::int32_t length) {
        index.add(begin_bytes);
        begin_bytes += length * bytes_of(type);
    });
    for (std::int64_t document = 0; document <= documents; ++document) {
        index.add(document);
    }
    index.finish();
}

void take_name(const std::string& path) {
    if (exists(path + unfinished_ending)) {
        storage::rename_path(path + unfinished_ending, path);
    }
}

}  // namespace

void complete_token_files(const std::string& name, TokenLayout layout, WrittenTokens written) {
    const auto tokens_path = name + bin_ending;
    const auto lengths_path = name + lengths_ending;
    const bool is_megatron = layout.format == spec::TokenFormat::megatron;
    if (!is_megatron && exists(tokens_path + unfinished_ending)) {
        write_llmc_header(tokens_path + unfinished_ending, layout.type, written.tokens);
    }
    if (is_megatron && exists(lengths_path)) {
        write_megatron_index(name + index_ending + unfinished_ending, lengths_path, layout.type,
                             written.documents);
    }
    take_name(tokens_path);
    if (is_megatron) {
        take_name(name + index_ending);
    }
    const auto folder = std::filesystem::path{name}.parent_path();
    storage::flush_directory(folder.empty() ? "." : folder.string());
    if (is_megatron) {
        ::unlink(lengths_path.c_str());
    }
}

}  // namespace ziggurat::data
