#include "deck/load.hpp"

#include "deck/effective.hpp"
#include "deck/machine.hpp"
#include "deck/measured_machine.hpp"
#include "deck/not_built.hpp"
#include "deck/reader.hpp"
#include "deck/resolve.hpp"
#include "deck/rules.hpp"
#include "deck/units.hpp"

namespace ziggurat::deck {
namespace {

/// tiers.nvme.paths as written, nothing where it is not.
const Node* nvme_paths(const Node& root) {
    const Node* node = &root;
    for (const char* key : {"tiers", "nvme", "paths"}) {
        node = node == nullptr ? nullptr : node->find(key);
    }
    return node;
}

/// The effective deck with those texts in the place of tiers.nvme.paths.
std::string effective_elsewhere(const Schema& schema, Values values, const Node& paths) {
    std::string written = paths.kind == Node::Kind::scalar ? write_quoted(paths.text) : "";
    for (const Node& path : paths.items) {
        written += (written.empty() ? "" : ", ") + write_quoted(path.text);
    }
    const std::string key = "tiers.nvme.paths";
    values.settle(key, values.find(key)->data, "[" + written + "]", "by each node's environment");
    return effective_deck(schema, values);
}

}  // namespace

Loaded load(const std::string& path, const std::vector<std::string>& overrides, const LoadOptions& options) {
    Loaded loaded;
    const auto text = read_file(path, "deck", {path, 0, 0}, loaded.found);
    return text ? load_text(*text, path, overrides, options) : std::move(loaded);
}

Loaded load_text(const std::string& text,
                 const std::string& name,
                 const std::vector<std::string>& overrides,
                 const LoadOptions& options) {
    Loaded loaded;
    const Schema& schema = deck_schema();
    auto root = compose(schema, text, name, loaded.found);
    if (!root) {
        return loaded;
    }
    apply_overrides(schema, *root, overrides, loaded.found);
    const Node* paths = nvme_paths(*root);
    const auto paths_elsewhere = paths == nullptr ? std::nullopt : leave_environment(*root, *paths);
    substitute_variables(*root, options.environment, loaded.found);

    Values values = read_values(schema, *root, loaded.found);
    loaded.machine = options.machine ? *options.machine : this_machine();
    if (!options.machine && !options.as_record) {
        add_measured(measured_file(options.environment), loaded.machine, loaded.found);
    }
    Resolution resolution{values, loaded.run, options, loaded.machine, loaded.found};
    resolve(resolution);
    if (!options.as_record) {
        judge(resolution);
        refuse_not_built(resolution);
    }
    if (loaded.ok()) {
        settle_open_homes(resolution);
        loaded.depths = settle_depths(resolution);
        loaded.effective = effective_deck(schema, values);
        loaded.effective_elsewhere =
            paths_elsewhere ? effective_elsewhere(schema, values, *paths_elsewhere) : loaded.effective;
    }
    return loaded;
}

}  // namespace ziggurat::deck
