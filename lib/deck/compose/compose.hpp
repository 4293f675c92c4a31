/// Composition of files and the command line into one tree: includes, overrides, variables.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/secret.hpp"
#include "deck/compose/environment.hpp"
#include "deck/document/document.hpp"
#include "deck/schema/schema.hpp"

namespace ziggurat::deck {

/// The text of the file at `path`; nothing, with a complaint at `at`, when it is missing, not a file, not
/// readable or too long. `what` names it in the complaint: "deck", "included deck".
std::optional<std::string> read_file(const std::string& path,
                                     const char* what,
                                     const SourceLocation& at,
                                     Diagnostics& found);

/// The tree of a deck with everything that it includes; the file that includes wins, key by key: maps of keys
/// merge, anything else replaces.
/// Included paths are relative to the folder of the file that names them.
std::optional<Node> compose(const Schema& schema,
                            const std::string& text,
                            const std::string& file,
                            Diagnostics& found);

/// Applies `path.to.key=value` texts in their order; the last wins. List elements are `data.train[0].weight`.
void apply_overrides(const Schema& schema,
                     Node& root,
                     const std::vector<std::string>& overrides,
                     Diagnostics& found);

/// Replaces `${name}` by the deck's variables and `${env:NAME}`, `${env:NAME:-default}` by the environment,
/// in every scalar; `$${` stays as `${`. Where variables that is_secret() are asked for, scalars also get
/// their Node::without_secrets. Returns these secrets, as far as the environment has them, by name.
std::vector<Secret> substitute_variables(Node& root, const Environment& environment, Diagnostics& found);

/// The tree of a deck that a run has recorded, such as that of a checkpoint. It is whole: one that includes
/// files or asks for the environment is refused, and neither is looked at. `${env:NAME}` of a secret stays as
/// it is: that is what was recorded.
std::optional<Node> compose_record(const Schema& schema,
                                   const std::string& text,
                                   const std::string& name,
                                   Diagnostics& found);

/// `text` of the deck `root` with the deck's variables replaced, and those of the environment left to its
/// next reader, with the values of this environment as their defaults. Nothing where `text` has none of them.
std::optional<std::string> leave_environment(const Node& root,
                                             const std::string& text,
                                             const Environment& environment);

}  // namespace ziggurat::deck
