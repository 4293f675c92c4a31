/// Small token files for tests, written byte by byte.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace ziggurat::test {

/// A temporary folder.
class ScratchFolder {
  public:
    ScratchFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "ziggurat-test-XXXXXX").string();
        path_ = mkdtemp(name.data());
    }
    ~ScratchFolder() { std::filesystem::remove_all(path_); }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    std::string operator/(const std::string& name) const { return (path_ / name).string(); }

    /// Writes a file of these bytes and returns its path.
    std::string write(const std::string& name, const std::string& bytes) const {
        std::ofstream{path_ / name, std::ios::binary} << bytes;
        return *this / name;
    }

  private:
    std::filesystem::path path_;
};

/// Returns all bytes of a file; empty if it does not exist.
inline std::string contents_of(const std::string& path) {
    std::ostringstream contents;
    contents << std::ifstream{path, std::ios::binary}.rdbuf();
    return std::move(contents).str();
}

/// Returns the little-endian bytes of a number.
template <class T>
std::string little(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

/// Returns the bytes of hexadecimal digits.
inline std::string from_hex(const std::string& digits) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
        bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
    }
    return bytes;
}

/// Returns an llm.c token file.
template <class Stored>
std::string llmc_file(std::int32_t magic, std::int32_t version, const std::vector<Stored>& tokens) {
    std::string bytes = little(magic) + little(version) + little(static_cast<std::int32_t>(tokens.size()));
    bytes.resize(1024, '\0');
    for (const auto token : tokens) {
        bytes += little(token);
    }
    return bytes;
}

/// Returns a Megatron index: documents are lists of sequence lengths.
inline std::string megatron_index(std::uint8_t code,
                                  std::int64_t itemsize,
                                  const std::vector<std::vector<std::int32_t>>& documents) {
    std::string lengths;
    std::string offsets;
    std::string ends = little(std::int64_t{0});
    std::int64_t sequences = 0;
    std::int64_t offset = 0;
    for (const auto& document : documents) {
        for (const auto length : document) {
            lengths += little(length);
            offsets += little(offset);
            offset += length * itemsize;
            ++sequences;
        }
        ends += little(sequences);
    }
    std::string magic = "MMIDIDX";
    magic.resize(9, '\0');
    return magic + little(std::uint64_t{1}) + little(code) + little(sequences) +
           little(static_cast<std::int64_t>(documents.size() + 1)) + lengths + offsets + ends;
}

/// Returns the message of the Error{deck} that `action` throws; empty if it throws no such error.
template <class Action>
std::string deck_error_of(const Action& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.kind() == ErrorKind::deck ? error.what() : "";
    }
    return "";
}

}  // namespace ziggurat::test
