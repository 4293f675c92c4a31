#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "deck/compose/compose.hpp"
#include "deck/messages/nearest.hpp"
#include "deck/values/units.hpp"

namespace ziggurat::deck {
namespace {

constexpr std::size_t deepest_chain = 32;

/// Expands texts; each variable once.
class Substitution {
  public:
    Substitution(const Node* variables, const Environment& environment, Diagnostics& found)
        : variables_{variables}, environment_{environment}, found_{found} {}

    /// See leave_environment().
    std::optional<std::string> left_to_others(const std::string& text) {
        leaves_environment_ = true;
        auto left = expanded(text, {});
        return is_environment_asked_ ? std::optional{std::move(left)} : std::nullopt;
    }

    void tree(Node& node) {
        if (node.kind == NodeKind::scalar && node.text.find("${") != std::string::npos) {
            const std::size_t errors = found_.errors();
            node.text = expanded(node.text, node.at);
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

    /// True when some value has asked for the variable.
    bool is_used(const std::string& name) const { return used_.contains(name); }

  private:
    std::string expanded(const std::string& text, const SourceLocation& at) {
        std::string out;
        for (std::size_t i = 0; i < text.size();) {
            if (text.compare(i, 3, "$${") == 0) {
                out += leaves_environment_ ? "$${" : "${";
                i += 3;
            } else if (text.compare(i, 2, "${") == 0) {
                const std::size_t end = text.find('}', i);
                if (end == std::string::npos) {
                    complain(at, "'${' without '}'", "a variable is ${name}",
                             "Close it, or write $${ for the text itself.");
                    return out;
                }
                out += variable(text.substr(i + 2, end - i - 2), at);
                i = end + 1;
            } else {
                out += text[i++];
            }
            if (out.size() > Limits::scalar_bytes) {
                break;
            }
        }
        total_ += out.size();
        if (out.size() > Limits::scalar_bytes || total_ > Limits::expanded_bytes) {
            complain(at,
                     fmt::format("a value of more than {} KiB, or {} KiB in all", Limits::scalar_bytes / 1024,
                                 Limits::expanded_bytes / 1024),
                     "variables made it grow", "Shorten them.");
            return {};
        }
        return out;
    }

    std::string variable(const std::string& name, const SourceLocation& at) {
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
            is_broken_ = true;  // said once, at the variable
            return {};
        }
        if (std::find(open_.begin(), open_.end(), name) != open_.end() || open_.size() > deepest_chain) {
            complain(node->at, fmt::format("the variable {} contains itself", in_quotes(name)),
                     "directly or through a long chain of others", "Remove one of the references.");
            return values_[name] = {};
        }
        open_.push_back(name);
        const std::string value = expanded(node->text, node->at);
        open_.pop_back();
        return values_[name] = value;
    }

    std::string environment_variable(const std::string& text, const SourceLocation& at) {
        const std::size_t cut = text.find(":-");
        const std::string name = text.substr(0, cut);
        const auto value = environment_(name);
        if (leaves_environment_ && (!value || value->find_first_of("${}") == std::string::npos)) {
            is_environment_asked_ = true;
            return value && !value->empty() ? "${env:" + name + ":-" + *value + "}" : "${env:" + text + "}";
        }
        if (value && !value->empty()) {
            Diagnostics unused;
            if (!is_plain_text(*value, {name}, unused)) {
                complain(at, fmt::format("the environment's {} is not plain text", in_quotes(name)),
                         "a deck is UTF-8 without control characters", "Set it anew.");
                return {};
            }
            return leaves_environment_ ? escape_variables(*value) : *value;
        }
        if (cut != std::string::npos) {
            return text.substr(cut + 2);
        }
        complain(at, fmt::format("the environment has no {}", in_quotes(name)),
                 "the deck asks for it without a default",
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
        complain(at, fmt::format("no variable {}", in_quotes(name)), "`vars` does not have it",
                 meant.empty() ? "Add it to vars, or write $${ for the text itself."
                               : fmt::format("Did you mean '{}'?", meant));
    }

    void complain(const SourceLocation& at, std::string problem, std::string why, std::string advice) {
        found_.error(at, std::move(problem), std::move(why), std::move(advice));
    }

    const Node* variables_;
    const Environment& environment_;
    Diagnostics& found_;
    std::map<std::string, std::string> values_;
    std::set<std::string> used_;
    std::vector<std::string> open_;
    std::size_t total_ = 0;
    bool is_broken_ = false;
    bool leaves_environment_ = false;
    bool is_environment_asked_ = false;
};

}  // namespace

std::optional<std::string> process_environment(const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>{value};
}

void substitute_variables(Node& root, const Environment& environment, Diagnostics& found) {
    const Node* declared = root.find("vars");
    const Node variables = declared == nullptr ? Node{} : *declared;
    if (variables.kind != NodeKind::map && variables.kind != NodeKind::null) {
        found.error(variables.at, "vars is not a map", "it gives names to texts", "Write {name: value}.");
        return;
    }
    for (const MapEntry& entry : variables.entries) {
        if (entry.value.kind != NodeKind::scalar) {
            found.error(entry.key_at, fmt::format("the variable {} is not a text", in_quotes(entry.key)),
                        "variables stand inside of values", "Give it a number or a text.");
        }
    }
    Substitution substitution{&variables, environment, found};
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
}

std::optional<std::string> leave_environment(const Node& root,
                                             const std::string& text,
                                             const Environment& environment) {
    Diagnostics unused;
    return Substitution{root.find("vars"), environment, unused}.left_to_others(text);
}

}  // namespace ziggurat::deck
