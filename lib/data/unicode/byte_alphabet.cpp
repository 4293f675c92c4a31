#include "data/unicode/byte_alphabet.hpp"

#include <array>
#include <cstdint>

#include "data/unicode/characters.hpp"

namespace ziggurat::data {
namespace {

constexpr std::uint32_t first_stand_in = 0x100;
constexpr std::size_t num_codes = first_stand_in + 68;

constexpr bool stands_for_itself(std::uint32_t byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
    std::array<std::uint32_t, 256> code_of_byte{};
    std::array<int, num_codes> byte_of_code{};  ///< -1: not a letter
};

constexpr Alphabet make_alphabet() {
    Alphabet alphabet;
    alphabet.byte_of_code.fill(-1);
    std::uint32_t stand_in = first_stand_in;
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        const std::uint32_t code = stands_for_itself(byte) ? byte : stand_in++;
        alphabet.code_of_byte[byte] = code;
        alphabet.byte_of_code[code] = static_cast<int>(byte);
    }
    return alphabet;
}

constexpr Alphabet alphabet = make_alphabet();

}  // namespace

std::string letter_of(unsigned char byte) {
    std::string letter;
    append_utf8(letter, alphabet.code_of_byte[byte]);
    return letter;
}

std::optional<std::string> spelled_bytes(std::string_view text) {
    std::string bytes;
    for (std::size_t at = 0; at < text.size();) {
        const auto character = character_at(text, at);
        const int byte = character.code < num_codes ? alphabet.byte_of_code[character.code] : -1;
        if (byte < 0) {
            return std::nullopt;
        }
        bytes += static_cast<char>(byte);
        at += character.bytes;
    }
    return bytes;
}

}  // namespace ziggurat::data
