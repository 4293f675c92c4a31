#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "deck/compose/compose.hpp"
#include "deck/messages/nearest.hpp"
#include "deck/values/quantities.hpp"

namespace ziggurat::deck {
namespace {

constexpr std::size_t deepest_chain = 32;

/// A text after substitution, and the same text with some variables kept, for use in a deck.
struct Expansion {
    std::string text = {};
    std::string with_variables = {};
    bool has_variables = false;  ///< true if a variable was kept

    void operator+=(const Expansion& more) {
        text += more.text;
        with_variables += more.with_variables;
        has_variables = has_variables || more.has_variables;
    }
};

/// Environment variables that Expansion::with_variables keeps.
enum class KeptVariables { all, secrets };

/// Substitutes variables in texts; expands each variable once.
class Substitution {
  public:
    Substitution(const Node* variables,
                 const Environment& environment,
                 KeptVariables left,
                 Diagnostics& found)
        : variables_{variables}, environment_{environment}, left_{left}, found_{found} {}

    Expansion expanded(const std::string& text) { return expanded(text, {}); }

    void tree(Node& node) {
        if (node.kind == NodeKind::scalar && node.text.find("${") != std::string::npos) {
            const std::size_t errors = found_.errors();
            auto made = expanded(node.text, node.at);
            node.text = std::move(made.text);
            node.without_secrets = made.has_variables ? std::move(made.with_variables) : std::string{};
            node.is_failed = found_.errors() > errors || is_broken_;
            is_broken_ = false;
        }
        for (Node& item : node.items) {
            tree(item);
        }
        for (MapEntry& entry : node.entries) {
            tree(entry.value);
        }
    }

    /// Returns true if a value has used the variable.
    bool is_used(const std::string& name) const { return used_.contains(name); }

    /// Returns the secrets that were used.
    std::vector<Secret> secrets() const {
        std::vector<Secret> all;
        for (const auto& [name, value] : secrets_) {
            all.push_back({name, value});
        }
        return all;
    }

  private:
    Expansion expanded(const std::string& text, const SourceLocation& at) {
        Expansion out;
        for (std::size_t i = 0; i < text.size();) {
            if (text.compare(i, 3, "$${") == 0) {
                out += {"${", "$${"};
                i += 3;
            } else if (text.compare(i, 2, "${") == 0) {
                const std::size_t end = text.find('}', i);
                if (end == std::string::npos) {
                    report_finding(at, "'${' without '}'", "a variable is ${name}",
                                   "Close it, or write $${ for the text itself.");
                    return out;
                }
                out += variable(text.substr(i + 2, end - i - 2), at);
                i = end + 1;
            } else {
                out.text += text[i];
                out.with_variables += text[i++];
            }
            if (out.text.size() > Limits::scalar_bytes) {
                break;
            }
        }
        total_ += out.text.size();
        if (out.text.size() > Limits::scalar_bytes || total_ > Limits::expanded_bytes) {
            report_finding(at,
                           fmt::format("a value of more than {} KiB, or {} KiB in all",
                                       Limits::scalar_bytes / 1024, Limits::expanded_bytes / 1024),
                           "variables made it grow", "Shorten them.");
            return {};
        }
        return out;
    }

    Expansion variable(const std::string& name, const SourceLocation& at) {
        constexpr std::string_view prefix = "env:";
        if (name.starts_with(prefix)) {
            return environment_variable(name.substr(prefix.size()), at);
        }
        used_.insert(name);
        const auto known = values_.find(name);
        if (known != values_.end()) {
            return known->second;
        }
        const Node* node = variables_ == nullptr ? nullptr : variables_->find(name);
        if (node == nullptr) {
            unknown(name, at);
            return {};
        }
        if (node->kind != NodeKind::scalar) {
            is_broken_ = true;  // reported once, at the variable
            return {};
        }
        if (std::find(open_.begin(), open_.end(), name) != open_.end() || open_.size() > deepest_chain) {
            report_finding(node->at, fmt::format("the variable {} contains itself", in_quotes(name)),
                           "directly or through a long chain of others", "Remove one of the references.");
            return values_[name] = {};
        }
        open_.push_back(name);
        auto value = expanded(node->text, node->at);
        open_.pop_back();
        return values_[name] = std::move(value);
    }

