/// Output file whose failed writes are tried again.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/file_handle.hpp"
#include "base/text/message.hpp"

namespace ziggurat::train {

/// Appends records to a file. What cannot be written, for instance to a full disk, is held back.
///
/// Each write first tries what is held back, up to a limit; records beyond it are lost and counted. A record
/// of which only a part was written is completed, so that a reader always sees whole records.
///
/// Collective: local
class RetriedOutput {
  public:
    /// Text for the user about a change between good and failing writes.
    struct Message {
        Severity severity = Severity::warning;
        std::string text;
    };

    /// Maximum size of what is held back.
    static constexpr std::size_t max_held_bytes = std::size_t{4} << 20;

    RetriedOutput() = default;
    /// \param path  for messages
    RetriedOutput(FileHandle file, std::string path);

    /// Continues in another file. What is held back is lost: it belongs to the file before.
    void replace(FileHandle file, std::string path);

    explicit operator bool() const noexcept { return static_cast<bool>(file_); }
    int descriptor() const noexcept { return file_.get(); }
    const std::string& path() const noexcept { return path_; }

    /// Writes a record. Returns a message at the first failure, and when all is written again.
    std::optional<Message> write(std::string_view record);

    /// Writes the last record of a process that ends. Any thread. Returns true if it was written.
    bool write_last(std::string_view record) noexcept;

    /// Returns a warning if records are still held back or lost, for the end of a run.
    std::optional<Message> rest() const;

  private:
    /// Tries to write what is held back. Returns 0, or the errno of the failed write.
    int flush();

    std::mutex mutex_;
    FileHandle file_;
    std::string path_;
    std::string held_;           ///< may begin with the rest of a record
    std::int64_t num_held_ = 0;  ///< records in held_
    std::int64_t num_late_ = 0;  ///< records of the current failure that were held back
    std::int64_t num_lost_ = 0;  ///< records of the current failure that were dropped
};

}  // namespace ziggurat::train
