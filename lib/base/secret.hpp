/// Environment variables whose values nobody else should read.
#pragma once

#include <string>
#include <string_view>

namespace ziggurat {

/// True for names such as SLURM_JWT, HF_TOKEN or DB_PASSWORD: one of the words that name secrets is in it,
/// whatever its letters' case.
bool is_secret(std::string_view variable) noexcept;

/// `NAME=value` as it is, or `NAME=***` for a secret.
std::string without_secret(std::string_view variable);

}  // namespace ziggurat
