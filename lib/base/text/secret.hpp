/// Environment variables whose values must not be printed.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ziggurat {

/// Variable whose name satisfies is_secret(), and its value.
struct Secret {
    std::string name;
    std::string value;  ///< not empty

    bool operator==(const Secret&) const = default;
};

/// True for names such as SLURM_JWT, HF_TOKEN or DB_PASSWORD, which contain a keyword of secrets.
///
/// Short keywords (PASS, PWD, PW, PAT, COOKIE, BEARER, and KEY at the end) must be a whole word of the name.
/// Case is ignored. Returns false for TOKENIZER_DIR, TRAIN_TOKENS, AUTHOR, PWD and KEY_SIZE.
bool is_secret(std::string_view variable) noexcept;

/// Returns the reference to a variable in a deck: `${env:NAME}`.
std::string as_variable(std::string_view name);

/// Returns `text` with each value of a secret replaced by as_variable(), longest values first.
std::string without_secrets(std::string_view text, std::span<const Secret> secrets);

/// Returns `NAME=value` unchanged, or `NAME=***` for a secret.
std::string without_secret(std::string_view variable);

}  // namespace ziggurat
