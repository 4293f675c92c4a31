#include "base/secret.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace ziggurat {

bool is_secret(std::string_view variable) noexcept {
    // Open MPI's carries the names of its transports' keys; a KEY alone names many things that are none.
    constexpr std::array<std::string_view, 14> words{"TOKEN",         "SECRET",
                                                     "PASSWORD",      "PASSWD",
                                                     "PASSPHRASE",    "JWT",
                                                     "CREDENTIAL",    "API_KEY",
                                                     "APIKEY",        "AUTH",
                                                     "ACCESS_KEY",    "PRIVATE",
                                                     "TRANSPORT_KEY", "PRECONDITION_TRANSPORTS"};
    const auto is_letter = [](char a, char b) { return std::toupper(static_cast<unsigned char>(a)) == b; };
    return std::ranges::any_of(words, [&](std::string_view word) {
        return !std::ranges::search(variable, word, is_letter).empty();
    });
}

std::string without_secret(std::string_view variable) {
    const auto name = variable.substr(0, variable.find('='));
    return std::string{is_secret(name) ? name : variable} + (is_secret(name) ? "=***" : "");
}

}  // namespace ziggurat
