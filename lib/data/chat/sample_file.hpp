/// Files of samples: conversations or answers as tokens, with a mask of the counted tokens.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_handle.hpp"
#include "data/mapped_file.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::data {

/// Extension of sample files.
inline constexpr std::string_view sample_file_ending = ".samples";

/// First bytes of a sample file, little-endian; then come the tokens, then the begins of the samples.
///
/// A token is an uint32 that has its id in the lower 31 bits; the highest bit is set if the token counts in
/// the loss as a target. Begins are num_samples + 1 int64 numbers, in tokens; the last one is num_tokens.
///
/// In a file of pairs, samples 2 i and 2 i + 1 are the chosen and the rejected answer of pair i. Each begins
/// with the prompt, and only tokens of the answer count.
struct SampleFileHeader {
    static constexpr std::string_view magic_bytes{"ZGSAMPLE", 8};
    static constexpr std::int32_t conversations_version = 1;
    static constexpr std::int32_t pairs_version = 2;

    char magic[8] = {};
    std::int32_t version = conversations_version;
    std::int32_t loss_on = 0;  ///< spec::LossOn
    std::int64_t num_samples = 0;
    std::int64_t num_tokens = 0;
    std::int64_t num_counted = 0;      ///< tokens with the highest bit set
    std::uint64_t tokenizer_hash = 0;  ///< as TextTokenizer::hash()
    std::uint64_t template_hash = 0;   ///< XXH3-64 of the template's text; 0: no template was used
    std::uint64_t records_hash = 0;    ///< XXH3-64 of the records' text

    /// Returns true if the samples are pairs of answers.
    bool has_pairs() const noexcept { return version == pairs_version; }
    bool operator==(const SampleFileHeader&) const = default;
};
static_assert(sizeof(SampleFileHeader) == 64);

/// A sample file that is mapped to memory. Its structure was checked when it was opened.
class SampleFile {
  public:
    static constexpr std::uint32_t counts_bit = std::uint32_t{1} << 31;

    /// Errors: Error{deck} that begins with `key` if the file is not a sample file, or is damaged
    SampleFile(const std::string& path, const std::string& key);

    const SampleFileHeader& header() const noexcept { return header_; }
    const MappedFile& file() const noexcept { return file_; }
    std::int64_t num_samples() const noexcept { return header_.num_samples; }
    std::int64_t num_tokens() const noexcept { return header_.num_tokens; }

    /// Returns the position of the first token of a sample; num_tokens() for sample num_samples().
    std::int64_t begin_of(std::int64_t sample) const;

    /// Reads the ids of tokens [begin, begin + ids.size()), and 1 for each that counts in the loss.
    ///
    /// \param counts  of the length of `ids`
    void read(std::int64_t begin, std::span<std::int32_t> ids, std::span<std::uint8_t> counts) const;

  private:
    MappedFile file_;
    SampleFileHeader header_;
};

/// Returns true if the content begins like a sample file.
bool is_sample_file(std::span<const std::byte> content);

/// Writes a sample file under a temporary name, and renames it when it is complete.
///
/// A writer that ends early removes its temporary file.
class SampleFileWriter {
  public:
    /// \param path  name of the complete file
    /// Errors: Error{resource}
    explicit SampleFileWriter(std::string path);
    ~SampleFileWriter();
    SampleFileWriter(const SampleFileWriter&) = delete;
    SampleFileWriter& operator=(const SampleFileWriter&) = delete;

    /// Appends a sample.
    ///
    /// \param ids     two tokens or more, all >= 0
    /// \param counts  of the same length; 1 if the token counts in the loss
    /// Errors: Error{resource}
    void add(std::span<const std::int32_t> ids, std::span<const std::uint8_t> counts);

    /// Writes the header, flushes the file to the disk and renames it. Returns the header.
    ///
    /// \param made_from  version, hashes and loss_on; the other members are set here. Pairs have an even number
    ///                   of samples.
    /// Errors: Error{resource}
    SampleFileHeader complete(SampleFileHeader made_from);

  private:
    void write();

    std::string path_, temporary_;
    FileHandle file_;
    std::string buffer_;
    std::vector<std::int64_t> begins_{0};
    std::int64_t num_counted_ = 0;
    bool is_complete_ = false;
};

}  // namespace ziggurat::data
