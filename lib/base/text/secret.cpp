#include "base/text/secret.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace ziggurat {
namespace {

bool is_letter(char a, char b) {
    return std::toupper(static_cast<unsigned char>(a)) == b;
}

bool begins(std::string_view text, std::string_view term) {
    return text.size() >= term.size() && std::ranges::equal(text.substr(0, term.size()), term, is_letter);
}

/// True if the text that follows the keyword, up to the next '_', makes the name harmless.
///
/// Examples: TOKENIZER and TOKENS, AUTHOR and AUTHORS.
bool is_harmless(std::string_view term, std::string_view after) {
    const auto rest = after.substr(0, after.find('_'));
    const auto is = [&](std::string_view what) { return rest.size() == what.size() && begins(rest, what); };
    return (term == "TOKEN" && (begins(rest, "IZ") || is("S"))) ||
           (term == "AUTH" && (is("OR") || is("ORS")));
}

}  // namespace

bool is_secret(std::string_view variable) noexcept {
    // Variables of Open MPI contain the names of its transports' keys. KEY alone is not a keyword: most names
    // with it are harmless.
    constexpr std::array<std::string_view, 14> terms{"TOKEN",         "SECRET",
                                                     "PASSWORD",      "PASSWD",
                                                     "PASSPHRASE",    "JWT",
                                                     "CREDENTIAL",    "API_KEY",
                                                     "APIKEY",        "AUTH",
                                                     "ACCESS_KEY",    "PRIVATE",
                                                     "TRANSPORT_KEY", "PRECONDITION_TRANSPORTS"};
    for (std::size_t at = 0; at < variable.size(); ++at) {
        const auto here = variable.substr(at);
        const bool names_one = std::ranges::any_of(terms, [&](std::string_view term) {
            return begins(here, term) && !is_harmless(term, here.substr(term.size()));
        });
        if (names_one) {
            return true;
        }
    }
    return false;
}

std::string as_variable(std::string_view name) {
    return "${env:" + std::string{name} + "}";
}

std::string without_secrets(std::string_view text, std::span<const Secret> secrets) {
    if (secrets.empty()) {
        return std::string{text};
    }
    std::string out;
    while (!text.empty()) {
        const Secret* longest = nullptr;
        for (const Secret& secret : secrets) {
            const bool is_longer = longest == nullptr || secret.value.size() > longest->value.size();
            longest = is_longer && text.starts_with(secret.value) ? &secret : longest;
        }
        out += longest == nullptr ? std::string{text.front()} : as_variable(longest->name);
        text.remove_prefix(longest == nullptr ? 1 : longest->value.size());
    }
    return out;
}

std::string without_secret(std::string_view variable) {
    const auto name = variable.substr(0, variable.find('='));
    return std::string{is_secret(name) ? name : variable} + (is_secret(name) ? "=***" : "");
}

}  // namespace ziggurat