    Expansion environment_variable(const std::string& text, const SourceLocation& at) {
        const std::size_t cut = text.find(":-");
        const std::string name = text.substr(0, cut);
        const auto value = environment_(name);
        const bool is_set = value && !value->empty();
        Diagnostics unused;
        if (is_set && !is_plain_text(*value, {name}, unused)) {
            report_finding(at, fmt::format("the environment's {} is not plain text", in_quotes(name)),
                           "a deck is UTF-8 without control characters", "Set it again.");
            return {};
        }
        if (is_set && left_ == KeptVariables::secrets && is_secret(name)) {
            secrets_[name] = *value;
            return {*value, as_variable(name), true};
        }
        if (left_ == KeptVariables::all && (!value || value->find_first_of("${}") == std::string::npos)) {
            return {value.value_or(""),
                    is_set ? "${env:" + name + ":-" + *value + "}" : "${env:" + text + "}", true};
        }
        if (is_set) {
            return {*value, escape_variables(*value)};
        }
        if (cut != std::string::npos) {
            const auto default_value = text.substr(cut + 2);
            return {default_value, escape_variables(default_value)};
        }
        report_finding(at, fmt::format("the environment has no {}", in_quotes(name)),
                       "the deck uses it without a default",
                       fmt::format("Set it, or write ${{env:{}:-default}}.", name));
        return {};
    }

    void unknown(const std::string& name, const SourceLocation& at) {
        std::vector<std::string_view> names;
        if (variables_ != nullptr) {
            for (const MapEntry& entry : variables_->entries) {
                names.push_back(entry.key);
            }
        }
        const std::string meant = nearest(name, names);
        report_finding(at, fmt::format("no variable {}", in_quotes(name)), "`vars` does not have it",
                       meant.empty() ? "Add it to vars, or write $${ for the text itself."
                                     : fmt::format("Did you mean '{}'?", meant));
    }

    void report_finding(const SourceLocation& at,
                        std::string problem,
                        std::string reason,
                        std::string advice) {
        found_.error(at, std::move(problem), std::move(reason), std::move(advice));
    }

    const Node* variables_;
    const Environment& environment_;
    KeptVariables left_;
    Diagnostics& found_;
    std::map<std::string, Expansion> values_;
    std::map<std::string, std::string> secrets_;
    std::set<std::string> used_;
    std::vector<std::string> open_;
    std::size_t total_ = 0;
    bool is_broken_ = false;
};

}  // namespace

std::optional<std::string> process_environment(const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>{value};
}

std::vector<Secret> substitute_variables(Node& root, const Environment& environment, Diagnostics& found) {
    const Node* declared = root.find("vars");
    const Node variables = declared == nullptr ? Node{} : *declared;
    if (variables.kind != NodeKind::map && variables.kind != NodeKind::null) {
        found.error(variables.at, "vars is not a map", "it gives names to texts", "Write {name: value}.");
        return {};
    }
    for (const MapEntry& entry : variables.entries) {
        if (entry.value.kind != NodeKind::scalar) {
            found.error(entry.key_at, fmt::format("the variable {} is not a text", in_quotes(entry.key)),
                        "variables are used inside of values", "Give it a number or a text.");
        }
    }
    Substitution substitution{&variables, environment, KeptVariables::secrets, found};
    for (MapEntry& entry : root.entries) {
        if (entry.key != "vars" && entry.key != "include") {
            substitution.tree(entry.value);
        }
    }
    for (const MapEntry& entry : variables.entries) {
        if (found.ok() && !substitution.is_used(entry.key) && entry.value.writer != Writer::include) {
            found.warning(entry.key_at, fmt::format("the variable {} has no effect", in_quotes(entry.key)),
                          fmt::format("no value has ${{{}}}", entry.key), "Remove it, or check its name.");
        }
    }
    return substitution.secrets();
}

std::optional<std::string> keep_env_variables(const Node& root,
                                              const std::string& text,
                                              const Environment& environment) {
    Diagnostics unused;
    auto left = Substitution{root.find("vars"), environment, KeptVariables::all, unused}.expanded(text);
    return left.has_variables ? std::optional{std::move(left.with_variables)} : std::nullopt;
}

}  // namespace ziggurat::deck
