/// Text of a file or pipe from start to end, decompressed if it is in gzip or zstd format.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/file_handle.hpp"
#include "base/stop_check.hpp"

namespace ziggurat::data {

/// Streaming decompressor. It keeps its state between calls, so input can be split at any byte.
class Unpacker {
  public:
    virtual ~Unpacker() = default;

    /// Appends the decompressed bytes of `packed` to `text`.
    ///
    /// Errors: returns a sentence about corrupt bytes; otherwise an empty text
    virtual std::string unpack(std::string_view packed, std::string& text) = 0;
    /// True if the input so far may be complete.
    virtual bool is_complete() const noexcept = 0;
};

/// Source: RFC 1952; a file may have several consecutive members
std::unique_ptr<Unpacker> make_gzip_unpacker();
/// Source: RFC 8878; a file may have several frames, with windows of up to 2 GiB
std::unique_ptr<Unpacker> make_zstd_unpacker();

/// Owns the open file.
class TextStream {
  public:
    /// Opens a file, a pipe or a device, and waits for the first writer of a named pipe.
    ///
    /// \param stop  called while a pipe is empty, several times a second
    /// Errors: Error{deck} that names the path
    explicit TextStream(std::string path, StopCheck stop = {});
    ~TextStream();
    TextStream(const TextStream&) = delete;
    TextStream& operator=(const TextStream&) = delete;

    /// Returns the first bytes of the decompressed text, at least the given number if it has them.
    ///
    /// The next read() returns them again. Errors: those of read()
    std::string_view beginning(std::size_t min);

    /// Appends the next part of the text, of any length. Returns false at its end.
    ///
    /// Errors: Error{deck} if compressed bytes are corrupt or truncated, or the text itself is compressed
    ///         again; errors of the system
    bool read(std::string& text);

    const std::string& path() const noexcept { return path_; }
    bool is_packed() const noexcept { return unpacker_ != nullptr; }
    /// Number of bytes read from the file itself.
    std::int64_t file_bytes() const noexcept { return file_bytes_; }

  private:
    std::string read_file();
    void choose_unpacker(const std::string& first);
    bool unpack_next(std::string& text);

    void wait_for_input() const;

    std::string path_;
    StopCheck stop_;
    FileHandle file_;
    std::unique_ptr<Unpacker> unpacker_;
    std::string ahead_;  ///< text that beginning() has read
    std::int64_t file_bytes_ = 0;
    bool has_begun_ = false;
    bool has_ended_ = false;
};

/// Returns the whole decompressed text.
///
/// Errors: those of TextStream; Error{deck} if it has more than `max_bytes`
std::string read_text(const std::string& path, std::int64_t max_bytes);

}  // namespace ziggurat::data
