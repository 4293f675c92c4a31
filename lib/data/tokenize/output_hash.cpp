#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "base/path_exists.hpp"
#include "base/text/printable.hpp"
#include "data/llmc_source.hpp"
#include "data/mapped_file.hpp"
#include "data/tokenize/output_names_impl.hpp"
#include "data/tokenize/token_output.hpp"

namespace ziggurat::data {
namespace {

[[noreturn]] void refuse(const std::string& path, const char* reason) {
    throw Error{ErrorKind::deck,
                fmt::format("cannot resume '{}' ({}). Remove the journal to start from scratch.",
                            printable(path), reason)};
}

/// Calls `add` with the parts of bytes [begin, begin + count) of a file.
template <class Add>
void for_each_part(
    const std::string& path, std::int64_t begin, std::int64_t count, const StopCheck& stop, const Add& add) {
    constexpr std::size_t bytes_between_checks = std::size_t{16} << 20;
    if (count == 0) {
        return;
    }
    const MappedFile file{path, path};
    if (file.bytes() - begin < count) {
        refuse(path, "it is shorter than its journal records");
    }
    const auto bytes = file.content().subspan(begin, count);
    for (std::size_t at = 0; at < bytes.size(); at += bytes_between_checks) {
        check(stop);
        const auto part = bytes.subspan(at, std::min(bytes_between_checks, bytes.size() - at));
        add(std::string_view{reinterpret_cast<const char*>(part.data()), part.size()});
    }
}

}  // namespace

OutputHash::OutputHash()
    : tokens_{XXH3_createState(), XXH3_freeState}, lengths_{XXH3_createState(), XXH3_freeState} {
    XXH3_64bits_reset(tokens_.get());
    XXH3_64bits_reset(lengths_.get());
}

void OutputHash::add_tokens(std::string_view packed) {
    XXH3_64bits_update(tokens_.get(), packed.data(), packed.size());
}

void OutputHash::add_lengths(std::string_view lengths) {
    XXH3_64bits_update(lengths_.get(), lengths.data(), lengths.size());
}

std::uint64_t OutputHash::value() const {
    const std::array<std::uint64_t, 2> both{XXH3_64bits_digest(tokens_.get()),
                                            XXH3_64bits_digest(lengths_.get())};
    return std::max<std::uint64_t>(XXH3_64bits(both.data(), sizeof both), 1);
}

std::optional<OutputHash> hash_of_written(const std::string& name,
                                          TokenLayout layout,
                                          const WrittenTokens& written,
                                          const StopCheck& stop) {
    const bool is_megatron = layout.format == spec::TokenFormat::megatron;
    const auto tokens = name + bin_ending + unfinished_ending;
    const auto lengths = name + lengths_ending;
    if (!path_exists(tokens) || (is_megatron && !path_exists(lengths))) {
        return std::nullopt;
    }
    OutputHash hash;
    for_each_part(tokens, is_megatron ? 0 : llmc_header_bytes, written.tokens * bytes_of(layout.type), stop,
                  [&](std::string_view part) { hash.add_tokens(part); });
    if (is_megatron) {
        for_each_part(lengths, 0, written.documents * static_cast<std::int64_t>(sizeof(std::int32_t)), stop,
                      [&](std::string_view part) { hash.add_lengths(part); });
    }
    return hash;
}

void expect_written(const OutputHash& hash, std::uint64_t recorded, const std::string& name) {
    if (recorded != 0 && hash.value() != recorded) {
        refuse(name + bin_ending + unfinished_ending,
               "its tokens or the lengths of its documents are not those that its journal records");
    }
}

}  // namespace ziggurat::data
