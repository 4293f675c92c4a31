#include "deck/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "deck/auto_layout.hpp"
#include "deck/compose/compose.hpp"
#include "deck/compose/peer_config.hpp"
#include "deck/effective.hpp"
#include "deck/machine/machine.hpp"
#include "deck/machine/measured_machine.hpp"
#include "deck/record_choices.hpp"
#include "deck/resolve/resolve.hpp"
#include "deck/rules/not_built.hpp"
#include "deck/rules/rules.hpp"
#include "deck/run_record.hpp"
#include "deck/values/quantities.hpp"
#include "deck/values/reader.hpp"
#include "deck/values/working_folder.hpp"

namespace ziggurat::deck {
namespace {

/// Returns nvme_paths for ranks with another environment (keep_env_variables), before substitution.
std::vector<std::optional<std::string>> paths_elsewhere(const Node& root, const Environment& environment) {
    const Node* node = &root;
    for (const char* key : {"tiers", "nvme", "paths"}) {
        node = node == nullptr ? nullptr : node->find(key);
    }
    std::vector<std::optional<std::string>> left;
    if (node != nullptr) {
        for (const Node& path : node->items) {
            left.push_back(keep_env_variables(root, path.text, environment));
        }
    }
    return left;
}

/// Returns the effective deck for other ranks: with secrets, and with the paths in `left`.
std::string effective_for_other_folder(const Schema& schema,
                                       Values values,
                                       const std::vector<std::optional<std::string>>& left) {
    leave_working_folder(values);
    if (std::ranges::none_of(left, [](const auto& path) { return path.has_value(); })) {
        return effective_deck(schema, values, SecretPolicy::exposed);
    }
    const auto paths = values.as<std::vector<std::string>>(nvme_paths);
    std::vector<std::string> written;
    for (std::size_t i = 0; i < paths.size(); ++i) {
        written.push_back(left.at(i) ? write_quoted(*left[i]) : write_text(paths[i]));
    }
    values.set_resolved(nvme_paths, paths, write_list(written), "by each rank's environment");
    return effective_deck(schema, values, SecretPolicy::exposed);
}

/// Implements load_text().
///
/// \param goes_on  true if `name` is the record of a run that resumes, and `text` its content
LoadedDeck load_all(const std::string& text,
                    const std::string& name,
                    bool goes_on,
                    const std::vector<std::string>& overrides,
                    const LoadOptions& options) {
    LoadedDeck loaded;
    const Schema& schema = deck_schema();
    auto root = options.as_record ? compose_record(schema, text, name, loaded.found)
                                  : compose(schema, text, name, loaded.found);
    if (!root) {
        return loaded;
    }
    if (is_deepspeed_config(*root)) {
        loaded.found.add_message(
            Severity::error,
            fmt::format(
                "{} is a configuration of DeepSpeed (a deck has other keys, and also describes the model "
                "and the data). Start from decks/quickstart.yaml, and set these keys:{}",
                in_quotes(name), counterparts_of(*root)));
        return loaded;
    }
    apply_overrides(schema, *root, overrides, loaded.found);
    if (goes_on) {
        loaded.reports_of_record = reopen_choices(schema, *root, text, options.ranks, loaded.found);
    }
    std::vector<std::optional<std::string>> left;
    if (!options.as_record) {
        left = paths_elsewhere(*root, options.environment);
        loaded.secrets = substitute_variables(*root, options.environment, loaded.found);
    }

    Values values = read_values(schema, *root, loaded.found);
    const auto parent = std::filesystem::path{name}.parent_path();
    const auto folder = !goes_on ? options.run_folder : parent.empty() ? "." : parent.string();
    const auto run_was = recorded_run_folder(values);
    const bool is_moved = goes_on && move_to_folder_of(name, values, loaded.found);
    const bool was_from_scratch = goes_on && allow_resume(values, loaded.found);
    const bool begins_elsewhere = find_working_folder(run_was, folder, values, loaded.found);
    loaded.reports_of_record = loaded.reports_of_record || begins_elsewhere || is_moved || was_from_scratch;
    loaded.sets_threads =
        values.is_written("parallel.threads") && !values.is_keyword("parallel.threads", "auto");
    loaded.sum_group = static_cast<int>(values.integer("sharding.sum_group"));
    loaded.machine = options.machine ? *options.machine : this_machine();
    if (!options.machine && !options.as_record) {
        add_measured(measured_file(options.environment), loaded.machine, loaded.found);
    }
    Resolution resolution{values, loaded.run, options, loaded.machine, loaded.found};
    if (options.keeps_layout_rules) {
        loaded.layout_rules = layout_rules(resolution);
    }
    if (!options.as_record && !resolve_auto_layout(resolution)) {
        return loaded;
    }
    resolve(resolution);
    loaded.time_limit_source = resolution.time_limit_source;
    if (options.has_time_limit && loaded.run.run.time_limit_seconds) {
        options.has_time_limit(*loaded.run.run.time_limit_seconds, loaded.time_limit_source);
    }
    if (options.as_record) {
        check_record(resolution);
    } else {
        check(resolution);
        refuse_not_built(resolution);
    }
    if (loaded.ok()) {
        resolve_auto_stages(resolution);
        resolve_auto_homes(resolution);
        resolve_auto_leases(resolution);
        resolve_auto_accumulation(resolution);
        resolve_auto_tensor_overlap(resolution);
        loaded.depths = resolve_depths(resolution);
        if (goes_on) {
            keep_origins(values, name, text);
        }
        loaded.effective = effective_deck(schema, values);
        loaded.effective_for_other_folder = effective_for_other_folder(schema, values, left);
    }
    loaded.found.hide(loaded.secrets);
    return loaded;
}

}  // namespace

LoadedDeck load(const std::string& path,
                const std::vector<std::string>& overrides,
                const LoadOptions& options) {
    LoadedDeck loaded;
    const auto file = find_deck(path, loaded.found);
    if (file.empty()) {
        return loaded;
    }
    const auto text = read_file(file, "deck", {file, 0, 0}, loaded.found);
    if (!text) {
        return loaded;
    }
    loaded = load_all(*text, file, is_record(file), overrides, options);
    if (file != path && !is_record(file)) {
        loaded.found.note({file, 0, 0}, fmt::format("there is no {} here", in_quotes(path)),
                          "the shipped deck of that name is used");
    }
    return loaded;
}

std::optional<double> read_hang_timeout(const std::string& path,
                                        const std::vector<std::string>& overrides,
                                        const Environment& environment) {
    constexpr const char* key = "run.hang_timeout";
    Diagnostics unused;
    const auto file = find_deck(path, unused);
    const auto text = file.empty() ? std::nullopt : read_file(file, "deck", {file, 0, 0}, unused);
    auto root = text ? compose(deck_schema(), *text, file, unused) : std::nullopt;
    if (!root) {
        return std::nullopt;
    }
    apply_overrides(deck_schema(), *root, overrides, unused);
    substitute_variables(*root, environment, unused);
    const Values values = read_values(deck_schema(), *root, unused);
    return values.has(key) && !values.is_bad(key) ? std::optional{values.real(key)} : std::nullopt;
}

LoadedDeck load_text(const std::string& text,
                     const std::string& name,
                     const std::vector<std::string>& overrides,
                     const LoadOptions& options) {
    return load_all(text, name, false, overrides, options);
}

}  // namespace ziggurat::deck
