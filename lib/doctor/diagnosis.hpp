/// Diagnosis: what one check has found, how bad it is, and what to do about it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ziggurat::doctor {

enum class Health { ok, warning, error };

/// Scope of a diagnosis, by which those of several ranks are put together.
enum class Scope {
    rank,  ///< each rank has its own
    node,  ///< one for the ranks of a node
    job,   ///< one for all of them
};

struct Diagnosis {
    std::string check = {};    ///< `open files`
    std::string subject = {};  ///< what of several was checked, a folder for instance; empty: there is one
    Health health = Health::ok;
    std::string found = {};   ///< with numbers, without a full stop
    std::string remedy = {};  ///< a sentence; empty where all is well
    Scope scope = Scope::rank;

    bool operator==(const Diagnosis&) const = default;
};

using Diagnoses = std::vector<Diagnosis>;

/// `more` after `all`.
void append(Diagnoses& all, const Diagnoses& more);

Diagnosis well(std::string check, std::string found, Scope scope = Scope::node);
Diagnosis warning(std::string check, std::string found, std::string remedy, Scope scope = Scope::node);
Diagnosis error(std::string check, std::string found, std::string remedy, Scope scope = Scope::node);

/// `ok`, `warning` or `error`.
std::string_view name_of(Health health);

/// 0 where nothing is worse than a warning, else that of a lack of resources.
int exit_code(const Diagnoses& all);

/// A line of each: `warning  open files     at most 64 may be open. Raise it.` Nothing in it steers a
/// terminal.
std::string as_text(const Diagnoses& all);

/// One object: `checks`, a list of {check, state, found, remedy}, and how many errors and warnings.
std::string as_json(const Diagnoses& all);

/// For another rank, and back.
std::string pack(const Diagnoses& all);
Diagnoses unpack(const std::string& text);

}  // namespace ziggurat::doctor
