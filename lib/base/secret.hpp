/// Environment variables whose values nobody else should read.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ziggurat {

/// A variable that is_secret() by its name, and its value.
struct Secret {
    std::string name;
    std::string value;  ///< not empty

    bool operator==(const Secret&) const = default;
};

/// True for names such as SLURM_JWT, HF_TOKEN or DB_PASSWORD: one of the words that name secrets is in it,
/// whatever its letters' case. TOKENIZER_DIR, TRAIN_TOKENS and AUTHOR are none.
bool is_secret(std::string_view variable) noexcept;

/// The variable as a deck asks for it: `${env:NAME}`.
std::string as_variable(std::string_view name);

/// `text` with as_variable() in the place of each value of a secret, the longest first.
std::string without_secrets(std::string_view text, std::span<const Secret> secrets);

/// `NAME=value` as it is, or `NAME=***` for a secret.
std::string without_secret(std::string_view variable);

}  // namespace ziggurat
