/// Composition of files and the command line into one tree: includes, overrides, variables.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/text/secret.hpp"
#include "deck/compose/environment.hpp"
#include "deck/document/document.hpp"
#include "deck/schema/schema.hpp"

namespace ziggurat::deck {

/// Reads the file at `path`. If it is missing, not a file, unreadable or too long, returns nullopt.
///
/// In that case an error is added at `at`. `what` names the file in it: "deck", "included deck".
std::optional<std::string> read_file(const std::string& path,
                                     const char* what,
                                     const SourceLocation& at,
                                     Diagnostics& found);

/// Composes the tree of a deck with all its includes. The including file takes precedence, key by key.
///
/// Maps of keys are merged; all other values are replaced. Included paths are relative to the folder of the
/// including file.
std::optional<Node> compose(const Schema& schema,
                            const std::string& text,
                            const std::string& file,
                            Diagnostics& found);

/// Applies overrides `path.to.key=value` in order; the last one wins.
///
/// List elements are written as `data.train[0].weight`.
void apply_overrides(const Schema& schema,
                     Node& root,
                     const std::vector<std::string>& overrides,
                     Diagnostics& found);

/// Substitutes variables in every scalar.
///
/// Returns the secrets of the environment that were used, by name.
///
/// Replaces `${name}` by the deck's variables, and `${env:NAME}` and `${env:NAME:-default}` by environment
/// variables; `$${` becomes `${`. Scalars that use a variable with is_secret() also get
/// Node::without_secrets.
std::vector<Secret> substitute_variables(Node& root, const Environment& environment, Diagnostics& found);

/// Parses the tree of a deck that a run has recorded, such as that of a checkpoint.
///
/// The deck must be self-contained: includes and environment variables are rejected without being read.
/// `${env:NAME}` of a secret is kept literally, as it was recorded.
std::optional<Node> compose_record(const Schema& schema,
                                   const std::string& text,
                                   const std::string& name,
                                   Diagnostics& found);

/// Replaces the deck's own variables in `text` and keeps environment variables for its next reader.
///
/// Defaults of the kept variables become their values in this environment. Returns nullopt if `text` uses no
/// environment variable. `root` is the tree of the deck, with its variables.
std::optional<std::string> keep_env_variables(const Node& root,
                                              const std::string& text,
                                              const Environment& environment);

}  // namespace ziggurat::deck
