/// Files of samples: conversations or answers as tokens, with a mask of the counted tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/stop_check.hpp"
#include "data/mapped_file.hpp"
#include "data/tokenize/temporary_file.hpp"
#include "spec/run_spec.hpp"

struct XXH3_state_s;

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

/// Last bytes of a sample file that the program keeps for itself; other files end with their begins.
struct SampleSeal {
    std::uint64_t key = 0;   ///< hash of everything that the samples were made from, as in the file's name
    std::uint64_t hash = 0;  ///< XXH3-64 of header and key, seeded with XXH3-64 of all bytes between them

    bool operator==(const SampleSeal&) const = default;
};
static_assert(sizeof(SampleSeal) == 16);

/// Hash of the tokens and begins of a sample file, in parts.
class SampleBodyHash {
  public:
    SampleBodyHash();

    void add(std::string_view bytes);
    /// Returns the seal of a file with these bytes between its header and its seal.
    SampleSeal seal(const SampleFileHeader& header, std::uint64_t key) const;

  private:
    struct Deleter {
        void operator()(XXH3_state_s* state) const noexcept;
    };
    std::unique_ptr<XXH3_state_s, Deleter> state_;
};

/// A sample file that is mapped to memory. Its sizes and begins were checked when it was opened.
class SampleFile {
  public:
    static constexpr std::uint32_t counts_bit = std::uint32_t{1} << 31;

    /// Errors: Error{deck} that begins with `key` if the file is not a sample file, or is damaged
    SampleFile(const std::string& path, const std::string& key) : SampleFile{MappedFile{path, key}, key} {}
    SampleFile(MappedFile file, const std::string& key);

    const SampleFileHeader& header() const noexcept { return header_; }
    /// Returns the seal in the file, which may be wrong; empty if the file has no seal.
    std::optional<SampleSeal> seal() const;
    /// Returns the seal that this content has with a key.
    ///
    /// Errors: Stopped
    SampleSeal computed_seal(std::uint64_t key, const StopCheck& stop = {}) const;
    const MappedFile& file() const noexcept { return file_; }
    std::int64_t num_samples() const noexcept { return header_.num_samples; }
    std::int64_t num_tokens() const noexcept { return header_.num_tokens; }

    /// Returns the position of the first token of a sample; num_tokens() for sample num_samples().
    std::int64_t begin_of(std::int64_t sample) const;

    /// Reads the ids of tokens [begin, begin + ids.size()), and 1 for each that counts in the loss.
    ///
    /// \param counts  of the length of `ids`
    void read(std::int64_t begin, std::span<std::int32_t> ids, std::span<std::uint8_t> counts) const;

    /// Returns tokens [begin, end) as the file has them: ids with counts_bit.
    std::span<const std::uint32_t> stored(std::int64_t begin, std::int64_t end) const;
    /// Returns the number of tokens in [begin, end) whose flag is set.
    std::int64_t count_flags(std::int64_t begin, std::int64_t end) const;
    /// Returns true if count_flags() is not 0; fast if the last tokens have flags.
    bool has_flags(std::int64_t begin, std::int64_t end) const;

    /// Throws Error{deck} that begins with `key` and names the file.
    [[noreturn]] void reject(const std::string& key, const std::string& reason) const;

  private:
    void expect_header(const std::string& key) const;
    void expect_begins(const std::string& key) const;

    MappedFile file_;
    SampleFileHeader header_;
};

/// Returns true if the content begins like a sample file.
bool is_sample_file(std::span<const std::byte> content);

/// Writes a sample file, which has its name as soon as it is complete.
class SampleFileWriter {
  public:
    /// \param file  of its owner; an incomplete file is removed by it
    explicit SampleFileWriter(TemporaryFile& file);

    /// Appends a sample.
    ///
    /// \param ids     two tokens or more, all >= 0
    /// \param counts  of the same length; 1 if the token counts in the loss
    /// Errors: UnwritableFile
    void add(std::span<const std::int32_t> ids, std::span<const std::uint8_t> counts);

    /// Writes the header, flushes the file to the disk and gives it its name. Returns the header.
    ///
    /// \param made_from  version, hashes and loss_on; the other members are set here. Pairs have an even number
    ///                   of samples.
    /// \param key        of a file that the program keeps for itself, which gets a seal
    /// Errors: UnwritableFile
    SampleFileHeader complete(SampleFileHeader made_from, std::optional<std::uint64_t> key = {});

  private:
    void write();

    TemporaryFile& file_;
    std::string buffer_;
    SampleBodyHash body_;
    std::vector<std::int64_t> begins_{0};
    std::int64_t num_counted_ = 0;
};

}  // namespace ziggurat::data
