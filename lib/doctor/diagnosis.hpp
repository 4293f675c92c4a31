/// Diagnosis: the result of one check, its severity, and the remedy.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ziggurat::doctor {

enum class Health { ok, warning, error };

/// Scope of a diagnosis. merge() combines the diagnoses of ranks by scope.
enum class Scope {
    rank,  ///< one per rank
    node,  ///< one per node
    job,   ///< one for the whole job
};

struct Diagnosis {
    std::string check = {};  ///< `open files`
    /// Object of the check if there are several, for example a folder; else empty.
    std::string subject = {};
    Health health = Health::ok;
    std::string found = {};   ///< finding, with numbers, without a full stop
    std::string remedy = {};  ///< one sentence; empty if the check passed
    Scope scope = Scope::rank;

    bool operator==(const Diagnosis&) const = default;
};

using Diagnoses = std::vector<Diagnosis>;

/// Appends `more` to `all`.
void append(Diagnoses& all, const Diagnoses& more);

Diagnosis ok_diagnosis(std::string check, std::string found, Scope scope = Scope::node);
Diagnosis warning(std::string check, std::string found, std::string remedy, Scope scope = Scope::node);
Diagnosis error(std::string check, std::string found, std::string remedy, Scope scope = Scope::node);

/// `ok`, `warning` or `error`.
std::string_view name_of(Health health);

/// Exit code: 0 if there is no error, else the code for insufficient resources.
int exit_code(const Diagnoses& all);

/// Returns one line per diagnosis: `warning  open files     at most 64 may be open. Raise it.`
/// The lines contain no terminal control sequences.
std::string as_text(const Diagnoses& all);

/// Returns a JSON object: `checks`, a list of {check, state, found, remedy}, and the counts of errors
/// and warnings.
std::string as_json(const Diagnoses& all);

/// Serializes diagnoses to send them to another rank; unpack() is the inverse.
std::string pack(const Diagnoses& all);
Diagnoses unpack(const std::string& text);

}  // namespace ziggurat::doctor
