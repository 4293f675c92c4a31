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

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// True between two words of a name: at `_` and other signs, and in `dbPass` before the capital.
bool is_word_end(std::string_view name, std::size_t at) {
    const auto is_small = [](char c) { return std::islower(static_cast<unsigned char>(c)) != 0; };
    const auto is_alnum = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
    const bool is_capital = std::isupper(static_cast<unsigned char>(name[at])) != 0;
    return !is_alnum(name[at]) || (at > 0 && is_small(name[at - 1]) && is_capital);
}

/// Removes the first word of `name` and returns it, without digits at its end.
std::string_view next_word(std::string_view& name) {
    std::size_t end = 1;
    while (end < name.size() && !is_word_end(name, end)) {
        ++end;
    }
    auto word = name.substr(0, end);
    name.remove_prefix(end);
    while (!word.empty() && is_digit(word.back())) {
        word.remove_suffix(1);
    }
    const bool has_sign = !word.empty() && std::isalnum(static_cast<unsigned char>(word.front())) == 0;
    return word.substr(has_sign ? 1 : 0);
}

/// True for names with a whole word for a secret, such as DB_PASS, GITHUB_PAT_2 and WANDB_KEY.
///
/// PWD alone is the shell's folder. KEY counts only as the last word: KEY_SIZE is harmless.
bool has_secret_word(std::string_view variable) {
    constexpr std::array<std::string_view, 10> words{"PASS",    "PWD",    "PW",      "PAT",    "COOKIE",
                                                     "COOKIES", "BEARER", "SSHPASS", "PGPASS", "DBPASS"};
    const auto is = [](std::string_view word, std::string_view what) {
        return word.size() == what.size() && begins(word, what);
    };
    if (is(variable, "PWD")) {
        return false;
    }
    std::string_view last;
    while (!variable.empty()) {
        const auto word = next_word(variable);
        if (std::ranges::any_of(words, [&](std::string_view what) { return is(word, what); })) {
            return true;
        }
        last = word.empty() ? last : word;
    }
    return is(last, "KEY");
}

}  // namespace

bool is_secret(std::string_view variable) noexcept {
    // Variables of Open MPI contain the names of its transports' keys. KEY is not among these keywords: most
    // names that contain it are harmless.
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
    return has_secret_word(variable);
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
